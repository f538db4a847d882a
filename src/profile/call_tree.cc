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

constexpr size_t kMaxStates = 15;  // there are nine; a foreign file may have any number

class StateSums {
 public:
  StateSums(const ProfileSnapshot& profile, CallTree& tree) : profile_(profile), tree_(tree) {}

  void add_up(std::span<const uint32_t> leaf_of_sample, bool count_samples) {
    const Samples& samples = profile_.samples();
    for (const LabelSetId labels : samples.labels) state_of(labels);
    if (tree_.states.empty()) return;
    std::vector<uint64_t> sums(tree_.nodes.size() * tree_.states.size());
    for (size_t i = 0; i < samples.size(); ++i) {
      const size_t state = leaf_of_sample[i] == kNoNode ? 0 : state_of(samples.labels[i]);
      if (state != 0) sums[leaf_of_sample[i] * tree_.states.size() + state - 1] += count_samples ? 1 : profile_.value(i);
    }
    tree_.state_of_node.resize(tree_.nodes.size());
    for (size_t at = tree_.nodes.size(); at-- > 0;) {  // a parent stands before its children
      const std::span own = std::span(sums).subspan(at * tree_.states.size(), tree_.states.size());
      const auto most = std::max_element(own.begin(), own.end());
      if (*most != 0) tree_.state_of_node[at] = static_cast<uint8_t>(most - own.begin() + 1);
      if (at == 0) break;
      for (size_t state = 0; state < own.size(); ++state) sums[tree_.nodes[at].parent * own.size() + state] += own[state];
    }
    leave_wakers_out();
  }

 private:
  // Whoever ended a wait did not wait itself.
  void leave_wakers_out() {
    std::vector<bool> wakes(tree_.nodes.size());
    for (size_t at = 1; at < wakes.size(); ++at) {
      const std::string_view name = tree_.nodes[at].kind == NodeKind::kMarker ? tree_.text(tree_.nodes[at].name) : "";
      wakes[at] = name.starts_with(kWokenBy) || (name != kWhichWaited && wakes[tree_.nodes[at].parent]);
      if (wakes[at]) tree_.state_of_node[at] = 0;
    }
  }
  // 1 + index into the tree's states.
  size_t state_of(LabelSetId labels) {
    if (!labels.valid()) return 0;
    if (known_.size() <= labels.value) known_.resize(labels.value + 1, kUnknown);
    if (known_[labels.value] == kUnknown) known_[labels.value] = find_or_add(waited_for(profile_, labels));
    return known_[labels.value];
  }
  uint8_t find_or_add(std::string_view state) {
    if (state.empty()) return 0;
    const StringId name = tree_.strings.intern(state);
    const auto found = std::find(tree_.states.begin(), tree_.states.end(), name);
    const auto index = static_cast<uint8_t>(found - tree_.states.begin());
    if (index == kMaxStates) return 0;
    if (found == tree_.states.end()) tree_.states.push_back(name);
    return index + 1;
  }

  static constexpr uint8_t kUnknown = 0xff;
  const ProfileSnapshot& profile_;
  CallTree& tree_;
  std::vector<uint8_t> known_;  // by set of labels
};

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
  if (states) StateSums(profile, live.tree_).add_up(*leaf_of_sample, options.count_samples);
  link_children(live.tree_);
  return std::move(live.tree_);
}

}  // namespace cicada::profile
