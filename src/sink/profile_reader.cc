// SPDX-License-Identifier: Apache-2.0
#include "sink/profile_reader.h"

#include <algorithm>

#include "base/file_mapping.h"
#include "sink/recording/recording_chunks.h"
#include "sink/recording/recording_reader.h"
#include "sink/gzip.h"

namespace cicada::sink {
namespace {

bool has_prefix(Bytes bytes, std::string_view prefix) {
  return bytes.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), bytes.begin(), [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

// Text: no control bytes but tab and line ends in the beginning of the file.
bool looks_like_text(Bytes bytes) {
  const Bytes head = bytes.first(std::min<size_t>(bytes.size(), 4096));
  return std::none_of(head.begin(), head.end(), [](uint8_t c) { return c < 0x20 && c != '\t' && c != '\n' && c != '\r'; });
}

}  // namespace

Result<profile::Profile> read_profile(const std::string& path) {
  const FileMapping file = TRY(FileMapping::open(path));
  return parse_profile(file.bytes(), path);
}

namespace {

Result<profile::Profile> parse_any(Bytes bytes, const std::string& name) {
  if (has_prefix(bytes, kRecordingMagic)) {
    Recording recording = TRY(read_recording(bytes, name));
    return std::move(recording.profile);
  }
  if (bytes.empty() && !name.ends_with(".folded")) return make_error(ErrorKind::kInvalid, "{}: the file is empty", name);
  const bool named_pprof = name.ends_with(".pb.gz") || name.ends_with(".pprof") || name.ends_with(".pb");
  if (is_gzip(bytes) || named_pprof) return parse_pprof(bytes, name);
  if (has_prefix(bytes, "PERFILE2"))
    return make_error(ErrorKind::kInvalid, "{0}: perf's own format; `perf script -i {0} | stackcollapse-perf.pl >{0}.folded` (of FlameGraph) makes folded stacks, which cicada reads", name);
  if (has_prefix(bytes, "{") || has_prefix(bytes, "<") || has_prefix(bytes, "\x7f" "ELF"))
    return make_error(ErrorKind::kInvalid, "{}: not a format that cicada reads as a profile (.cicada, .folded, .pb.gz)", name);
  if (name.ends_with(".cicada")) return make_error(ErrorKind::kInvalid, "{}: not a cicada recording", name);
  if (name.ends_with(".folded") || looks_like_text(bytes)) return parse_folded(bytes, name);
  return make_error(ErrorKind::kInvalid, "{}: not a format that cicada reads as a profile (.cicada, .folded, .pb.gz)", name);
}

}  // namespace

Result<profile::Profile> parse_profile(Bytes bytes, const std::string& name) {
  profile::Profile profile = TRY(parse_any(bytes, name));
  if (const Result<void> valid = profile.validate(); !valid) return valid.error().within(name);
  return profile;
}

}  // namespace cicada::sink
