// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/capture_writer.h"

#include <algorithm>

#include "sink/recording/capture_chunks.h"
#include "sink/recording/capture_columns.h"
#include "sink/recording/capture_header.h"
#include "sink/recording/capture_ids.h"
#include "sink/recording/capture_table_writer.h"

namespace cicada::sink {
namespace {

using profile::Profile;
using profile::ProfileSnapshot;

constexpr size_t kSamplesPerSection = 1 << 20;
constexpr size_t kSamplesPerChunk = 1 << 14;  // zstd learns little from more, and a damaged chunk takes no more with it
// finish() writes a recording of up to so many samples anew, in one piece: chunks of a second hold too little for zstd to learn
// from. A minute at 99 Hz on one busy CPU: 8.7 bytes a sample in 60 chunks, 7.1 in one. Costs 0.1 s at most.
constexpr size_t kMaxRewritten = 1 << 20;

class CaptureSink : public profile::Sink {
 public:
  CaptureSink(std::string path, std::optional<FileOwner> owner) : path_(std::move(path)), owner_(owner) {}

  Result<void> update(const ProfileSnapshot& profile) override {
    TRY(open());
    if (!header_written_) TRY(chunks().append_section(Section::kHeader, [&](ByteWriter& out) { append_header(out, profile.header); }));
    header_written_ = true;
    TRY(append_growth(profile));
    TRY(stream_->tables.append_locations(profile, true));
    TRY(chunks().write());
    TRY(chunks().file().publish());
    opens_ = true;
    return {};
  }

  Result<void> finish(const ProfileSnapshot& profile) override {
    const Result<void> finished = write_rest(profile);
    if (finished || !opens_) return finished;
    return make_error(finished.error().kind(), "{}; the file has the samples up to then", finished.error().message());
  }

  std::string description() const override { return fmt::format("recording in {}", path_); }

 private:
  // The file, and who writes what into it.
  struct Stream {
    explicit Stream(OutputFile file) : chunks(std::move(file)) {}
    ChunkWriter chunks;
    CaptureProgress progress;
    TableWriter tables{chunks, progress};
  };
  ChunkWriter& chunks() { return stream_->chunks; }
  CaptureProgress& progress() { return stream_->progress; }

  Result<void> write_rest(const ProfileSnapshot& profile) {
    if (stream_ && chunks().count() > 1 && profile.sample_count() <= kMaxRewritten && chunks().file().replaceable()) {
      // If that fails (no room for both), the file written so far is still there, and is continued.
      if (CaptureSink(path_, owner_).finish(profile)) return {};
    }
    TRY(open());
    if (chunks().count() == 0) {
      TRY(append_whole(profile));
    } else {
      TRY(append_growth(profile));
      TRY(stream_->tables.append_locations(profile, false));
      TRY(chunks().append_section(Section::kHeader, [&](ByteWriter& out) { append_header(out, profile.header); }));
    }
    TRY(chunks().append_section(Section::kEnd, [&](ByteWriter& out) { out.uleb128(profile.sample_count()); }));
    TRY(chunks().write());
    return chunks().file().commit();
  }

  Result<void> open() {
    if (stream_) return {};
    stream_ = std::make_unique<Stream>(TRY(OutputFile::create(path_, owner_)));
    ByteWriter head;
    head.append(kCaptureMagic);
    head.u32(kCaptureVersion);
    chunks().file().write(head.bytes());
    return {};
  }

  // Everything that samples refer to before the samples, in chunks of their own: whatever is left of a file that was cut off has names.
  Result<void> append_whole(const ProfileSnapshot& profile) {
    const bool huge = profile.sample_count() > kMaxRewritten;
    if (huge) chunks().set_level(3);
    TRY(chunks().append_section(Section::kHeader, [&](ByteWriter& out) { append_header(out, profile.header); }));
    TRY(stream_->tables.append_growth(profile));
    TRY(stream_->tables.append_locations(profile, true));
    TRY(chunks().write());
    while (progress().samples < profile.sample_count()) {
      TRY(append_samples(profile, huge ? kSamplesPerSection : kSamplesPerChunk));
      TRY(chunks().write());
    }
    return {};
  }

  Result<void> append_growth(const ProfileSnapshot& profile) {
    TRY(stream_->tables.append_growth(profile));
    while (progress().samples < profile.sample_count()) TRY(append_samples(profile, kSamplesPerSection));
    return {};
  }

  // The next `step` samples, or what is left.
  Result<void> append_samples(const ProfileSnapshot& profile, size_t step) {
    return chunks().append_table(Section::kSamples, progress().samples, std::min(profile.sample_count(), progress().samples + step), step,
                        [&](ByteWriter& out, size_t begin, size_t end) { append_columns(out, profile, begin, end); });
  }

  std::string path_;
  std::optional<FileOwner> owner_;
  std::unique_ptr<Stream> stream_;
  bool header_written_ = false;
  bool opens_ = false;  // something readable is under the final name
};

}  // namespace

std::unique_ptr<profile::Sink> make_capture_sink(std::string path, const SinkOptions& options) {
  return std::make_unique<CaptureSink>(std::move(path), options.owner);
}

}  // namespace cicada::sink
