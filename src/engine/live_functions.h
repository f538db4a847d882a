// SPDX-License-Identifier: Apache-2.0
// The table of functions of a growing profile, kept up to date by a thread of its own, so that who comes has one at once, however large the
// profile is: adding up 50,000 stacks takes a tenth of a second, what is new in a second 2 ms (docs/measurements/snapshots.md).
// Threads: any.
#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/snapshots.h"
#include "profile/live_tree.h"

namespace cicada::engine {

// Immutable. Shares its rows with later ones.
struct FunctionsOfSnapshot {
  std::shared_ptr<const profile::ProfileSnapshot> profile;  // what it is of
  profile::Log<profile::FunctionCost> rows;  // in no order: profile::largest_functions
  profile::StringLog texts;                  // of names and images
  uint64_t total = 0;                        // of all samples, in the event's unit
};

class LiveFunctions {
 public:
  // Borrows. `options`: which samples, and how their frames are shown.
  LiveFunctions(const Snapshots& snapshots, profile::CallTreeOptions options, std::chrono::milliseconds interval = std::chrono::seconds(1));
  // Of the latest snapshot but `interval` at most; at first of an empty one.
  std::shared_ptr<const FunctionsOfSnapshot> latest() const;

 private:
  void run(const std::stop_token& stop);

  const Snapshots& snapshots_;
  const std::chrono::milliseconds interval_;
  profile::LiveTree tree_;  // the thread's
  mutable std::mutex mutex_;
  std::shared_ptr<const FunctionsOfSnapshot> latest_;
  std::jthread thread_;  // ends first
};

}  // namespace cicada::engine
