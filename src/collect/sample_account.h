// SPDX-License-Identifier: Apache-2.0
// fired = stored + idle + not a target + lost(reason), to the sample: the header's books, made once at the end.
#pragma once
#include <span>

#include "collect/cpu_events.h"
#include "collect/kernel_side.h"
#include "collect/record_decoder.h"
#include "profile/profile.h"

namespace cicada::collect {

// `fired` comes from the events' own counts, so it includes interrupts for which the kernel skipped the program.
void fill_account(profile::Header& header, std::span<const CpuCount> fired, uint64_t period, std::span<const CpuCounters> kernel,
                  const DecoderCounts& decoder);

}  // namespace cicada::collect
