// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/packed_section_writer.h"

#include "sink/recording/capture_columns.h"
#include "sink/recording/packed_names.h"
#include "sink/recording/packed_samples.h"
#include "sink/recording/packed_strings.h"

namespace cicada::sink {
namespace {

constexpr size_t kMaxPackedText = 1 << 20;  // 0.65 us a byte, when writing and when reading

}  // namespace

using profile::Profile;

// `head` are the plain numbers in front. False: the rows are so much alike that a reader would not believe it; nothing was appended.
Result<bool> PackedSectionWriter::append_packed(Section kind, const ByteWriter& head, const std::string& packed, size_t rows) {
  if (rows > (head.size() + packed.size()) * (kMaxPackedRowsPerByte / 2)) return false;
  TRY(chunks_.append_section(kind, [&](ByteWriter& out) {
    out.append(head.bytes());
    out.append(packed);
  }));
  return true;
}

Result<void> PackedSectionWriter::append_strings(const Profile& profile) {
  std::vector<PackedString> strings(profile.strings().size());
  uint64_t bytes = 0;
  for (size_t i = 0; i < strings.size(); ++i) bytes += profile.text(profile::StringId(i)).size();
  if (bytes > kMaxPackedText) return {};
  std::vector<bool> is_source(strings.size());
  for (const profile::Function& function : profile.functions()) {
    const uint32_t name = function.name.value, from = function.linkage_name.value;
    if (!function.name.valid() || !function.linkage_name.valid() || name == from || is_source[name]) continue;
    if (strings[name].linkage_name != PackedString::kItself || strings[from].linkage_name != PackedString::kItself) continue;
    if (shown_name(profile.text(function.linkage_name)) != profile.text(function.name)) continue;
    strings[name].linkage_name = from;
    is_source[from] = true;
  }
  bytes = 0;
  for (size_t i = 0; i < strings.size(); ++i) {
    if (strings[i].linkage_name != PackedString::kItself) continue;
    strings[i].text = profile.text(profile::StringId(i));
    if (strings[i].text.find('\0') != std::string::npos) return {};
    bytes += strings[i].text.size() + 1;
  }
  Encoder encoder;
  code_strings(encoder, strings, bytes);
  const std::string& packed = encoder.finish();
  if (bytes > packed.size() * (kMaxPackedTextPerByte / 2)) return {};
  ByteWriter head;
  head.uleb128(strings.size());
  head.uleb128(bytes);
  if (TRY(append_packed(Section::kPackedStrings, head, packed, strings.size()))) progress_.strings = strings.size();
  return {};
}

Result<bool> PackedSectionWriter::append_calls(const Profile& profile) {
  std::vector<profile::Frame> frames(profile.frames().begin(), profile.frames().end());
  stack_rows_.clear();
  for (const profile::Stack& stack : profile.stacks()) stack_rows_.push_back({stack.parent.value, stack.frame.value});
  Encoder encoder;
  if (!CallCoder(encoder, frames, stack_rows_).code()) return false;
  ByteWriter head;
  head.uleb128(frames.size());
  head.uleb128(stack_rows_.size());
  if (!TRY(append_packed(Section::kPackedCalls, head, encoder.finish(), frames.size() + stack_rows_.size()))) return false;
  progress_.frames = frames.size();
  progress_.stacks = stack_rows_.size();
  chain_ends_ = chain_ends(stack_rows_);
  return true;
}

Result<void> PackedSectionWriter::append_names(const Profile& profile) {
  Encoder encoder;
  FunctionCoder functions(encoder);
  for (profile::Function row : profile.functions()) functions.code(row);
  LocationCoder coder(encoder, profile.functions().size());
  std::vector<profile::Location> locations;
  size_t rows = profile.functions().size();
  for (const uint32_t frame : by_address({profile.frames().begin(), profile.frames().end()})) {
    locations.assign(profile.locations(profile::FrameId(frame)).begin(), profile.locations(profile::FrameId(frame)).end());
    rows += locations.size();
    if (!coder.code(locations)) return {};
  }
  ByteWriter head;
  head.uleb128(profile.functions().size());
  if (!TRY(append_packed(Section::kPackedNames, head, encoder.finish(), rows))) return {};
  progress_.functions = profile.functions().size();
  progress_.located.assign(profile.frames().size(), true);
  return {};
}

Result<bool> PackedSectionWriter::append_samples(const Profile& profile, size_t count) {
  profile::SampleColumns columns;
  const auto slice = [&](auto& to, const auto& from) {
    const auto begin = from.begin() + static_cast<ptrdiff_t>(progress_.samples);
    to.assign(begin, begin + static_cast<ptrdiff_t>(count));
  };
  const profile::SampleColumns& all = profile.samples();
  slice(columns.time_ns, all.time_ns), slice(columns.thread, all.thread), slice(columns.stack, all.stack), slice(columns.value, all.value);
  slice(columns.cpu, all.cpu), slice(columns.kind, all.kind), slice(columns.flags, all.flags);
  Encoder encoder;
  SampleCoder coder(encoder, chain_ends_, profile.threads().size());
  if (!coder.code(columns, median_tick(columns, 0, count), next_stack_)) return false;
  ByteWriter head;
  head.uleb128(count);
  if (!TRY(append_packed(Section::kPackedSamples, head, encoder.finish(), count))) return false;
  progress_.samples += count;
  next_stack_ = coder.next();
  return true;
}

}  // namespace cicada::sink
