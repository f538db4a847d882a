// SPDX-License-Identifier: Apache-2.0
// In what context the kernel ran: softirq work (which), interrupt work (which kind), or idle. Taken from the names of a sample's
// kernel frames and nothing else: a user function called net_rx_action means nothing. Samples are stored without it; it is put in when
// a stack is shown, where the context was entered:
//
//   main … entry_SYSCALL_64 … [softirq: net_rx] handle_softirqs net_rx_action …
//
// The innermost entry wins: softirq work at the end of an interrupt is softirq work, an interrupt during a softirq is the
// interrupt. The interrupt that took the sample (perf's timer or NMI) is not work, and what it interrupted counts.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profile/snapshot.h"

namespace cicada::profile {

struct KernelContext {
  std::string text;  // "[softirq: net_rx]", "[irq: timer]", "[idle]"
  size_t entry = 0;  // the frame with which it begins
};
// `kernel_frames`: names, outermost first. Nothing in ordinary process context.
std::optional<KernelContext> find_kernel_context(std::span<const std::string_view> kernel_frames);

// The contexts of a profile's stacks. Cheap where there are none: frames are looked up by name once, stacks by one flag.
// Threads: one.
class KernelContexts {
 public:
  KernelContexts() = default;
  explicit KernelContexts(const ProfileSnapshot& profile) { update(profile); }
  // To a later snapshot, which it borrows until the next call. Looks at what is new in it.
  void update(const ProfileSnapshot& profile);

  struct Label {
    StackId entry;          // the marker stands between this and its parent
    std::string_view text;  // valid as long as this object
  };
  std::optional<Label> find(StackId stack);

 private:
  const ProfileSnapshot* profile_ = nullptr;
  SnapshotSizes seen_;
  std::vector<bool> says_;           // by frame: its name says so
  std::vector<bool> may_have_one_;   // by stack: a frame of its kernel part says so; shorter than the stacks: none does
  bool any_ = false;
  StringTable texts_;
  std::vector<StackId> kernel_;  // reused
  std::vector<std::string_view> names_;
};

}  // namespace cicada::profile
