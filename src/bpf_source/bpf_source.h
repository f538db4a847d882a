// SPDX-License-Identifier: Apache-2.0
// The BPF sampler: wires the BPF object, tracker, tables and the pipeline of records, and owns them.
//
//   perf event ─▶ BPF program ─▶ ring ─▶ drain(): RecordPipeline ─▶ Profile
//                    ▲   ▲                  │ lifecycle, misses
//             tables │   │ mappings         ▼
//         loader ◀── requests ◀──────── tracker ── /proc
//
// Threads: SampleSource's calls on one thread (the drain thread); inside: tracker, deferred unwinder, table and image workers.
#pragma once
#include <memory>
#include <vector>

#include "bpf_source/image_reader.h"
#include "bpf_source/sampling_config.h"
#include "ingest/lifecycle_callbacks.h"
#include "ingest/sample_source.h"

namespace cicada::bpf_source {

class BpfSource final : public ingest::SampleSource {
 public:
  // Loads and attaches the programs, makes the targets known; nothing is sampled yet.
  // Fails: kPermission, kUnsupported, kGone (a target ended), kInvalid.
  // Images are read by `image_reader`; null: in this process.
  static Result<std::unique_ptr<BpfSource>> open(const SamplingConfig& config, std::shared_ptr<ImageReader> image_reader = {},
                                                 ingest::LifecycleCallbacks callbacks = {});
  ~BpfSource() override;

  Result<void> start(profile::Profile& profile) override;
  Result<bool> drain(profile::Profile& profile, int timeout_ms, std::span<const int> wake_fds) override;
  Result<void> stop(profile::Profile& profile) override;
  bool targets_gone() const override;
  // Disables the events, on all CPUs, or enables them again.
  uint64_t pause(bool paused) override;
  bool prepare_compaction() override;
  void rebase(profile::RowCopier& ids) override;
  symbolize::ImageFiles& image_files() override;  // pinned
  std::unique_ptr<symbolize::KernelNames> kernel_names() override;
  std::vector<symbolize::JitSymbol> take_jit_symbols() override;
  std::shared_ptr<process::ProcessMetadataCache> metadata() override;
  std::vector<std::string> statistics() const override;

 private:
  struct Parts;
  explicit BpfSource(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace cicada::bpf_source
