// SPDX-License-Identifier: Apache-2.0
// What is sampled, for machines: a line of JSON each time that something came. Described in docs/top.md.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "profile/live_tree.h"
#include "top/viewer_loop.h"

namespace cicada::top {

// Threads: one.
class JsonLines {
 public:
  static constexpr size_t kFunctions = 20, kProcesses = 20;
  // With '\n' behind it. Shares are of what the profile has: the last ten minutes, unless --last says otherwise.
  std::string line_of(const profile::ProfileSnapshot& profile, const sink::PageState& state);

 private:
  std::optional<profile::LiveTree> tree_;
  profile::EventId event_ = {};
  uint64_t lineage_ = 0, samples_ = 0, time_ns_ = 0;  // of the last line
};

// To standard output, until the recording has ended, or `ended` is readable, or nobody reads. Fails: the system's.
Result<void> print_json_lines(Updates& updates, int ended);

}  // namespace cicada::top
