// SPDX-License-Identifier: Apache-2.0
// What a frame of a profile becomes in a call tree: a node for each inlined call, outermost first, with the texts that people read.
// Made once for each place: frames of one place share it, and what they are inlined into. Threads: one.
#pragma once
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/call_tree.h"
#include "profile/content_index.h"

namespace cicada::profile {

struct ShownFrame {
  StringId name, image, file;  // in the tree's strings
  uint32_t line = 0;
  NodeKind kind = NodeKind::kUnknown;
};

class ShownFrames {
 public:
  // Of the frames of `profile`, whose texts go into `strings`. Valid until the next call. Empty: not shown.
  std::span<const ShownFrame> find_or_add(const ProfileSnapshot& profile, const CallTreeOptions& options, FrameId frame, StringTable& strings);
  // The same by the row, from the innermost outwards; kNoRow: not shown, no further one.
  static constexpr uint32_t kNoRow = 0xffffffff;
  uint32_t find_or_add_innermost(const ProfileSnapshot& profile, const CallTreeOptions& options, FrameId frame, StringTable& strings);
  uint32_t outer(uint32_t row) const { return rows_[row].outer; }
  const ShownFrame& operator[](uint32_t row) const { return rows_[row].shown; }
  // Names of the frame came or changed. False: it is shown under the same ones as before, or nobody has asked for it yet.
  bool rename(const ProfileSnapshot& profile, const CallTreeOptions& options, FrameId frame, StringTable& strings);
  // One that is called so in that image and has a file; null: none has.
  const ShownFrame* find_place(StringId name, StringId image) const;
  // Everything that leaves through a tree is UTF-8.
  StringId intern(std::string_view text, StringTable& strings);

 private:
  static constexpr uint32_t kUnasked = 0xfffffffe;
  struct Row {
    ShownFrame shown;
    uint32_t outer = kNoRow;  // the row of what it is inlined into
    // Of what it is; kNone: of one frame without a place.
    PlaceId place;
    ImageId image;
    FrameKind kind = {};
  };
  bool have_same_names(uint32_t row, uint32_t other) const;
  uint32_t innermost_of(const ProfileSnapshot& profile, const CallTreeOptions& options, FrameId frame, StringTable& strings);
  uint32_t row_of(const ProfileSnapshot& profile, FrameId frame, PlaceId place, uint32_t outer, StringTable& strings);
  ShownFrame show(const ProfileSnapshot& profile, FrameId frame, PlaceId place, StringTable& strings);

  std::vector<Row> rows_;
  std::vector<uint32_t> innermost_;  // row, by frame
  ContentIndex index_;               // of rows with a place
  std::unordered_map<uint64_t, uint32_t> row_with_file_;  // by name and image
  std::vector<PlaceId> chain_;
  std::vector<ShownFrame> found_;
  std::string clean_;
};

}  // namespace cicada::profile
