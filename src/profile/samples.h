// SPDX-License-Identifier: Apache-2.0
// Samples in columns: 24 bytes each, and eight more only in blocks where a value is not its event's, or one belongs to a wait.
//
// Threads: as Log.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "profile/event.h"
#include "profile/ids.h"
#include "profile/log.h"

namespace cicada::profile {

struct Sample {
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC; see Header::start_monotonic_ns
  ThreadId thread = {};
  StackId stack = {};  // user frames outermost, then kernel frames towards the leaf
  uint64_t value = 1;  // in the event's unit
  uint64_t lasted_ns = 0;  // of a wait, or of what ended one: since it began; so a wait and its end have time_ns - lasted_ns in common. Time in the run queue has a beginning of its own. 0: no wait
  LabelSetId labels = {};
  uint16_t cpu = 0;
  EventId event = {};
  uint8_t end_reason = END_NONE;  // abi/end_reason.h: how the user stack ended
  bool in_kernel = false;
  bool idle = false;
};

// The last byte of a row: bit 0 in the kernel, bit 1 idle, bits 2–7 the end reason.
constexpr uint8_t to_state(const Sample& sample) {
  return static_cast<uint8_t>((sample.in_kernel ? 1 : 0) | (sample.idle ? 2 : 0) | sample.end_reason << 2);
}
constexpr bool is_in_kernel(uint8_t state) { return (state & 1) != 0; }
constexpr bool is_idle(uint8_t state) { return (state & 2) != 0; }
constexpr uint8_t end_reason_of(uint8_t state) { return state >> 2; }
static_assert(END_REASON_COUNT <= 64);

// Numbers that most rows do not have, in blocks that are there only where one does.
class RareColumn {
 public:
  static constexpr unsigned kShift = 12;
  static constexpr size_t kBlockRows = size_t{1} << kShift;

  // Null: no row of its block has one.
  const uint64_t* find(size_t row) const {
    const auto& block = blocks_[row >> kShift];
    return block == nullptr ? nullptr : &block[row & (kBlockRows - 1)];
  }
  // Rows from `at` on, all of one block. `usual(row)`: of those that have none, earlier ones, too.
  template <typename Value, typename Usual>
  void append(size_t at, size_t rows, Value value, Usual usual) {
    const size_t in_block = at & (kBlockRows - 1);
    if (in_block == 0) blocks_.push_back(nullptr);
    if (blocks_.back() == nullptr) {
      size_t i = 0;
      while (i < rows && value(i) == usual(at + i)) ++i;
      if (i == rows) return;
      auto column = std::make_shared<uint64_t[]>(kBlockRows);
      for (size_t row = 0; row < in_block; ++row) column[row] = usual(at - in_block + row);
      blocks_.edit(blocks_.size() - 1) = std::move(column);
    }
    for (size_t i = 0; i < rows; ++i) blocks_.back()[in_block + i] = value(i);
  }
  // Blocks of numbers are few and small: a log of one row a block has chunks of a thousand of them.
  void drop_front(size_t blocks) {
    Log<std::shared_ptr<uint64_t[]>> left;
    for (size_t i = blocks; i < blocks_.size(); ++i) left.push_back(blocks_[i]);
    blocks_ = std::move(left);
  }
  size_t bytes() const {
    size_t bytes = 0;
    for (const auto& block : blocks_) bytes += block == nullptr ? 0 : kBlockRows * sizeof(uint64_t);
    return bytes;
  }

 private:
  Log<std::shared_ptr<uint64_t[]>> blocks_;
};

class Samples {
 public:
  static constexpr unsigned kShift = RareColumn::kShift;
  template <typename T>
  using Column = Log<T, kShift>;

  Column<uint64_t> time_ns;
  Column<ThreadId> thread;
  Column<StackId> stack;
  Column<LabelSetId> labels;
  Column<uint16_t> cpu;
  Column<EventId> event;
  Column<uint8_t> state;

  size_t size() const { return time_ns.size(); }
  // How many were appended and dropped again: the number of row 0.
  uint64_t dropped() const { return dropped_; }
  // Whether row i has a value of its own; else it is its event's.
  const uint64_t* find_value(size_t i) const { return values_.find(i); }
  uint64_t lasted_ns(size_t i) const {
    const uint64_t* lasted = lasted_.find(i);
    return lasted == nullptr ? 0 : *lasted;
  }
  void append(std::span<const Sample> rows, const std::vector<Event>& events);
  // Whole blocks of the oldest, `rows` at most. Returns how many rows went.
  size_t drop_front(size_t rows);
  // Of rows that came from elsewhere: what dropped() is.
  void number_from(uint64_t first) { dropped_ = first; }
  size_t bytes() const;

 private:
  RareColumn values_;  // where not its event's
  RareColumn lasted_;
  uint64_t dropped_ = 0;
};

}  // namespace cicada::profile
