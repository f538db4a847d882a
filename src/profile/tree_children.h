// SPDX-License-Identifier: Apache-2.0
// A node's child by its name: equal names under one parent are one node. For whoever builds a tree.
#pragma once
#include "profile/call_tree.h"
#include "profile/content_index.h"

namespace cicada::profile {

// Of one tree, the same in all calls; its root is there.
class TreeChildren {
 public:
  // fill(node) says the rest of a new one.
  template <typename Fill>
  uint32_t find_or_append(CallTree& tree, uint32_t parent, StringId name, Fill fill) {
    return index_.find_or_append(
        mix_hash(parent, name.value), [&](uint32_t at) { return at != 0 && tree.nodes[at].parent == parent && tree.nodes[at].name == name; },
        [&] {
          CallNode node;
          node.parent = parent;
          node.name = name;
          fill(node);
          tree.nodes.push_back(node);
          return static_cast<uint32_t>(tree.nodes.size() - 1);
        });
  }
  // Like `node` of another tree, without its values.
  uint32_t find_or_append(CallTree& tree, uint32_t parent, const CallTree& from, const CallNode& node) {
    return find_or_append(tree, parent, tree.strings.intern(from.text(node.name)), [&](CallNode& added) {
      added.image = tree.strings.intern(from.text(node.image));
      added.file = tree.strings.intern(from.text(node.file));
      added.line = node.line;
      added.kind = node.kind;
    });
  }

 private:
  ContentIndex index_;
};

}  // namespace cicada::profile
