// SPDX-License-Identifier: Apache-2.0
// Samples in columns: 24 bytes each, and eight more only in blocks where a value is not its event's.
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

class Samples {
 public:
  static constexpr unsigned kShift = 12;
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
  const uint64_t* find_value(size_t i) const {
    const auto& block = values_[i >> kShift];
    return block == nullptr ? nullptr : &block[i & (kBlockRows - 1)];
  }
  void append(std::span<const Sample> rows, const std::vector<Event>& events);
  // Whole blocks of the oldest, `rows` at most. Returns how many rows went.
  size_t drop_front(size_t rows);
  // Of rows that came from elsewhere: what dropped() is.
  void number_from(uint64_t first) { dropped_ = first; }
  size_t bytes() const;

 private:
  static constexpr size_t kBlockRows = size_t{1} << kShift;
  Log<std::shared_ptr<uint64_t[]>> values_;  // by block; null: every row has its event's
  uint64_t dropped_ = 0;
};

}  // namespace cicada::profile
