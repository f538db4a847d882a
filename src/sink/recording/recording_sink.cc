// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/recording_sink.h"

#include "sink/output_file.h"
#include "sink/recording/recording_encoder.h"

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
    if (stream_ && stream_->encoder.has(profile)) return {};
    if (options_.keeps_last) {  // what has gone into a pipe cannot be taken back
      TRY(create());
      if (!stream_->file.replaceable()) return {};
    }
    TRY(append(profile));
    TRY(stream_->file.publish());
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
  struct Stream {
    OutputFile file;
    RecordingEncoder encoder = {};
  };

  Result<void> write_rest(const ProfileSnapshot& profile) {
    const uint64_t dropped = profile.samples().dropped();
    const bool has_more = stream_ && options_.keeps_last && dropped != stream_->encoder.first_sample();
    const bool small = stream_ && dropped == stream_->encoder.first_sample() && profile.sample_count() <= kMaxRewritten && stream_->encoder.chunks() > 1;
    if (stream_ && opens_ && (has_more || small) && stream_->file.replaceable()) {
      // If that fails (no room for both), the file written so far is still there, and is continued.
      if (RecordingSink(path_, options_).finish(profile)) return {};
    }
    TRY(append(profile));
    bytes_.clear();
    stream_->encoder.append_end(bytes_, kLevel);
    stream_->file.write(bytes_);
    return stream_->file.commit();
  }

  Result<void> create() {
    if (!stream_) stream_.emplace(Stream{TRY(OutputFile::create(path_, options_.rights))});
    return {};
  }

  // What is new, and the header in any case.
  Result<void> append(const ProfileSnapshot& profile) {
    // Compacted: ids mean other things, so the file begins anew, with what the profile keeps. The same where half of it is not to be kept.
    const uint64_t dropped = profile.samples().dropped();
    if (stream_ && stream_->encoder.chunks() != 0 &&
        (stream_->encoder.written().lineage != profile.sizes().lineage || (options_.keeps_last && dropped - stream_->encoder.first_sample() > profile.sample_count())))
      stream_.reset();
    TRY(create());
    const int level = profile.sizes().samples - stream_->encoder.written().samples > kMaxRewritten ? kLevelOfMany : kLevel;
    for (bool all = false; !all;) {
      bytes_.clear();
      all = stream_->encoder.append(bytes_, profile, level);
      stream_->file.write(bytes_);
      TRY(stream_->file.flush());
    }
    return {};
  }

  std::string path_;
  SinkOptions options_;
  std::optional<Stream> stream_;
  std::string bytes_;
  bool opens_ = false;  // something readable is under the final name
};

}  // namespace

std::unique_ptr<profile::Sink> make_recording_sink(std::string path, const SinkOptions& options) {
  return std::make_unique<RecordingSink>(std::move(path), options);
}

}  // namespace cicada::sink
