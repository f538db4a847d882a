// SPDX-License-Identifier: Apache-2.0
// The boxes of a picture: nodes of a call tree that are called the same and belong together, with what they cost. They are made when somebody asks for
// them, so that a picture of a hundred columns costs what it shows, not what the tree has.
//
//   callees of the root        the flame graph          callees of a function's outermost nodes   what it calls
//   callers of every node      the inverted one         callers of those                          who calls it
//
// A box's children: the children (towards callees) or the parents (towards callers) of its nodes, one box for each name. Names under one parent differ, so no
// node is twice in a box. Numbers and names of boxes are good until the tree changes.
// Borrows the tree and the costs. Threads: one.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "profile/call_tree.h"

namespace cicada::top {

// What each node of a tree costs, in its event's unit: itself, and with all below it.
struct Costs {
  std::vector<double> self, total;
  double whole() const { return total.empty() ? 0 : total[0]; }
};

enum class Towards : uint8_t { kCallees, kCallers };
enum class Order : uint8_t { kHeavy, kName };

class Boxes {
 public:
  struct Box {
    uint32_t parent = 0;  // the first box is its own
    uint32_t depth = 0;
    uint32_t node = 0;    // one of its nodes: says name, image, file and kind
    double total = 0, self = 0;
    double before = 0;    // what `before` has of it
  };
  static constexpr uint32_t kNone = 0xffffffff;

  // `before`: other costs of the same tree to compare with, or null.
  Boxes(const profile::CallTree& tree, const Costs& costs, const Costs* before, Towards towards, Order order);
  // For a picture that grows: siblings stand as they stood in `last`, which is used up, unless one costs a fifth and `least` more than one before it. Before
  // any is asked for.
  void keep_order_of(Boxes& last, double least);
  // Where it begins: the root; every node; nodes that are called alike and do not contain each other.
  void begin_with_root();
  void begin_with_all();
  void begin_with(const std::vector<uint32_t>& nodes);

  size_t size() const { return boxes_.size(); }
  const Box& operator[](uint32_t box) const { return boxes_[box].box; }
  // About largest first, or by name. What costs nothing has none. Valid until the next call for a box without children.
  std::span<const uint32_t> children(uint32_t box);
  std::string_view name(uint32_t box) const {
    const uint32_t node = boxes_[box].box.node;
    return node != 0 ? tree_.text(tree_.nodes[node].name) : box == 0 ? "all" : "[no stack]";
  }
  // The names from the first box on as a number, which stays when the tree changes. Different ones may have the same, if rarely.
  uint64_t path(uint32_t box) const { return boxes_[box].path; }
  uint32_t heaviest_child(uint32_t box);  // kNone: it has none
  // Of the boxes from `from` down, heaviest first: the next one after `box` that is wanted, or the one before; around the end if need be. kNone: none is, of the
  // first kMostLookedAt.
  static constexpr size_t kMostLookedAt = 200'000;
  uint32_t find_next(uint32_t from, uint32_t box, bool forward, const std::function<bool(uint32_t)>& is_wanted);
  // The child of that name; kNone: there is none.
  uint32_t find(uint32_t box, std::string_view name);
  const profile::CallTree& tree() const { return tree_; }
  const Costs& costs() const { return costs_; }
  const Costs* before() const { return before_; }

 private:
  // A node of a box, and what of its cost belongs to the box: towards callers less than all. Nodes lie anywhere: each is looked at once.
  struct Item {
    uint32_t node = 0;
    uint32_t name = 0;  // of the node, + 1; 0: of the root
    uint32_t parent = 0;
    double value = 0, before = 0;
  };
  struct Made {
    Box box;
    uint32_t first_item = 0, items = 0;
    uint32_t first_child = kNone, child_count = 0;
    uint64_t path = 0;
    bool in_order = false;  // its children
  };
  void make_children(uint32_t box);
  void add_boxes(uint32_t parent, std::vector<Item> items);
  void sort(std::span<uint32_t> siblings);
  void prefetch(uint32_t node) const { __builtin_prefetch(&tree_.nodes[node]); }
  Item item_of(uint32_t node, double value, double before) const {
    const profile::CallNode& one = tree_.nodes[node];
    return {node, node == 0 ? 0 : one.name.value + 1, one.parent, value, before};
  }
  double size(uint32_t box) const { return boxes_[box].box.total + boxes_[box].box.before; }
  void sort_by_rough_sizes(std::span<uint32_t> siblings) const;
  void sort_as_before(std::span<uint32_t> siblings) const;

  const profile::CallTree& tree_;
  const Costs& costs_;
  const Costs* before_;
  const Towards towards_;
  const Order order_;
  std::vector<Made> boxes_;
  std::vector<Item> items_;
  std::vector<uint32_t> children_;       // of all boxes
  std::vector<uint32_t> group_of_name_;  // scratch: by name + 1
  using Ranks = std::unordered_map<uint64_t, uint32_t>;  // by path, among siblings
  Ranks ranks_, last_ranks_;
  double least_ = 0;
};

}  // namespace cicada::top
