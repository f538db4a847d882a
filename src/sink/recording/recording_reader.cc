// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/recording_reader.h"

#include <algorithm>

#include "sink/recording/recording_decoder.h"

namespace cicada::sink {
namespace {

class Reader {
 public:
  Reader(Bytes file, const std::string& name) : file_(file), name_(name), decoder_(name) {}

  Result<Recording> read() {
    const Result<void> read = decoder_.push(file_);
    if (!decoder_.begun()) return read ? make_error(ErrorKind::kInvalid, "{}: not a cicada recording", name_) : read.error();
    result_.chunks = decoder_.chunks();
    result_.unread_bytes = decoder_.unread_bytes();
    result_.complete = decoder_.ended() && result_.unread_bytes == 0;
    result_.profile = std::move(decoder_.profile());
    if (!decoder_.ended()) lengthen_to_last_sample();
    tell(!read ? read.error().message() : !decoder_.ended() && result_.unread_bytes != 0 ? "chunk cut off" : "");
    return std::move(result_);
  }

 private:
  void tell(const std::string& problem) {
    auto& warnings = result_.profile.header.warnings;
    const size_t samples = result_.profile.sample_count();
    if (!problem.empty())
      warnings.push_back(fmt::format("{}: damaged after {} good chunks ({}); the last {} bytes are not shown, {} samples are", name_,
                                     result_.chunks, problem, result_.unread_bytes, samples));
    else if (!decoder_.ended())
      warnings.push_back(fmt::format("{}: the recording was cut off; the last moments and some names may be missing", name_));
    else if (result_.unread_bytes != 0)
      warnings.push_back(fmt::format("{}: {} bytes after the end of the recording ignored", name_, result_.unread_bytes));
    if (decoder_.ended() && decoder_.declared_samples() != samples) warnings.push_back(fmt::format("{}: {} samples of {} are there", name_, samples, decoder_.declared_samples()));
  }

  // The header of a recording that was cut off may not know how long it was.
  void lengthen_to_last_sample() {
    Header& header = result_.profile.header;
    for (const uint64_t time_ns : result_.profile.samples().time_ns)
      if (time_ns > header.start_monotonic_ns) header.duration_ns = std::max(header.duration_ns, time_ns - header.start_monotonic_ns);
  }

  using Header = profile::Header;
  const Bytes file_;
  const std::string& name_;
  RecordingDecoder decoder_;
  Recording result_;
};

}  // namespace

Result<Recording> read_recording(Bytes bytes, const std::string& name) { return Reader(bytes, name).read(); }

}  // namespace cicada::sink
