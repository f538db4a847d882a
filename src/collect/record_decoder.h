// SPDX-License-Identifier: Apache-2.0
// Ring-buffer records -> profile. Decides by kind and hands on: stacks, samples, walks to be finished, lifecycle events.
// Threads: the drain thread's.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "abi/end_reason.h"
#include "collect/held_samples.h"
#include "collect/jit_recorder.h"
#include "collect/rescuer.h"
#include "collect/stack_table.h"
#include "collect/thread_table.h"
#include "collect/tracker.h"

namespace cicada::collect {

struct DecoderCounts {
  uint64_t samples = 0;              // sample records received
  uint64_t lost_stack = 0;           // their stack record never came
  uint64_t malformed = 0;
  uint64_t lifecycle = 0;            // forks, execs, exits, misses
  uint64_t rescue_queue_full = 0;
  uint64_t replaced_code = 0;  // stacks ended where other code had been mapped meanwhile
  uint64_t unverified = 0;     // stored before it was known whether that had happened: the tracker was too late
  std::array<uint64_t, END_REASON_COUNT> end_reasons{};
};

class RecordDecoder {
 public:
  RecordDecoder(profile::Profile& profile, StackTable& stacks, ThreadTable& threads, Tracker& tracker, Rescuer& rescuer,
                TableLoader& loader)
      : profile_(profile), stacks_(stacks), threads_(threads), tracker_(tracker), rescuer_(rescuer), loader_(loader) {}

  void decode(std::span<const uint8_t> record);
  // Takes what the rescuer has finished.
  void take_rescued();
  // Stores the samples about which nothing more can come to be known: what had happened when they arrived has been applied.
  void store_held();
  // After the ring has ended and the tracker has caught up: whatever is left is stored as it is.
  void flush();
  const DecoderCounts& counts() const { return counts_; }
  // Processes and address spaces sampled since the last call.
  std::vector<Pid> take_sampled_processes();
  std::vector<uint32_t> take_sampled_spaces();
  // Processes sampled in generated code's address spaces that no earlier call has given.
  std::vector<JitProcess> take_jit_processes();

 private:
  struct UserStack {
    std::optional<profile::StackId> id;  // nothing: its record has not come
    uint8_t end_reason;
  };

  void on_sample(const sample_record& sample);
  void on_rescue(std::span<const uint8_t> record);
  void hold(const sample_record& sample);
  // False: cannot tell yet what its stack is, and `may_wait`.
  bool store(const HeldSample& held, bool may_wait);
  void store(const sample_record& sample, profile::ThreadId thread, const UserStack& user);
  // Takes out what was found by code that had been replaced; `finished_later`: by the mappings of a later moment than the sample's.
  // False: cannot tell yet, and `may_wait`.
  bool correct(const sample_record& sample, UserStack& user, bool finished_later, bool may_wait);
  void note_generated_code(const sample_record& sample);

  profile::Profile& profile_;
  StackTable& stacks_;
  ThreadTable& threads_;
  Tracker& tracker_;
  Rescuer& rescuer_;
  TableLoader& loader_;
  DecoderCounts counts_;
  HeldSamples held_;
  std::unordered_map<uint16_t, sample_record> waiting_;  // by CPU: a sample whose rescue record comes next
  std::unordered_set<Pid> sampled_processes_;
  std::unordered_set<uint32_t> sampled_spaces_;
  std::set<JitProcess> jit_processes_;  // ever; at most kMaxJitProcesses
  std::vector<JitProcess> new_jit_processes_;
};

}  // namespace cicada::collect
