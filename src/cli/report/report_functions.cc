// SPDX-License-Identifier: Apache-2.0
#include "cli/report/report_functions.h"

#include <algorithm>

#include "profile/tree_children.h"

namespace cicada::cli {
namespace {

using profile::CallNode;
using profile::CallTree;
using profile::NodeKind;

bool is_function(const CallNode& node) { return node.kind != NodeKind::kRoot && node.kind != NodeKind::kGroup; }

// Builds a tree out of parts of another one.
class TreePart {
 public:
  explicit TreePart(const CallTree& from) : from_(from) { part_.nodes.emplace_back(); }

  uint32_t child(uint32_t parent, uint32_t original) { return children_.find_or_append(part_, parent, from_, from_.nodes[original]); }
  void add_self(uint32_t at, uint64_t value) { part_.nodes[at].self += value; }

  CallTree finish() {
    for (size_t i = part_.nodes.size(); i-- > 0;) {
      CallNode& node = part_.nodes[i];
      node.total += node.self;
      if (i != 0) part_.nodes[node.parent].total += node.total;
    }
    profile::link_children(part_);
    return std::move(part_);
  }

 private:
  const CallTree& from_;
  CallTree part_;
  profile::TreeChildren children_;
};

std::vector<bool> meant_names(const CallTree& tree, std::string_view function, const TableNames& names) {
  std::vector<bool> meant;
  for (size_t i = 0; i < tree.strings.size(); ++i) meant.push_back(names.means(tree.text(profile::StringId(static_cast<uint32_t>(i))), function));
  return meant;
}

Error no_such_function(const CallTree& tree, std::string_view function) {
  std::string close;
  size_t count = 0;
  for (const FunctionCost& cost : add_up_functions(tree)) {
    const std::string_view name = tree.text(cost.name);
    if (name.find(function) == std::string_view::npos || count++ >= 5) continue;
    close += fmt::format("\n  {}", name.substr(0, 200));
  }
  if (close.empty()) return make_error(ErrorKind::kNotFound, "no samples in a function {}", function);
  return make_error(ErrorKind::kNotFound, "no samples in a function {}; close to it are:{}", function, close);
}

}  // namespace

Result<CallTree> callees_of(const CallTree& tree, std::string_view function, const TableNames& names) {
  TreePart part(tree);
  const std::vector<bool> meant = meant_names(tree, function, names);
  std::vector<uint32_t> place(tree.nodes.size(), profile::kNoNode);  // a parent stands before its children
  bool found = false;
  for (uint32_t at = 1; at < tree.nodes.size(); ++at) {
    const CallNode& node = tree.nodes[at];
    if (place[node.parent] != profile::kNoNode) {
      place[at] = part.child(place[node.parent], at);
    } else if (is_function(node) && meant[node.name.value]) {
      place[at] = part.child(0, at);
      found = true;
    }
    if (place[at] != profile::kNoNode) part.add_self(place[at], node.self);
  }
  if (!found) return no_such_function(tree, function);
  return part.finish();
}

Result<CallTree> callers_of(const CallTree& tree, std::string_view function, const TableNames& names) {
  TreePart part(tree);
  const std::vector<bool> meant = meant_names(tree, function, names);
  std::vector<bool> inside(tree.nodes.size());
  bool found = false;
  for (uint32_t at = 1; at < tree.nodes.size(); ++at) {
    const CallNode& node = tree.nodes[at];
    inside[at] = inside[node.parent];
    if (inside[at] || !is_function(node) || !meant[node.name.value]) continue;
    inside[at] = found = true;
    uint32_t caller = part.child(0, at);
    for (uint32_t up = node.parent; up != 0; up = tree.nodes[up].parent) caller = part.child(caller, up);
    part.add_self(caller, node.total);
  }
  if (!found) return no_such_function(tree, function);
  return part.finish();
}

}  // namespace cicada::cli
