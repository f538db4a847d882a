// SPDX-License-Identifier: Apache-2.0
// Sample accounting: fired = stored + filtered out + sampled out + idle + asleep + not a target + lost(reason), to the sample; of timed calls + never returned + under way. Made once a second, and at the end.
#pragma once
#include <optional>
#include <span>

#include "bpf_source/perf_events.h"
#include "bpf_source/bpf_object.h"
#include "ingest/sample_assembler.h"
#include "profile/profile.h"

namespace cicada::bpf_source {

// `fired` comes from the events' own counts and times, so it includes interrupts for which the kernel skipped the program, and those
// that it never raised because it throttled the event.
// Of calls that have begun and not returned.
struct OpenCalls {
  uint64_t under_way = 0;
  uint64_t gone = 0;       // with their process; taken away
  bool is_counted = true;  // else `under_way` is what is missing
};
struct EventAccount {
  std::span<const CpuCount> cpus;
  PerfEvents::Event event;
  bool idle_is_counted = true;  // idle samples are COUNTER_IDLE, not stored
  uint64_t skipped = 0;         // hits for which the kernel says that it skipped the program
  std::optional<OpenCalls> calls = {};  // of an event that times them
};
// Of these, how many began whose end no program has seen.
uint64_t calls_without_outcome(std::span<const CpuCounters> kernel);
void fill_account(profile::Event& event, const EventAccount& account, std::span<const CpuCounters> kernel, const ingest::AssemblyCounts& assembled);

// Of waits: how many were lost, and how long they were. From an event's counts.
struct LostTime {
  uint64_t waits = 0, ns = 0;
  bool operator==(const LostTime&) const = default;
};
LostTime lost_time(const profile::Event& event);

}  // namespace cicada::bpf_source
