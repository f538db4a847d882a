// SPDX-License-Identifier: Apache-2.0
#include "profile/shown_frames.h"

#include <algorithm>
#include <utility>

#include "base/clean_text.h"
#include "profile/frame_text.h"

namespace cicada::profile {
namespace {

uint64_t name_and_image(StringId name, StringId image) { return uint64_t{name.value} << 32 | image.value; }

}  // namespace

std::span<const ShownFrame> ShownFrames::find_or_add(const ProfileSnapshot& profile, const CallTreeOptions& options, FrameId frame, StringTable& strings) {
  uint32_t at = find_or_add_innermost(profile, options, frame, strings);
  if (at == kNoRow) return {};
  if (rows_[at].outer == kNoRow) return {&rows_[at].shown, 1};
  found_.clear();
  for (; at != kNoRow; at = rows_[at].outer) found_.push_back(rows_[at].shown);
  std::reverse(found_.begin(), found_.end());
  return found_;
}

uint32_t ShownFrames::find_or_add_innermost(const ProfileSnapshot& profile, const CallTreeOptions& options, FrameId frame, StringTable& strings) {
  if (frame.value >= innermost_.size()) innermost_.resize(profile.frames().size(), kUnasked);
  uint32_t& row = innermost_[frame.value];
  if (row == kUnasked) row = innermost_of(profile, options, frame, strings);
  return row;
}

bool ShownFrames::rename(const ProfileSnapshot& profile, const CallTreeOptions& options, FrameId frame, StringTable& strings) {
  if (frame.value >= innermost_.size() || innermost_[frame.value] == kUnasked) return false;
  const uint32_t before = std::exchange(innermost_[frame.value], innermost_of(profile, options, frame, strings));
  if (profile.frames()[frame.value].kind == FrameKind::kKernel) return true;  // contexts come from all of its names
  return !have_same_names(before, innermost_[frame.value]);
}

bool ShownFrames::have_same_names(uint32_t row, uint32_t other) const {
  for (; row != kNoRow && other != kNoRow; row = rows_[row].outer, other = rows_[other].outer)
    if (rows_[row].shown.name != rows_[other].shown.name) return false;
  return row == other;
}

const ShownFrame* ShownFrames::find_place(StringId name, StringId image) const {
  const auto found = row_with_file_.find(name_and_image(name, image));
  return found == row_with_file_.end() ? nullptr : &rows_[found->second].shown;
}

StringId ShownFrames::intern(std::string_view text, StringTable& strings) { return strings.intern(clean_text(text, clean_)); }

uint32_t ShownFrames::innermost_of(const ProfileSnapshot& profile, const CallTreeOptions& options, FrameId frame, StringTable& strings) {
  PlaceId place = profile.place(frame);
  if (!options.kernel_frames && node_kind(profile, frame, place) == NodeKind::kKernel) return kNoRow;
  chain_.clear();
  do chain_.push_back(place);
  while ((place = profile.outer(place)).valid());
  uint32_t row = kNoRow;
  do {
    row = row_of(profile, frame, chain_.back(), row, strings);
    chain_.pop_back();
  } while (!chain_.empty() && options.expand_inlined);  // the outermost is the function that has the code
  return row;
}

uint32_t ShownFrames::row_of(const ProfileSnapshot& profile, FrameId frame, PlaceId place, uint32_t outer, StringTable& strings) {
  const Frame& from = profile.frames()[frame.value];
  const auto append = [&] {
    const auto row = static_cast<uint32_t>(rows_.size());
    const ShownFrame& shown = rows_.emplace_back(Row{show(profile, frame, place, strings), outer, place, from.image, from.kind}).shown;
    if (shown.file.valid()) row_with_file_.try_emplace(name_and_image(shown.name, shown.image), row);
    return row;
  };
  if (!place.valid()) return append();
  return index_.find_or_append(
      mix_hash(place.value, uint64_t{from.image.value} << 8 | static_cast<uint8_t>(from.kind)),
      [&](uint32_t stored) { return rows_[stored].place == place && rows_[stored].image == from.image && rows_[stored].kind == from.kind; }, append);
}

ShownFrame ShownFrames::show(const ProfileSnapshot& profile, FrameId frame, PlaceId place, StringTable& strings) {
  ShownFrame shown;
  shown.name = intern(frame_name(profile, frame, place), strings);
  shown.kind = node_kind(profile, frame, place);
  const ImageId image = image_of(profile, frame, place);
  if (image.valid()) shown.image = intern(profile.text(profile.images()[image.value].path), strings);
  if (place.valid()) {
    const Place& from = profile.places()[place.value];
    shown.file = intern(profile.text(from.file), strings);
    shown.line = from.line;
  }
  return shown;
}

}  // namespace cicada::profile
