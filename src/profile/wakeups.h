// SPDX-License-Identifier: Apache-2.0
// Who ended which wait: rows of waits (Spent::kWaiting) and of wakeups (Spent::kOthersWaiting) that have their beginning in common.
// Threads: any.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/profile.h"

namespace cicada::profile {

// From when to when a thread waited, up to its wakeup; ns, by the clock of samples.
struct Wait {
  uint64_t begin_ns = 0, end_ns = 0;
  size_t row = 0;
  std::optional<size_t> wakeup;  // the row; nothing: it has not ended, or who ended it was not seen

  uint64_t length_ns() const { return end_ns - begin_ns; }
};

class Wakeups {
 public:
  explicit Wakeups(const ProfileSnapshot& profile);

  // Nothing: the row is no wait that another thread ended (it ran, or could have).
  std::optional<Wait> find_wait(size_t row) const;
  // Of a thread, those that are there, by time; they do not overlap. Short ones stand for others (Wait::row's value).
  std::span<const Wait> waits_of(ThreadId thread) const;

 private:
  const ProfileSnapshot& profile_;
  std::vector<bool> is_ready_;  // by label set: the thread could run
  std::unordered_map<uint64_t, size_t> wakeup_of_;  // by the beginning of the wait
  std::vector<std::vector<Wait>> waits_;            // by thread
};

// Markers between the stacks of follow_wakers(): below the first is who ended the wait, below the second what that one had waited in.
inline constexpr std::string_view kWokenBy = "[woken by ", kWhichWaited = "[which waited]";

// A profile for pictures: the stacks of waits go on with that of whoever ended them, then, where that one had waited meanwhile, with what it had waited
// in and who ended that, and so on, `hops` wakers in all.
//
//   main … futex_wait   [woken by sells]   main … unlock … futex_wake   [which waited]   main … read … pipe_read   [woken by …]
//
// What the waker waited is charged with its share of the time; the rest, when it ran or was not recorded, ends at its own stack. Rows of wakeups
// are left out. Of its frames only those that are code may be counted: the stack is of several threads.
Profile follow_wakers(const ProfileSnapshot& profile, unsigned hops);

}  // namespace cicada::profile
