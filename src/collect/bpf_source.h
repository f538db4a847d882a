// SPDX-License-Identifier: Apache-2.0
// The BPF sampler as a source of samples: wires kernel side, tracker, tables, decoder and rescuer, and owns them.
//
//   perf event ─▶ BPF program ─▶ ring ─▶ drain(): decoder ─▶ Profile
//                    ▲   ▲                  │ lifecycle, misses        ▲ finished walks
//             tables │   │ mappings         ▼                          │
//         loader ◀── requests ◀──────── tracker ── /proc ──▶        rescuer
//
// Threads: SampleSource's calls on one thread (the drain thread); inside: tracker, rescuer, table and image workers.
#pragma once
#include <memory>
#include <vector>

#include "collect/perf_events.h"
#include "collect/bpf_object.h"
#include "collect/sampling_config.h"
#include "profile/ports.h"
#include "symbolize/kernel/kernel_names.h"
#include "symbolize/symbolizer.h"

namespace cicada::process {
class ProcessMetadataCache;
}

namespace cicada::collect {

class BpfSource final : public profile::SampleSource {
 public:
  // Loads and attaches the programs, makes the targets known; nothing is sampled yet.
  // Fails: kPermission, kUnsupported, kGone (a target ended), kInvalid.
  static Result<std::unique_ptr<BpfSource>> open(const SamplingConfig& config, LifecycleCallbacks callbacks);
  ~BpfSource() override;

  Result<void> start(profile::Profile& profile) override;
  Result<bool> drain(profile::Profile& profile, int timeout_ms, std::span<const int> wake_fds) override;
  Result<void> stop(profile::Profile& profile) override;

  std::shared_ptr<process::ProcessMetadataCache> metadata();
  // After stop(): the pinned files of the profile's images, and names of kernel addresses from the kernel itself.
  symbolize::ImageFiles& image_files();
  std::unique_ptr<symbolize::KernelNames> kernel_names();
  // Symbols of generated code, copied while its process lived.
  // While sampling: the symbols known so far; after stop(): all of them.
  const std::vector<symbolize::JitSymbol>& jit_symbols() const;
  // Moves what was copied meanwhile into jit_symbols().
  void update_jit_symbols();
  // What each part did, for --stats: "name: value" lines.
  std::vector<std::string> statistics() const;

 private:
  struct Parts;
  explicit BpfSource(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace cicada::collect
