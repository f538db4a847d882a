// SPDX-License-Identifier: Apache-2.0
// In what context the kernel ran: softirq work (which), interrupt work (which kind), or idle. Taken from the names of a sample's
// kernel frames and nothing else: a user function called net_rx_action means nothing.
//
//   … entry_SYSCALL_64 … asm_common_interrupt … handle_softirqs net_rx_action …   ->  [softirq: net_rx]
//
// The innermost entry wins: softirq work at the end of an interrupt is softirq work, an interrupt during a softirq is the
// interrupt. The interrupt that took the sample (perf's timer or NMI) is not work, and what it interrupted counts.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "profile/profile.h"

namespace cicada::symbolize {

// `kernel_frames`: names, outermost first. "[softirq: net_rx]", "[irq: timer]", "[idle]"; nothing in ordinary process context.
std::optional<std::string> find_kernel_context(std::span<const std::string_view> kernel_frames);

}  // namespace cicada::symbolize
