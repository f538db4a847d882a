// SPDX-License-Identifier: Apache-2.0
// A call tree, and the table of its functions, that follow a growing profile. An update costs what is new, not what there is.
//
//   LiveTree live({.group_by = {GroupBy::kProcess, GroupBy::kThread}});
//   every second:  live.update(*session.snapshot());  show(live.tree(), live.functions());
//
//   rows that came, rows that went ──▶ entries (group, stack) ──▶ nodes, their ancestors, their functions
//   frames, processes, threads that are called otherwise now ──▶ their entries go where they belong
//
// The first update adds up the profile's running sums by stack where it can (no groups, filter or idle samples), else its samples. A profile
// that was made anew (SnapshotSizes::lineage) is begun anew.
//
// The tree: children are linked in no order; what has lost its samples stays, with a total of 0, until it is most of the tree. A filter
// must have an answer for samples to come.
// Threads: one, not the profile's: it lives on snapshots. Keeps the last one, so that it can take away what was dropped since.
#pragma once
#include <vector>

#include "profile/call_tree.h"
#include "profile/content_index.h"
#include "profile/function_table.h"
#include "profile/kernel_context.h"
#include "profile/shown_frames.h"
#include "profile/tree_children.h"

namespace cicada::profile {

class LiveTree {
 public:
  explicit LiveTree(CallTreeOptions options) : options_(std::move(options)) { clear(); }

  // `now`: later than the last one, or of another profile. With `new_leaves`: the leaf that each row ended in that is new to this tree (all of them
  // if anew() is another number now), kNoNode for one that is not part of it. Either always or never.
  void update(const ProfileSnapshot& now, std::vector<uint32_t>* new_leaves = nullptr);
  const CallTree& tree() const { return tree_; }
  const FunctionTable& functions() const { return functions_; }
  // With file and line also where its first frame had none yet.
  CallNode node_with_place(uint32_t node) const;
  // Leaves are numbered as they come. The node of one is another when its frames got names.
  uint32_t node_of_leaf(uint32_t leaf) const { return entries_[leaf].node; }
  size_t leaf_count() const { return entries_.size(); }
  // Nodes with another self or total than before the last update, some of them twice; of another tree (anew()) all.
  const std::vector<uint32_t>& changed_nodes() const { return changed_nodes_; }
  // Leaves that got a node, again if it is another one now.
  const std::vector<uint32_t>& placed_leaves() const { return placed_; }
  uint64_t anew() const { return anew_; }  // another number: numbers of nodes and leaves mean other things

 private:
  friend CallTree build_call_tree(const ProfileSnapshot&, const CallTreeOptions&, std::vector<uint32_t>*);

  // What decides about a sample's groups. Formatting their names for each sample would cost more than everything else.
  struct GroupKey {
    ProcessId process;
    ThreadId thread;
    StackId stack;  // where images are asked for
    LabelSetId labels;
    uint32_t cpu = 0;
    uint8_t end_reason = END_NONE;  // of stacks that are not whole (cut_text): they hang below a marker
    bool operator==(const GroupKey&) const = default;
  };
  struct Group {
    GroupKey key;
    ThreadId thread;  // of a sample in it
    uint32_t node = 0;
  };
  // The samples of one stack in one group.
  struct Entry {
    uint32_t group = 0;
    StackId stack;
    uint32_t node = kNoNode;
    uint64_t value = 0;  // that its node has
  };
  // How much there was before an update: what has a later frame is among later stacks, and these are in later entries.
  struct Age {
    size_t frames = 0, stacks = 0, entries = 0;
  };
  static constexpr uint32_t kNoGroup = 0xffffffff;

  void clear();
  bool is_worn() const;
  void add_all(const ProfileSnapshot& now, std::vector<uint32_t>* leaf_of_sample);
  void add_sums(const ProfileSnapshot& now);
  void add_stacks(const ProfileSnapshot& profile);
  // Rows [begin, end) of `from`, or their removal.
  void add_rows(const ProfileSnapshot& from, size_t begin, size_t end, bool remove, std::vector<uint32_t>* leaf_of_sample);
  uint32_t entry_of(const ProfileSnapshot& profile, size_t row);
  uint32_t group_of(const ProfileSnapshot& profile, size_t row);
  uint32_t group_node(const ProfileSnapshot& profile, const Group& group);
  void release(uint32_t entry);
  Age age_of(size_t frame) const;
  void release_renamed(const ProfileSnapshot& now, const SnapshotSizes& before);
  void release_regrouped(const ProfileSnapshot& now, const SnapshotSizes& before, const std::vector<bool>& stack_renamed);
  // Where what is pending belongs, and there with it.
  void place_touched(const ProfileSnapshot& now);
  uint32_t place(const ProfileSnapshot& now, const Entry& entry);
  uint32_t child(uint32_t parent, const ShownFrame& shown);
  void add_totals();

  const CallTreeOptions options_;
  CallTree tree_;
  FunctionTable functions_;
  EventId event_;
  ProfileSnapshot last_;
  KernelContexts contexts_;
  ShownFrames frames_;
  std::vector<Group> groups_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> entry_of_stack_;  // without groups, of whole stacks: by stack + 1, the empty one is 0
  std::vector<uint64_t> pending_;        // by entry; apart, because each sample touches one at random: 8 bytes, not 24
  std::vector<uint32_t> placed_;         // entries, if leaves are asked for
  uint64_t anew_ = 0;
  std::vector<uint32_t> touched_;        // entries that may have something pending; some twice
  std::vector<uint32_t> node_of_stack_, group_of_stack_;  // the last placement of each
  std::vector<uint64_t> delta_;          // by node: what its total has more
  std::vector<uint32_t> changed_nodes_;
  std::vector<Age> ages_;                // of each update since the tree is this one
  size_t linked_ = 1;                    // nodes
  bool with_functions_ = false, with_leaves_ = false;
  size_t empty_nodes_ = 0, empty_at_first_ = 0;
  ContentIndex group_index_, entry_index_;
  TreeChildren children_;
  std::vector<StackId> path_;
};

}  // namespace cicada::profile
