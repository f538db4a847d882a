// SPDX-License-Identifier: Apache-2.0
// What a frame of a profile becomes in a call tree: a node for each inlined call, outermost first, with the texts that people read.
// Looked up once a frame. Threads: one.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "profile/call_tree.h"

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
  // Its names have changed. False: nobody has asked for it yet.
  bool forget(FrameId frame);
  // Everything that leaves through a tree is UTF-8.
  StringId intern(std::string_view text, StringTable& strings);

 private:
  static constexpr uint32_t kUnknown = 0xffffffff;
  struct Span {
    uint32_t begin = 0;
    uint32_t count = kUnknown;
  };
  void expand(const ProfileSnapshot& profile, const CallTreeOptions& options, FrameId frame, StringTable& strings);

  std::vector<ShownFrame> shown_;
  std::vector<Span> spans_;  // by frame
  std::string clean_;
};

}  // namespace cicada::profile
