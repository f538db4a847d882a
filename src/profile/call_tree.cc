// SPDX-License-Identifier: Apache-2.0
#include "profile/call_tree.h"

#include <algorithm>
#include <numeric>

#include "profile/live_tree.h"

namespace cicada::profile {

// Names are ranked once, because comparing texts for each pair of nodes costs ten times as much.
void link_children(CallTree& tree) {
  std::vector<uint32_t> by_name(tree.strings.size()), rank(by_name.size());
  std::iota(by_name.begin(), by_name.end(), 0);
  std::sort(by_name.begin(), by_name.end(), [&](uint32_t a, uint32_t b) { return tree.text(StringId(a)) < tree.text(StringId(b)); });
  for (size_t i = 0; i < by_name.size(); ++i) rank[by_name[i]] = static_cast<uint32_t>(i);
  std::vector<uint32_t> order(tree.nodes.size() - 1);
  std::iota(order.begin(), order.end(), 1);
  const auto rank_of = [&](uint32_t at) { return tree.nodes[at].name.valid() ? rank[tree.nodes[at].name.value] + 1 : 0; };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return rank_of(a) > rank_of(b); });
  for (const uint32_t at : order) {
    CallNode& parent = tree.nodes[tree.nodes[at].parent];
    tree.nodes[at].next_sibling = parent.first_child;
    parent.first_child = at;
  }
}

CallTree build_call_tree(const ProfileSnapshot& profile, const CallTreeOptions& options, std::vector<uint32_t>* leaf_of_sample) {
  LiveTree live(options);
  live.add_all(profile, leaf_of_sample);
  live.add_totals();
  link_children(live.tree_);
  return std::move(live.tree_);
}

}  // namespace cicada::profile
