// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/recording_reader.h"

#include <algorithm>

#include "sink/recording/delta_codec.h"
#include "sink/recording/recording_chunks.h"

namespace cicada::sink {
namespace {

class Reader {
 public:
  Reader(Bytes file, const std::string& name) : file_(file), name_(name), budget_(kFreeBytes + kTimesFile * file.size()) {}

  Result<Recording> read() {
    ByteCursor head(file_);
    const Bytes magic = head.take(kRecordingMagic.size());
    const uint32_t version = head.u32();
    if (head.failed() || !std::equal(magic.begin(), magic.end(), kRecordingMagic.begin(), [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); }))
      return make_error(ErrorKind::kInvalid, "{}: not a cicada recording", name_);
    if (version != kRecordingVersion)
      return make_error(ErrorKind::kUnsupported, "{}: recording format {}, this cicada reads format {}; {}", name_, version, kRecordingVersion,
                        version > kRecordingVersion ? "use a newer cicada" : "record again");
    ChunkReader chunks(file_, head.position());
    std::string problem;
    while (!chunks.at_end() && !ended_) {
      const Result<void> done = read_chunk(chunks);
      if (!done) {
        problem = done.error().message();
        break;
      }
      chunks.accept();
    }
    result_.chunks = chunks.count();
    result_.unread_bytes = file_.size() - chunks.position();
    result_.complete = ended_ && result_.unread_bytes == 0;
    if (!ended_) lengthen_to_last_sample();
    tell(problem);
    return std::move(result_);
  }

 private:
  Result<void> read_chunk(ChunkReader& chunks) {
    const ChunkReader::Chunk chunk = TRY(chunks.next());
    if (chunk.kind == ChunkKind::kDelta) return apply_delta(result_.profile, chunk.content, budget_);
    if (chunk.kind == ChunkKind::kAnew) return result_.profile = profile::Profile(), Result<void>();
    ended_ = true;
    declared_samples_ = ByteCursor(chunk.content).uleb128();
    return {};
  }

  void tell(const std::string& problem) {
    auto& warnings = result_.profile.header.warnings;
    const size_t samples = result_.profile.sample_count();
    if (!problem.empty())
      warnings.push_back(fmt::format("{}: damaged after {} good chunks ({}); the last {} bytes are not shown, {} samples are", name_,
                                     result_.chunks, problem, result_.unread_bytes, samples));
    else if (!ended_)
      warnings.push_back(fmt::format("{}: the recording was cut off; the last moments and some names may be missing", name_));
    else if (result_.unread_bytes != 0)
      warnings.push_back(fmt::format("{}: {} bytes after the end of the recording ignored", name_, result_.unread_bytes));
    if (ended_ && declared_samples_ != samples) warnings.push_back(fmt::format("{}: {} samples of {} are there", name_, samples, declared_samples_));
  }

  // The header of a recording that was cut off may not know how long it was.
  void lengthen_to_last_sample() {
    Header& header = result_.profile.header;
    for (const uint64_t time_ns : result_.profile.samples().time_ns)
      if (time_ns > header.start_monotonic_ns) header.duration_ns = std::max(header.duration_ns, time_ns - header.start_monotonic_ns);
  }

  using Header = profile::Header;
  Bytes file_;
  const std::string& name_;
  Recording result_;
  MemoryBudget budget_;
  bool ended_ = false;
  uint64_t declared_samples_ = 0;
};

}  // namespace

Result<Recording> read_recording(Bytes bytes, const std::string& name) { return Reader(bytes, name).read(); }

}  // namespace cicada::sink
