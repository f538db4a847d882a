// SPDX-License-Identifier: Apache-2.0
#include "profile/shown_frames.h"

#include <algorithm>

#include "base/clean_text.h"
#include "profile/frame_text.h"

namespace cicada::profile {

std::span<const ShownFrame> ShownFrames::find_or_add(const ProfileSnapshot& profile, const CallTreeOptions& options, FrameId frame, StringTable& strings) {
  if (frame.value >= spans_.size()) spans_.resize(profile.frames().size());
  if (spans_[frame.value].count == kUnknown) {
    const auto begin = static_cast<uint32_t>(shown_.size());
    expand(profile, options, frame, strings);
    spans_[frame.value] = {begin, static_cast<uint32_t>(shown_.size()) - begin};
  }
  return std::span(shown_).subspan(spans_[frame.value].begin, spans_[frame.value].count);
}

bool ShownFrames::forget(FrameId frame) {
  if (frame.value >= spans_.size() || spans_[frame.value].count == kUnknown) return false;
  spans_[frame.value] = {};
  return true;
}

StringId ShownFrames::intern(std::string_view text, StringTable& strings) { return strings.intern(clean_text(text, clean_)); }

void ShownFrames::expand(const ProfileSnapshot& profile, const CallTreeOptions& options, FrameId frame, StringTable& strings) {
  if (!options.kernel_frames && node_kind(profile, frame, 0) == NodeKind::kKernel) return;
  const auto locations = profile.locations(frame);
  for (size_t which = std::max<size_t>(locations.size(), 1); which-- > 0;) {
    ShownFrame shown;
    shown.name = intern(frame_name(profile, frame, which), strings);
    shown.kind = node_kind(profile, frame, which);
    const ImageId image = image_of(profile, frame, which);
    if (image.valid()) shown.image = intern(profile.text(profile.images()[image.value].path), strings);
    if (which < locations.size()) {
      shown.file = intern(profile.text(locations[which].file), strings);
      shown.line = locations[which].line;
    }
    shown_.push_back(shown);
    if (!options.expand_inlined) break;  // the outermost is the function that has the code
  }
}

}  // namespace cicada::profile
