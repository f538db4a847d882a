// SPDX-License-Identifier: Apache-2.0
#include "profile/call_tree.h"

#include <algorithm>
#include <numeric>

#include "profile/live_tree.h"
#include "profile/stack_totals.h"
#include "profile/thread_state.h"
#include "profile/wakeups.h"

namespace cicada::profile {
namespace {

// Whoever ended a wait did not wait itself.
void leave_wakers_out(const CallTree& tree, std::vector<uint8_t>& state_of_node) {
  std::vector<bool> wakes(tree.nodes.size());
  for (size_t at = 1; at < wakes.size(); ++at) {
    const std::string_view name = tree.nodes[at].kind == NodeKind::kMarker ? tree.text(tree.nodes[at].name) : "";
    wakes[at] = name.starts_with(kWokenBy) || (name != kWhichWaited && wakes[tree.nodes[at].parent]);
    if (wakes[at]) state_of_node[at] = 0;
  }
}

void add_states(const ProfileSnapshot& profile, std::span<const uint32_t> leaf_of_sample, bool count_samples, CallTree& tree) {
  const Samples& samples = profile.samples();
  ThreadStates states;
  for (const LabelSetId labels : samples.labels) static_cast<void>(states.of(profile, labels));
  const size_t count = states.names().size();
  if (count == 0) return;
  for (const std::string& name : states.names()) tree.states.push_back(tree.strings.intern(name));
  std::vector<double> costs(tree.nodes.size() * count);
  for (size_t i = 0; i < samples.size(); ++i) {
    const uint8_t state = leaf_of_sample[i] == kNoNode ? 0 : states.of(profile, samples.labels[i]);
    if (state != 0) costs[leaf_of_sample[i] * count + state - 1] += count_samples ? 1 : static_cast<double>(profile.value(i));
  }
  tree.state_of_node = largest_states(tree, count, std::move(costs));
}

}  // namespace

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

std::vector<uint8_t> largest_states(const CallTree& tree, size_t states, std::vector<double> costs) {
  std::vector<uint8_t> of_node(tree.nodes.size());
  for (size_t at = of_node.size(); at-- > 0 && states != 0;) {  // a parent stands before its children
    const std::span own = std::span(costs).subspan(at * states, states);
    const auto most = std::max_element(own.begin(), own.end());
    if (*most > 0) of_node[at] = static_cast<uint8_t>(most - own.begin() + 1);
    for (size_t state = 0; state < states && at != 0; ++state) costs[tree.nodes[at].parent * states + state] += own[state];
  }
  leave_wakers_out(tree, of_node);
  return of_node;
}

CallTree build_call_tree(const ProfileSnapshot& profile, const CallTreeOptions& options, std::vector<uint32_t>* leaf_of_sample) {
  LiveTree live(options);
  std::vector<uint32_t> leaves;
  const bool states = options.states && profile.event(shown_event(profile, options)).spent != Spent::kRunning;
  if (states && leaf_of_sample == nullptr) leaf_of_sample = &leaves;
  live.add_all(profile, leaf_of_sample);
  if (leaf_of_sample != nullptr)
    for (uint32_t& leaf : *leaf_of_sample)
      if (leaf != kNoNode) leaf = live.node_of_leaf(leaf);
  live.add_totals();
  if (states) add_states(profile, *leaf_of_sample, options.count_samples, live.tree_);
  link_children(live.tree_);
  return std::move(live.tree_);
}

}  // namespace cicada::profile
