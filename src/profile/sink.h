// SPDX-License-Identifier: Apache-2.0
// Port: where a profile goes.
#pragma once
#include <string>

#include "base/result.h"
#include "profile/profile.h"

namespace cicada::profile {

// Anything that takes a profile: a file format, a table, a server.
class Sink {
 public:
  virtual ~Sink() = default;
  // At least once a second while recording.
  virtual Result<void> update(const ProfileSnapshot&) { return {}; }
  // Once, after names are resolved. No partial file is left under the final name if this fails.
  // Threads: any, beside the finish of other sinks; the profile does not change meanwhile.
  virtual Result<void> finish(const ProfileSnapshot& profile) = 0;
  virtual std::string description() const = 0;  // for the summary: "flame graph in cicada.svg", "recording in cicada.cicada"
};

}  // namespace cicada::profile
