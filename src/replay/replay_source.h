// SPDX-License-Identifier: Apache-2.0
// A recording as a source: its samples arrive again, in the order of their times, with the stacks and names they had. For views of recordings,
// and for tests of everything above a source without a kernel.
//
// Times are moved so that the recording begins when start() is called. What was not named stays so: its files are not asked for.
// Threads: one.
#pragma once
#include <optional>

#include "ingest/sample_source.h"
#include "profile/row_copier.h"

namespace cicada::replay {

class ReplaySource final : public ingest::SampleSource {
 public:
  static constexpr size_t kSamplesAtOnce = 1024;

  // `speed`: 1 as fast as it was recorded, 2 twice as fast; 0: kSamplesAtOnce with each drain.
  explicit ReplaySource(profile::ProfileSnapshot recording, double speed = 0);

  Result<void> start(profile::Profile& profile) override;
  // False: that was the last sample.
  Result<bool> drain(profile::Profile& profile, int timeout_ms, std::span<const int> wake_fds) override;
  // The header says of all that was recorded what became of it; of a part, how many samples that is.
  Result<void> stop(profile::Profile& profile) override;

  bool prepare_compaction() override { return true; }
  void rebase(profile::RowCopier& ids) override { copier_->rebase(ids); }
  symbolize::ImageFiles& image_files() override { return files_; }
  std::shared_ptr<process::ProcessMetadataCache> metadata() override { return metadata_; }

 private:
  class NoFiles final : public symbolize::ImageFiles {
   public:
    symbolize::ImageFile find(const profile::ProfileSnapshot& profile, profile::ImageId image) override;
  };
  uint64_t recorded_ns(size_t next) const;  // since the recording's start

  const profile::ProfileSnapshot recording_;
  const double speed_;
  std::vector<uint32_t> order_;  // samples by time
  size_t next_ = 0;              // in order_
  uint64_t start_ns_ = 0;
  std::optional<profile::RowCopier> copier_;
  NoFiles files_;
  std::shared_ptr<process::ProcessMetadataCache> metadata_;
};

}  // namespace cicada::replay
