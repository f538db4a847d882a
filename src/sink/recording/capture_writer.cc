// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/capture_writer.h"

#include <algorithm>

#include "sink/recording/capture_chunks.h"
#include "sink/recording/capture_columns.h"
#include "sink/recording/capture_header.h"
#include "sink/recording/capture_ids.h"
#include "sink/recording/capture_table_writer.h"
#include "sink/recording/packed_section_writer.h"

namespace cicada::sink {
namespace {

using profile::Profile;

constexpr size_t kSamplesPerSection = 1 << 20;
constexpr size_t kSamplesPerChunk = 1 << 14;  // zstd learns little from more, and a damaged chunk takes no more with it
// finish() writes a recording of up to so many samples anew, in one piece: chunks of a second hold too little for zstd to learn
// from. A minute at 99 Hz on one busy CPU: 8.7 bytes a sample in 60 chunks, 7.1 in one. Costs 0.1 s at most.
constexpr size_t kMaxRewritten = 1 << 20;
// Of samples, frames and stacks together: packing takes 2 us each, and reading it again 2 us, half a second at most; plain columns take 0.1.
constexpr size_t kMaxPacked = 1 << 18;

class CaptureSink : public profile::Sink {
 public:
  CaptureSink(std::string path, std::optional<FileOwner> owner) : path_(std::move(path)), owner_(owner) {}

  Result<void> update(const Profile& profile) override {
    TRY(open());
    if (!header_written_) TRY(chunks().append_section(Section::kHeader, [&](ByteWriter& out) { append_header(out, profile.header); }));
    header_written_ = true;
    TRY(append_growth(profile));
    TRY(stream_->tables.append_locations(profile, true));
    stacks_of_samples_.insert(stacks_of_samples_.end(), profile.samples().stack.begin() + static_cast<ptrdiff_t>(stacks_of_samples_.size()),
                              profile.samples().stack.end());
    TRY(chunks().write());
    TRY(chunks().file().publish());
    opens_ = true;
    return {};
  }

  Result<void> finish(const Profile& profile) override {
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
    PackedSectionWriter packed{chunks, progress};
  };
  ChunkWriter& chunks() { return stream_->chunks; }
  CaptureProgress& progress() { return stream_->progress; }

  Result<void> write_rest(const Profile& profile) {
    if (stream_ && chunks().count() > 1 && profile.sample_count() <= kMaxRewritten && chunks().file().replaceable()) {
      // If that fails (no room for both), the file written so far is still there, and is continued.
      if (CaptureSink(path_, owner_).finish(profile)) return {};
    }
    TRY(open());
    if (chunks().count() == 0) {
      TRY(append_whole(profile));
    } else {
      TRY(append_growth(profile));
      TRY(append_moved(profile));
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
  Result<void> append_whole(const Profile& profile) {
    const bool huge = profile.sample_count() > kMaxRewritten;
    if (huge) chunks().set_level(3);
    TRY(chunks().append_section(Section::kHeader, [&](ByteWriter& out) { append_header(out, profile.header); }));
    if (profile.sample_count() + profile.stacks().size() + profile.frames().size() <= kMaxPacked) {
      TRY(stream_->packed.append_strings(profile));
      TRY(stream_->tables.append_strings(profile));
      TRY(stream_->tables.append_images(profile));
      packed_ = TRY(stream_->packed.append_calls(profile));
      if (packed_) TRY(stream_->packed.append_names(profile));
    }
    TRY(stream_->tables.append_growth(profile));
    TRY(stream_->tables.append_locations(profile, true));
    TRY(chunks().write());
    while (progress().samples < profile.sample_count()) {
      TRY(append_samples(profile, huge ? kSamplesPerSection : kSamplesPerChunk));
      TRY(chunks().write());
    }
    return {};
  }

  Result<void> append_growth(const Profile& profile) {
    TRY(stream_->tables.append_growth(profile));
    while (progress().samples < profile.sample_count()) TRY(append_samples(profile, kSamplesPerSection));
    return {};
  }

  // The next `step` samples, or what is left.
  Result<void> append_samples(const Profile& profile, size_t step) {
    if (packed_ && TRY(stream_->packed.append_samples(profile, std::min(profile.sample_count() - progress().samples, step)))) return {};
    return chunks().append_table(Section::kSamples, progress().samples, std::min(profile.sample_count(), progress().samples + step), step,
                        [&](ByteWriter& out, size_t begin, size_t end) { append_columns(out, profile.samples(), begin, end); });
  }

  // Naming puts labels into stacks that were written before.
  Result<void> append_moved(const Profile& profile) {
    return chunks().append_section(Section::kMoved, [&](ByteWriter& out) {
      size_t last = 0;
      for (size_t i = 0; i < stacks_of_samples_.size(); ++i) {
        const profile::StackId now = profile.samples().stack[i];
        if (now == stacks_of_samples_[i]) continue;
        out.uleb128(i - last);
        out.uleb128(plus_one(now));
        last = i;
      }
    });
  }

  std::string path_;
  std::optional<FileOwner> owner_;
  std::unique_ptr<Stream> stream_;
  bool header_written_ = false;
  bool packed_ = false;
  bool opens_ = false;  // something readable is under the final name
  std::vector<profile::StackId> stacks_of_samples_;  // as written by update()
};

}  // namespace

std::unique_ptr<profile::Sink> make_capture_sink(std::string path, const SinkOptions& options) {
  return std::make_unique<CaptureSink>(std::move(path), options.owner);
}

}  // namespace cicada::sink
