// SPDX-License-Identifier: Apache-2.0
// The two ports of the collection loop: where samples come from and where the profile goes. The loop owns the Profile.
#pragma once
#include <span>
#include <string>

#include "base/result.h"
#include "profile/profile.h"

namespace cicada::profile {

// Anything that yields samples: the BPF sampler, the perf-based sampler, a recording being replayed.
// Threads: all calls from the loop's thread.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual Result<void> start(Profile& profile) = 0;
  // Moves what arrived into `profile`; waits for more, up to `timeout_ms` or until one of `wake_fds` is readable. False: the source has
  // ended by itself.
  virtual Result<bool> drain(Profile& profile, int timeout_ms, std::span<const int> wake_fds) = 0;
  // Stops sampling, drains what is under way, fills the header's counts. After an error everything collected stays valid.
  virtual Result<void> stop(Profile& profile) = 0;
};

// Anything that takes a profile: a file format, a table, a server.
class Sink {
 public:
  virtual ~Sink() = default;
  // At least once a second while recording. Tables of `profile` have only grown since the last call.
  virtual Result<void> update(const ProfileSnapshot&) { return {}; }
  // Once, after names are resolved. No partial file is left under the final name if this fails.
  // Threads: any, beside the finish of other sinks; the profile does not change meanwhile.
  virtual Result<void> finish(const ProfileSnapshot& profile) = 0;
  virtual std::string description() const = 0;  // for the summary: "flame graph in cicada.svg", "recording in cicada.cicada"
};

}  // namespace cicada::profile
