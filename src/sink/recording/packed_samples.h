// SPDX-License-Identifier: Apache-2.0
// Samples of a finished recording, packed. Per CPU, the same thread goes on and the timer ticks; a stack that is not the thread's last one
// is mostly the next that the table has, because stacks were stored as they came.
//
// Used by writer and reader alike (adaptive_coder.h). Indices are those of the file.
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "profile/profile.h"
#include "sink/recording/adaptive_coder.h"
#include "sink/recording/byte_writer.h"
#include "sink/recording/packed_calls.h"

namespace cicada::sink {

// By stack: the end of the chain of rows, each the child of the one before it, that it is in.
inline std::vector<uint32_t> chain_ends(const std::vector<PackedStack>& stacks) {
  std::vector<uint32_t> ends(stacks.size());
  for (size_t i = stacks.size(); i-- != 0;) ends[i] = i + 1 < stacks.size() && stacks[i + 1].parent == i ? ends[i + 1] : static_cast<uint32_t>(i);
  return ends;
}

template <typename Coder>
class SampleCoder {
 public:
  // Borrows.
  SampleCoder(Coder& coder, const std::vector<uint32_t>& chain_ends, size_t threads)
      : coder_(coder), ends_(chain_ends), last_stack_(threads, kNoStack) {}

  // All of `columns`. `tick`: of a CPU's timer; `next`: the first stack that the sections before did not reach. False: malformed.
  bool code(profile::SampleColumns& columns, uint64_t tick, uint64_t next) {
    tick = code_number(coder_, any_, tick);
    next_ = code_number(coder_, any_, next);
    for (size_t i = 0; i < columns.cpu.size() && !bad_ && !coder_.failed(); ++i) code_sample(columns, i, tick);
    return !bad_ && !coder_.failed();
  }
  uint64_t next() const { return next_; }

 private:
  static constexpr uint32_t kNoStack = profile::StackId::kNone;
  static constexpr uint64_t kFar = 4096;  // what is further was not stored in the order of samples: naming made it at the end
  struct Cpu {
    uint64_t time_ns = 0;
    uint32_t thread = 0;
    uint8_t flags = 0;
  };

  void code_sample(profile::SampleColumns& columns, size_t i, uint64_t tick) {
    const auto cpu = static_cast<uint16_t>(code_number(coder_, cpu_[std::min<size_t>(last_cpu_, 15)], columns.cpu[i]));
    columns.cpu[i] = cpu;
    last_cpu_ = cpu;
    if (cpu >= cpus_.size()) cpus_.resize(size_t{cpu} + 1);
    Cpu& last = cpus_[cpu];
    const bool known = last.time_ns != 0;
    const bool same_thread = code_thread(columns.thread[i], last);
    if (bad_) return;
    const uint64_t expected = known ? last.time_ns + tick : last_time_;
    columns.time_ns[i] = expected + static_cast<uint64_t>(from_zigzag(code_number(
                                        coder_, time_[known ? (same_thread ? 2 : 1) : 0], to_zigzag(static_cast<int64_t>(columns.time_ns[i] - expected)))));
    last.time_ns = last_time_ = columns.time_ns[i];
    code_stack(columns.stack[i], last_stack_[last.thread]);
    const bool same_value = coder_.bit(same_value_, columns.value[i] == value_);
    columns.value[i] = value_ = same_value ? value_ : static_cast<uint32_t>(code_number(coder_, any_, columns.value[i]));
    const bool same_kind = coder_.bit(same_kind_, columns.kind[i] == kind_);
    if (!same_kind) {
      const uint64_t kind = code_number(coder_, any_, static_cast<uint64_t>(columns.kind[i]));
      if (kind > static_cast<uint64_t>(profile::SampleKind::kEvent)) bad_ = true;
      else kind_ = static_cast<profile::SampleKind>(kind);
    }
    columns.kind[i] = kind_;
    columns.flags[i] = last.flags = static_cast<uint8_t>(code_number(coder_, flags_[last.flags], columns.flags[i]));
  }

  // True: the one that ran on this CPU before.
  bool code_thread(profile::ThreadId& thread, Cpu& last) {
    const bool same = coder_.bit(same_thread_, thread.value == last.thread);
    uint64_t id = last.thread;
    if (!same) id = next_thread_ - static_cast<uint64_t>(from_zigzag(code_number(coder_, thread_, to_zigzag(static_cast<int64_t>(next_thread_) - thread.value))));
    if (id >= last_stack_.size()) bad_ = true;
    thread.value = last.thread = static_cast<uint32_t>(id);
    next_thread_ = std::max<uint64_t>(next_thread_, id + 1);
    return same;
  }

  void code_stack(profile::StackId& stack, uint32_t& last) {
    const uint32_t fresh = next_ < ends_.size() ? ends_[next_] : kNoStack;
    if (!coder_.bit(fresh_, stack.value == fresh)) {
      if (coder_.bit(repeated_, stack.value == last)) {
        stack.value = last;
        return;
      }
      const uint64_t id = next_ - static_cast<uint64_t>(from_zigzag(code_number(coder_, stack_, to_zigzag(static_cast<int64_t>(next_) - static_cast<int64_t>(plus_one(stack))))));
      if (id > ends_.size()) bad_ = true;
      stack.value = static_cast<uint32_t>(id) - 1;
    } else {
      stack.value = fresh;
    }
    last = stack.value;
    if (stack.valid() && stack.value >= next_ && stack.value < next_ + kFar) next_ = uint64_t{stack.value} + 1;
  }

  static uint64_t plus_one(profile::StackId id) { return id.valid() ? uint64_t{id.value} + 1 : 0; }

  Coder& coder_;
  const std::vector<uint32_t>& ends_;
  bool bad_ = false;
  uint64_t next_ = 0, next_thread_ = 0, last_time_ = 0;
  uint32_t value_ = 1;
  profile::SampleKind kind_ = profile::SampleKind::kCpu;
  uint16_t last_cpu_ = 0;
  std::vector<Cpu> cpus_;
  std::vector<uint32_t> last_stack_;  // by thread
  BitModel same_thread_, same_value_, same_kind_, fresh_, repeated_;
  std::array<NumberModel, 16> cpu_;
  std::array<NumberModel, 3> time_;
  std::array<NumberModel, 256> flags_;
  NumberModel any_, thread_, stack_;
};

}  // namespace cicada::sink
