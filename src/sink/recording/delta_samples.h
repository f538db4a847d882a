// SPDX-License-Identifier: Apache-2.0
// Samples of a difference in columns, for both directions (column_io.h). Columns, not rows: zstd finds little in interleaved numbers and almost
// everything in a column of equal ones. Timers tick per CPU: what is left of a time is jitter of some microseconds. A CPU mostly runs the
// thread it ran, and a stack is mostly the thread's last one or the next that the table has, because stacks were stored as they came.
#pragma once

#include "profile/snapshot.h"
#include "sink/recording/delta_tables.h"
#include "sink/recording/number_map.h"

namespace cicada::sink {

// What a writer finds in its rows and a reader is told.
struct SamplePrediction {
  uint64_t next_stack = 0;      // no sample before had this one or a later one
  std::vector<uint64_t> ticks;  // by event: the median distance of two samples of one CPU
};

constexpr uint64_t timer_of(const profile::Sample& sample) { return uint64_t{sample.event.value} << 16 | sample.cpu; }

template <typename Io>
class SampleCoder {
 public:
  // `known` has every table as of these samples.
  SampleCoder(Io& io, const profile::ProfileSnapshot& known) : io_(io), known_(known) {}

  void code(std::vector<profile::Sample>& rows, SamplePrediction& prediction) {
    next_stack_ = io_.number(prediction.next_stack);
    prediction.ticks.resize(io_.count(prediction.ticks.size(), sizeof(uint64_t)));
    for (uint64_t& tick : prediction.ticks) tick = io_.number(tick);
    const uint8_t columns = io_.byte(Io::kReads ? uint8_t{0} : columns_of(rows));
    if ((columns & kEvents) != 0) {
      for (auto& row : rows) row.event.value = io_.byte(row.event.value);
      io_.end_column();
    }
    for (auto& row : rows) {
      row.cpu = static_cast<uint16_t>(io_.number(row.cpu));
      if (row.event.value >= known_.header.events.size()) io_.fail();
    }
    io_.end_column();
    code_times(rows, prediction.ticks);
    code_threads_of(rows);
    code_stacks(rows);
    for (auto& row : rows) {
      const uint8_t state = io_.byte(profile::to_state(row));
      row.in_kernel = profile::is_in_kernel(state);
      row.idle = profile::is_idle(state);
      row.end_reason = profile::end_reason_of(state);
      if (row.end_reason >= END_REASON_COUNT) io_.fail();
    }
    io_.end_column();
    for (auto& row : rows) row.value = (columns & kValues) != 0 ? io_.number(row.value) : known_.event(row.event).value;
    io_.end_column();
    if ((columns & kLabels) != 0) code_ids(io_, rows, &profile::Sample::labels, known_.label_set_count());
    if ((columns & kLasted) == 0) return;
    for (auto& row : rows) row.lasted_ns = io_.number(row.lasted_ns);
    io_.end_column();
  }

 private:
  enum Columns : uint8_t { kEvents = 1, kValues = 2, kLabels = 4, kLasted = 8 };  // that are there

  uint8_t columns_of(const std::vector<profile::Sample>& rows) const {
    unsigned columns = 0;
    for (const auto& row : rows) {
      if (row.event.value != 0) columns |= kEvents;
      if (row.value != known_.event(row.event).value) columns |= kValues;
      if (row.labels.valid()) columns |= kLabels;
      if (row.lasted_ns != 0) columns |= kLasted;
    }
    return static_cast<uint8_t>(columns);
  }

  void code_times(std::vector<profile::Sample>& rows, const std::vector<uint64_t>& ticks) {
    NumberMap<uint64_t> expected;  // by event and CPU
    uint64_t last = 0;
    for (auto& row : rows) {
      uint64_t& own = expected[timer_of(row)];
      last = row.time_ns = io_.near(own != 0 ? own : last, row.time_ns);
      own = last + (row.event.value < ticks.size() ? ticks[row.event.value] : 0);
    }
    io_.end_column();
  }

  // 0: the one that this CPU ran before; else its distance from the first that was not seen, plus one.
  void code_threads_of(std::vector<profile::Sample>& rows) {
    NumberMap<profile::ThreadId> running;  // by CPU
    uint64_t next = 0;
    for (auto& row : rows) {
      profile::ThreadId& last = running[row.cpu];
      const uint64_t code = io_.number(row.thread == last ? 0 : 1 + to_zigzag(static_cast<int64_t>(next - row.thread.value)));
      const uint64_t thread = code == 0 ? last.value : next - static_cast<uint64_t>(from_zigzag(code - 1));
      if (thread >= known_.threads().size()) return io_.fail();
      last = row.thread = profile::ThreadId(thread);
      next = std::max(next, thread + 1);
    }
    io_.end_column();
  }

  void code_stacks(std::vector<profile::Sample>& rows) {
    enum : uint64_t { kFresh, kAgain, kOther };
    NumberMap<uint64_t> last;  // by thread; stacks are plus one, 0: none
    uint64_t fresh = end_of_chain(next_stack_);
    for (auto& row : rows) {
      uint64_t& again = last[row.thread.value];
      uint64_t stack = row.stack.valid() ? uint64_t{row.stack.value} + 1 : 0;
      uint64_t code = stack == fresh ? kFresh : stack == again ? kAgain : kOther + to_zigzag(static_cast<int64_t>(next_stack_ - stack));
      code = io_.number(code);
      stack = code == kFresh ? fresh : code == kAgain ? again : next_stack_ - static_cast<uint64_t>(from_zigzag(code - kOther));
      if (stack > known_.stacks().size()) return io_.fail();
      again = stack;
      row.stack = stack == 0 ? profile::StackId() : profile::StackId(stack - 1);
      if (stack > next_stack_ && stack <= next_stack_ + kFar) next_stack_ = stack;
      if (next_stack_ >= fresh) fresh = end_of_chain(next_stack_);
    }
    io_.end_column();
  }

  // The last of the rows from `first` on that are each the child of the one before it; plus one.
  uint64_t end_of_chain(uint64_t first) const {
    uint64_t end = first + 1;
    while (end < known_.stacks().size() && end <= first + kFar && known_.stacks()[end].parent == profile::StackId(end - 1)) ++end;
    return end;
  }

  static constexpr uint64_t kFar = 4096;  // what is further is not the next in the order of samples

  Io& io_;
  const profile::ProfileSnapshot& known_;
  uint64_t next_stack_ = 0;
};

}  // namespace cicada::sink
