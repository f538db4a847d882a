// SPDX-License-Identifier: Apache-2.0
// Nothing is believed: every count is bounded by the bytes that must follow it, every index by the rows read so far, and the
// memory of all chunks by the size of the file. What the sections hold is read by those who are named after it.
#include "sink/recording/capture_reader.h"

#include <algorithm>

#include "sink/recording/capture_chunks.h"
#include "sink/recording/capture_columns.h"
#include "sink/recording/capture_header.h"
#include "sink/recording/capture_ids.h"
#include "sink/recording/capture_table_reader.h"

namespace cicada::sink {
namespace {

using namespace profile;

class Reader {
 public:
  Reader(Bytes bytes, const std::string& name) : file_(bytes), name_(name) {}

  Result<Capture> read() {
    ByteCursor head(file_);
    const Bytes magic = head.take(kCaptureMagic.size());
    const uint32_t version = head.u32();
    if (head.failed() || !std::equal(magic.begin(), magic.end(), kCaptureMagic.begin(), [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); }))
      return make_error(ErrorKind::kInvalid, "{}: not a cicada recording", name_);
    if (version > kCaptureVersion)
      return make_error(ErrorKind::kUnsupported, "{}: recording format {}, this cicada reads {}; use a newer cicada", name_, version, kCaptureVersion);
    if (version < kCaptureVersion) return make_error(ErrorKind::kUnsupported, "{}: recording format {} of an unreleased cicada, this one reads {}", name_, version, kCaptureVersion);
    ChunkReader chunks(file_, head.position(), budget_);
    std::string problem;
    while (!chunks.at_end() && !ended_) {
      const Result<void> done = read_chunk(chunks);
      if (!done) {
        problem = done.error().message();
        break;
      }
      chunks.accept();
    }
    capture_.chunks = chunks.count();
    finish(chunks.position(), problem);
    return std::move(capture_);
  }

 private:
  Profile& profile() { return capture_.profile; }

  void finish(uint64_t position, const std::string& problem) {
    capture_.unread_bytes = file_.size() - position;
    capture_.complete = ended_ && capture_.unread_bytes == 0;
    auto& warnings = profile().header.warnings;
    if (!problem.empty())
      warnings.push_back(fmt::format("{}: damaged after {} good chunks ({}); the last {} bytes are not shown, {} samples are", name_,
                                     capture_.chunks, problem, capture_.unread_bytes, profile().sample_count()));
    else if (!ended_)
      warnings.push_back(fmt::format("{}: the recording was cut off; the last moments, counts of losses and names of functions may be missing", name_));
    else if (capture_.unread_bytes != 0)
      warnings.push_back(fmt::format("{}: {} bytes after the end of the recording ignored", name_, capture_.unread_bytes));
    if (!ended_) lengthen_to_last_sample();
    if (ended_ && declared_samples_ != profile().sample_count())
      warnings.push_back(fmt::format("{}: {} samples of {} are there", name_, profile().sample_count(), declared_samples_));
  }

  // The header of a recording that was cut off is from its first second.
  void lengthen_to_last_sample() {
    Header& header = profile().header;
    for (const uint64_t time_ns : profile().samples().time_ns)
      if (time_ns > header.start_monotonic_ns) header.duration_ns = std::max(header.duration_ns, time_ns - header.start_monotonic_ns);
  }

  Result<void> read_chunk(ChunkReader& chunks) {
    ByteCursor cursor(TRY(chunks.next()));
    while (!cursor.at_end()) {
      const uint64_t kind = cursor.uleb128();
      ByteCursor section(cursor.take(cursor.uleb128()));
      if (cursor.failed()) return corrupt("section");
      TRY(read_section(kind, section));
    }
    return {};
  }

  Result<void> read_section(uint64_t kind, ByteCursor& in) {
    if (kind > static_cast<uint64_t>(Section::kEnd)) return {};  // of a later minor version
    switch (static_cast<Section>(kind)) {
      case Section::kHeader: return take_header(in);
      case Section::kStrings: return tables_.read_strings(in);
      case Section::kImages: return tables_.read_images(in);
      case Section::kFunctions: return tables_.read_functions(in);
      case Section::kFrames: return tables_.read_frames(in);
      case Section::kStacks: return tables_.read_stacks(in);
      case Section::kProcesses: return tables_.read_processes(in);
      case Section::kThreads: return tables_.read_threads(in);
      case Section::kSamples: return read_samples(in);
      case Section::kLocations: return tables_.read_locations(in);
      case Section::kEnd:
        ended_ = true;
        declared_samples_ = in.uleb128();
        return {};
    }
    return {};
  }

  Result<void> read_samples(ByteCursor& in) {
    const size_t count = TRY(read_count(in, 7, "samples"));
    if (count + profile().sample_count() >= 0xffffffff) return corrupt("samples");
    return parse_columns(in, count, ids_, profile());
  }

  Result<void> take_header(ByteCursor& in) {
    profile().header = TRY(parse_header(in));
    return {};
  }

  Bytes file_;
  const std::string& name_;
  Capture capture_;
  bool ended_ = false;
  uint64_t declared_samples_ = 0;
  ExpansionBudget budget_{file_.size()};
  CaptureIds ids_;
  TableReader tables_{capture_.profile, ids_};
};

}  // namespace

Result<Capture> read_capture(Bytes bytes, const std::string& name) { return Reader(bytes, name).read(); }

}  // namespace cicada::sink
