// SPDX-License-Identifier: Apache-2.0
// fired = stored + idle + asleep + not a target + lost(reason), to the sample: the header's books, made once at the end.
#pragma once
#include <span>

#include "collect/cpu_events.h"
#include "collect/bpf_object.h"
#include "collect/record_decoder.h"
#include "profile/profile.h"

namespace cicada::collect {

// `fired` comes from the events' own counts and times, so it includes interrupts for which the kernel skipped the program, and those
// that it never raised because it throttled the event. `period` in event units, 0: the kernel adapts it.
struct EventAccount {
  std::span<const CpuCount> cpus;
  uint64_t period = 0;
  bool cpu_clock = false;  // count and time are one unit
  bool idle_is_counted = true;  // idle samples are COUNTER_IDLE, not stored
};
void fill_account(profile::Header& header, const EventAccount& events, std::span<const CpuCounters> kernel, const DecoderCounts& decoder);

}  // namespace cicada::collect
