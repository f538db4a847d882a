// SPDX-License-Identifier: Apache-2.0
// Port: where samples come from, and what belongs to them beside the samples. The engine knows nothing else of a source.
// Implementations: the BPF sampler (bpf_source/), a recording played again (replay/), scripts of tests.
//
// Threads: all calls from the loop's thread, but pause(), and image_files() and kernel_names(), whose results are used by any.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "process/metadata/metadata_cache.h"
#include "profile/profile.h"
#include "profile/row_copier.h"
#include "symbolize/kernel/kernel_names.h"
#include "symbolize/symbolizer.h"

namespace cicada::ingest {

class SampleSource {
 public:
  virtual ~SampleSource() = default;
  // Says in the header which events there are. From the return on, what happens is sampled.
  virtual Result<void> start(profile::Profile& profile) = 0;
  // Moves what arrived into `profile`; waits for more, up to `timeout_ms` or until one of `wake_fds` is readable. False: the source has
  // ended by itself.
  virtual Result<bool> drain(profile::Profile& profile, int timeout_ms, std::span<const int> wake_fds) = 0;
  // Stops sampling, drains what is under way, fills the header's accounting. After an error everything collected stays valid.
  virtual Result<void> stop(profile::Profile& profile) = 0;
  // Stops taking samples, or goes on; everything else is followed all the time. Returns when it is so. Between start() and stop(). Threads: any.
  virtual uint64_t pause(bool /*paused*/) { return 0; }
  // All that was to be watched is gone.
  virtual bool targets_gone() const { return false; }

  // --- compaction (profile/compaction.h): the profile is made anew with what its samples refer to
  // Asked in every turn until it says true: from then on the source refers to no row that it has not been sent anew, so that rebase() brings
  // along little.
  virtual bool prepare_compaction() = 0;
  // Replaces every id that the source keeps; ids that no row has any more may be forgotten.
  virtual void rebase(profile::RowCopier& ids) = 0;

  // --- beside samples; valid from start() on, after stop(), too
  virtual symbolize::ImageFiles& image_files() = 0;
  // Names of kernel addresses from who knows them best. Null: whatever the machine says.
  virtual std::unique_ptr<symbolize::KernelNames> kernel_names() { return nullptr; }
  // Symbols of JIT code that are new since the last call; after stop() the rest.
  virtual std::vector<symbolize::JitSymbol> take_jit_symbols() { return {}; }
  virtual std::shared_ptr<process::ProcessMetadataCache> metadata() = 0;
  // What each part did, for --stats: "name: value" lines.
  virtual std::vector<std::string> statistics() const { return {}; }
};

}  // namespace cicada::ingest
