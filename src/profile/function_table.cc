// SPDX-License-Identifier: Apache-2.0
#include "profile/function_table.h"

#include <algorithm>
#include <numeric>

namespace cicada::profile {

void FunctionTable::add(const CallTree& tree, uint32_t at, uint64_t self, uint64_t total) {
  if (at >= nodes_.size()) see(tree);
  const Node& node = nodes_[at];
  if (node.row == kNoNode) return;
  FunctionCost& cost = rows_.edit(node.row);
  cost.self += self;
  if (node.outermost) cost.total += total;
  uint32_t& heaviest = heaviest_[node.row];
  if (tree.nodes[at].total > tree.nodes[heaviest].total) heaviest = at;
}

void FunctionTable::see(const CallTree& tree) {
  row_of_name_.resize(tree.strings.size(), kNoNode);
  for (size_t at = nodes_.size(); at < tree.nodes.size(); ++at) {
    const CallNode& from = tree.nodes[at];
    Node node;
    node.names_from_root = at == 0 ? 0 : nodes_[from.parent].names_from_root;
    if (from.kind != NodeKind::kRoot && from.kind != NodeKind::kGroup && from.name.valid()) {
      uint32_t& row = row_of_name_[from.name.value];
      if (row == kNoNode) {
        row = static_cast<uint32_t>(rows_.size());
        rows_.push_back({from.name, from.image, 0, 0});
        heaviest_.push_back(static_cast<uint32_t>(at));
      }
      node.row = row;
      const uint64_t bit = uint64_t{1} << (from.name.value & 63);
      uint32_t up = from.parent;
      if ((node.names_from_root & bit) == 0) up = 0;
      while (up != 0 && nodes_[up].row != row) up = tree.nodes[up].parent;
      node.outermost = up == 0;
      node.names_from_root |= bit;
    }
    nodes_.push_back(node);
  }
}

std::vector<FunctionCost> largest_functions(const Log<FunctionCost>& rows, size_t count) {
  std::vector<uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  const auto middle = order.begin() + static_cast<ptrdiff_t>(std::min(count, order.size()));
  std::partial_sort(order.begin(), middle, order.end(), [&](uint32_t a, uint32_t b) {
    if (rows[a].self != rows[b].self) return rows[a].self > rows[b].self;
    return rows[a].total != rows[b].total ? rows[a].total > rows[b].total : a < b;
  });
  std::vector<FunctionCost> largest;
  for (auto row = order.begin(); row != middle; ++row) largest.push_back(rows[*row]);
  return largest;
}

std::vector<FunctionCost> add_up_functions(const CallTree& tree) {
  FunctionTable functions;
  for (uint32_t at = 0; at < tree.nodes.size(); ++at) functions.add(tree, at, tree.nodes[at].self, tree.nodes[at].total);
  return largest_functions(functions.rows(), functions.rows().size());
}

}  // namespace cicada::profile
