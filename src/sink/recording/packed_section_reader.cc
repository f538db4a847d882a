// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/packed_section_reader.h"

#include "sink/recording/capture_columns.h"
#include "sink/recording/packed_calls.h"
#include "sink/recording/packed_names.h"
#include "sink/recording/packed_samples.h"
#include "sink/recording/packed_strings.h"

namespace cicada::sink {

using namespace profile;

// A count of rows of a packed section, which may take less than a byte each.
Result<size_t> PackedSectionReader::read_count(ByteCursor& in) {
  const uint64_t count = in.uleb128();
  if (in.failed() || count > kMaxPackedRowsPerByte * file_bytes_) return corrupt("packed section");
  rows_ += count;
  if (rows_ > kMaxPackedRowsPerByte * file_bytes_) return corrupt("packed section");
  return static_cast<size_t>(count);
}

Result<void> PackedSectionReader::read_strings(ByteCursor& in) {
  std::vector<PackedString> strings(TRY(read_count(in)));
  const uint64_t bytes = in.uleb128();
  if (in.failed() || bytes > kMaxPackedTextPerByte * in.remaining()) return corrupt("packed strings");
  Decoder decoder(in.take(in.remaining()));
  if (!code_strings(decoder, strings, bytes)) return corrupt("packed strings");
  ids_.strings.reserve(ids_.strings.size() + strings.size());
  for (PackedString& string : strings) {
    if (string.linkage_name != PackedString::kItself) {
      const PackedString& from = strings[string.linkage_name];
      if (from.linkage_name != PackedString::kItself) return corrupt("packed strings");
      string.text = shown_name(from.text);
      if (!budget_.take(string.text.size() + from.text.size())) return corrupt("packed strings");
    }
    ids_.strings.push_back(profile_.intern(string.text));
  }
  return {};
}

Result<void> PackedSectionReader::read_calls(ByteCursor& in) {
  const size_t frames = TRY(read_count(in)), stacks = TRY(read_count(in));
  if (!ids_.frames.empty() || !ids_.stacks.empty()) return corrupt("packed calls");
  frames_.resize(frames);
  std::vector<PackedStack> rows(stacks);
  Decoder decoder(in.take(in.remaining()));
  if (!CallCoder(decoder, frames_, rows).code()) return corrupt("packed calls");
  bool bad = false;
  for (const Frame& row : frames_) {
    Frame frame = row;
    frame.image = optional_id(ids_.images, row.image.value + 1U, bad);
    frame.label = ids_.string(row.label.value + 1U, bad);
    if (bad) return corrupt("packed calls");
    ids_.frames.push_back(profile_.intern_frame(frame));
  }
  ids_.stacks.reserve(stacks);
  for (const PackedStack& row : rows)
    ids_.stacks.push_back(profile_.intern_stack(row.parent == PackedStack::kRoot ? StackId() : ids_.stacks[row.parent], ids_.frames[row.frame]));
  chain_ends_ = chain_ends(rows);
  return {};
}

Result<void> PackedSectionReader::read_names(ByteCursor& in) {
  const size_t functions = TRY(read_count(in));
  if (!ids_.functions.empty() || frames_.size() != ids_.frames.size()) return corrupt("packed names");
  Decoder decoder(in.take(in.remaining()));
  FunctionCoder coder(decoder);
  bool bad = false;
  for (size_t i = 0; i < functions; ++i) {
    Function row;
    coder.code(row);
    row.name = ids_.string(row.name.value + 1U, bad);
    row.linkage_name = ids_.string(row.linkage_name.value + 1U, bad);
    row.image = optional_id(ids_.images, row.image.value + 1U, bad);
    if (bad || decoder.failed()) return corrupt("packed names");
    ids_.functions.push_back(profile_.intern_function(row));
  }
  LocationCoder location_coder(decoder, functions);
  std::vector<Location> locations, mapped;
  for (const uint32_t frame : by_address(frames_)) {
    if (!location_coder.code(locations)) return corrupt("packed names");
    rows_ += locations.size();
    if (rows_ > kMaxPackedRowsPerByte * file_bytes_) return corrupt("packed names");
    mapped = locations;
    for (Location& location : mapped) {
      location.function = ids_.functions[location.function.value];
      location.file = ids_.string(location.file.value + 1U, bad);
    }
    if (bad) return corrupt("packed names");
    if (!mapped.empty()) profile_.set_locations(ids_.frames[frame], mapped);
  }
  return {};
}

Result<void> PackedSectionReader::read_samples(ByteCursor& in) {
  const size_t count = TRY(read_count(in));
  if (chain_ends_.size() != ids_.stacks.size() || count + profile_.sample_count() >= 0xffffffff) return corrupt("packed samples");
  resize_columns(block_, count);
  Decoder decoder(in.take(in.remaining()));
  if (!SampleCoder(decoder, chain_ends_, ids_.threads.size()).code(block_, 0, 0)) return corrupt("packed samples");
  for (ThreadId& id : block_.thread) id = ids_.threads[id.value];
  for (StackId& id : block_.stack) id = id.valid() ? ids_.stacks[id.value] : StackId();
  profile_.append_samples(block_);
  return {};
}

}  // namespace cicada::sink
