// SPDX-License-Identifier: Apache-2.0
// The functions of a call tree: what each costs itself, and with everything it calls. Kept by what changes in the tree.
//
// A function's total is that of its outermost nodes: a stack counts once, however often the function recurses in it.
// Rows are in a Log: a copy of `rows()` shares them, and can be read by any thread while the table goes on.
// Threads: one.
#pragma once
#include <vector>

#include "profile/call_tree.h"
#include "profile/log.h"

namespace cicada::profile {

struct FunctionCost {
  StringId name, image;  // in CallTree::strings; the image of the node that was met first
  uint64_t self = 0;
  uint64_t total = 0;  // stacks that contain the function, once each
};

class FunctionTable {
 public:
  // What node `at` has more than before; differences wrap around. Parents must have been in the tree before their children.
  void add(const CallTree& tree, uint32_t at, uint64_t self, uint64_t total);
  // Nodes that are new, without values.
  void see(const CallTree& tree);
  const Log<FunctionCost>& rows() const { return rows_; }
  // Of a node that was seen: its function, kNoNode for the root and groups; whether nothing above it is the same function.
  uint32_t row_of(uint32_t at) const { return nodes_[at].row; }
  bool is_outermost(uint32_t at) const { return nodes_[at].outermost; }
  // Of a row with a total: its node with the largest one. Where nodes lose some, it may be one that had it.
  uint32_t heaviest_node(size_t row) const { return heaviest_[row]; }

 private:
  struct Node {
    uint32_t row = kNoNode;      // none: the root, a group
    bool outermost = false;
    uint64_t names_from_root = 0;  // a bit for each, by its id: recursion is looked for where the bit is set
  };

  Log<FunctionCost> rows_;
  std::vector<uint32_t> heaviest_;  // by row: a node
  std::vector<uint32_t> row_of_name_;
  std::vector<Node> nodes_;  // by node
};

// The `count` largest: by self, then total, then the order of the rows.
std::vector<FunctionCost> largest_functions(const Log<FunctionCost>& rows, size_t count);
// All of a tree, ordered likewise.
std::vector<FunctionCost> add_up_functions(const CallTree& tree);

}  // namespace cicada::profile
