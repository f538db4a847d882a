// SPDX-License-Identifier: Apache-2.0
// Hands the latest snapshot of a growing profile from the loop's thread to whoever looks: any thread, at any time, without a copy.
//
//   loop: publish_if_wanted(profile) ──▶ latest ──▶ latest(): views, agents
//
// Nobody looks: nothing is made. Who looked gets newer ones from then on, each as old as the loop's last turn (50 ms at most).
#pragma once
#include <atomic>
#include <memory>
#include <mutex>

#include "profile/profile.h"

namespace cicada::engine {

class Snapshots {
 public:
  // Threads: any.
  std::shared_ptr<const profile::ProfileSnapshot> latest() const {
    wanted_.store(true, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    return latest_;
  }
  // Threads: the loop's.
  void publish(const profile::Profile& profile) {
    auto made = std::make_shared<const profile::ProfileSnapshot>(profile);
    const std::lock_guard lock(mutex_);
    latest_.swap(made);  // the earlier one, if nobody else has it, goes after the lock
  }
  void publish_if_wanted(const profile::Profile& profile) {
    if (wanted_.exchange(false, std::memory_order_relaxed)) publish(profile);
  }

 private:
  mutable std::atomic<bool> wanted_{false};
  mutable std::mutex mutex_;
  std::shared_ptr<const profile::ProfileSnapshot> latest_ = std::make_shared<const profile::ProfileSnapshot>();
};

}  // namespace cicada::engine
