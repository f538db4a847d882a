// SPDX-License-Identifier: Apache-2.0
// The profile as people look at it: a tree of named frames with self and total values. Flame graphs, reports and call-tree
// formats are all drawn from this one aggregation.
//
// Frames become names here: inlined calls are expanded to nodes of their own, equal names under one parent are merged, unnamed
// frames read "libfoo.so.1+0x1234", grouping adds root nodes ("make (4711)"). total(node) = self(node) + Σ total(children).
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace cicada::profile {

// How a node is drawn and explained.
enum class NodeKind : uint8_t { kRoot, kGroup, kNative, kLibrary, kInlined, kJit, kInterpreted, kKernel, kMarker, kUnknown };

struct CallNode {
  uint32_t parent = 0;      // index; the root is 0 and its own parent
  uint32_t first_child = 0; // 0: none. Children are linked, ordered by name (deterministic)
  uint32_t next_sibling = 0;
  StringId name;            // in CallTree::strings
  StringId image;           // path, or kNone
  StringId file;            // of the function's first seen location, or kNone
  uint32_t line = 0;
  NodeKind kind = NodeKind::kRoot;
  uint64_t self = 0;        // in samples' value units
  uint64_t total = 0;
};

enum class GroupBy : uint8_t { kProgram, kProcess, kThread, kCpu, kUser, kState, kGroup, kCgroup, kImage };

struct CallTreeOptions {
  bool expand_inlined = true;
  bool include_idle = false;
  bool kernel_frames = true;
  std::vector<GroupBy> group_by = {};  // outermost first: process ("name (pid)"), thread ("name (tid)"), …
  bool group_numbers = true;           // false: "name", which two recordings have in common
  std::function<bool(const ProfileSnapshot&, size_t sample_index)> filter = {};  // empty: all
  bool count_samples = false;  // each sample counts one, whatever its value
  bool states = false;         // CallTree::states, where the event's samples have any
  std::optional<EventId> event = {};  // a tree has values of one event; empty: main_event()
};

struct CallTree {
  std::vector<CallNode> nodes;  // nodes[0] is the root; a parent stands before its children
  StringTable strings;
  std::vector<StringId> states;        // in which threads waited: "lock", "disk", … (kStateLabel)
  std::vector<uint8_t> state_of_node;  // of the largest part of its total: 1 + index into states, 0 for none, and for frames of a waker. Empty without states

  std::string_view text(StringId id) const { return strings.text(id); }
  uint64_t total() const { return nodes.empty() ? 0 : nodes[0].total; }
};

// With `leaf_of_sample`: the node each sample ended in, kNoNode for samples that are not part of the tree.
inline constexpr uint32_t kNoNode = 0xffffffff;
CallTree build_call_tree(const ProfileSnapshot& profile, const CallTreeOptions& options,
                         std::vector<uint32_t>* leaf_of_sample = nullptr);
// Of each node the state that most of its total is, as CallTree::state_of_node has it. `costs`: what the node has itself, by node, then state.
std::vector<uint8_t> largest_states(const CallTree& tree, size_t states, std::vector<double> costs);
// Links the children of every node in the order of their names. For trees whose nodes have parents and names only.
void link_children(CallTree& tree);

// Depth first, children in order: enter(node) before its children, leave(node) after them. Needs no memory of its own, however deep.
template <typename Enter, typename Leave>
void walk(const CallTree& tree, Enter enter, Leave leave) {
  for (uint32_t at = 0;; at = tree.nodes[at].next_sibling) {
    for (enter(at); tree.nodes[at].first_child != 0; enter(at)) at = tree.nodes[at].first_child;
    for (leave(at); at != 0 && tree.nodes[at].next_sibling == 0; leave(at)) at = tree.nodes[at].parent;
    if (at == 0) return;
  }
}

// The text of one location of a frame as build_call_tree shows it. `place`: one of the frame's, kNone for a frame without.
std::string frame_name(const ProfileSnapshot& profile, FrameId frame, PlaceId place);

}  // namespace cicada::profile
