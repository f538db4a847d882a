// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/recording_sink.h"

#include "sink/recording/delta_codec.h"
#include "sink/recording/recording_chunks.h"

namespace cicada::sink {
namespace {

using profile::ProfileSnapshot;

// A recording of up to so many samples is written anew: what a second has is too little to learn from. A minute of compilers at 99 Hz: 36 bytes a
// sample in 60 chunks, 24 in one piece (docs/measurements/capture_size.md). Costs 0.2 s at most.
constexpr size_t kMaxRewritten = 1 << 20;
constexpr int kLevel = 9, kLevelOfMany = 3;  // of zstd; 23.9 bytes a sample of compilers in 19 ms, 25.3 in 5

class RecordingSink : public profile::Sink {
 public:
  RecordingSink(std::string path, const SinkOptions& options) : path_(std::move(path)), options_(options) {}

  Result<void> update(const ProfileSnapshot& profile) override {
    if (chunks_ && profile.sizes() == written_) return {};
    if (options_.keeps_last) {  // what has gone into a pipe cannot be taken back
      TRY(create());
      if (!chunks_->file().replaceable()) return {};
    }
    TRY(append(profile));
    TRY(chunks_->file().publish());
    opens_ = true;
    return {};
  }

  Result<void> finish(const ProfileSnapshot& profile) override {
    const Result<void> finished = write_rest(profile);
    if (finished || !opens_ || finished.error().kind() == ErrorKind::kGone) return finished;
    return make_error(finished.error().kind(), "{}; the file has the samples up to then", finished.error().message());
  }

  std::string description() const override { return fmt::format("recording in {}", path_); }

 private:
  Result<void> write_rest(const ProfileSnapshot& profile) {
    const bool has_more = options_.keeps_last && profile.samples().dropped() != first_;
    const bool small = profile.samples().dropped() == first_ && profile.sample_count() <= kMaxRewritten && chunks_ && chunks_->count() > 1;
    if (chunks_ && opens_ && (has_more || small) && chunks_->file().replaceable()) {
      // If that fails (no room for both), the file written so far is still there, and is continued.
      if (RecordingSink(path_, options_).finish(profile)) return {};
    }
    TRY(append(profile));
    raw_.clear();
    raw_.uleb128(profile.sizes().samples - first_);
    TRY(chunks_->write(ChunkKind::kEnd, raw_, kLevel));
    return chunks_->file().commit();
  }

  Result<void> create() {
    if (!chunks_) chunks_.emplace(TRY(OutputFile::create(path_, options_.rights)));
    return {};
  }

  // What is new, and the header in any case.
  Result<void> append(const ProfileSnapshot& profile) {
    // Compacted: ids mean other things, so the file begins anew, with what the profile keeps. The same where half of it is not to be kept.
    const uint64_t dropped = profile.samples().dropped();
    if (chunks_ && (written_.lineage != profile.sizes().lineage || (options_.keeps_last && dropped - first_ > profile.sample_count()))) {
      chunks_.reset();
      written_ = {};
    }
    TRY(create());
    if (written_ == profile::SnapshotSizes()) first_ = dropped;
    const int level = profile.sizes().samples - written_.samples > kMaxRewritten ? kLevelOfMany : kLevel;
    do {
      raw_.clear();
      written_ = append_delta(raw_, profile, written_);
      TRY(chunks_->write(ChunkKind::kDelta, raw_, level));
    } while (written_ != profile.sizes());
    return {};
  }

  std::string path_;
  SinkOptions options_;
  std::optional<ChunkWriter> chunks_;
  profile::SnapshotSizes written_;
  uint64_t first_ = 0;  // number of the first sample in the file
  ByteWriter raw_;
  bool opens_ = false;  // something readable is under the final name
};

}  // namespace

std::unique_ptr<profile::Sink> make_recording_sink(std::string path, const SinkOptions& options) {
  return std::make_unique<RecordingSink>(std::move(path), options);
}

}  // namespace cicada::sink
