// SPDX-License-Identifier: Apache-2.0
// Two steps, because a recording has far fewer stacks than samples: first the samples are added up by (group, stack), which
// touches no names; then each distinct stack is walked once into the tree. Stacks are a prefix tree already, so a walk
// stops at the first ancestor that the same group has placed before.
#include "profile/call_tree.h"

#include <algorithm>
#include <numeric>

#include "base/clean_text.h"
#include "profile/frame_text.h"
#include "profile/kernel_context.h"
#include "profile/stack_totals.h"

namespace cicada::profile {
namespace {

// One node that a frame becomes. A frame with inlined calls becomes several, outermost first.
struct ShownFrame {
  StringId name, image, file;
  uint32_t line = 0;
  NodeKind kind = NodeKind::kUnknown;
};

// The samples of one stack below one group node.
struct Entry {
  uint32_t group = 0;  // node
  StackId stack;
  uint32_t node = kNoNode;
};

class Builder {
 public:
  Builder(const ProfileSnapshot& profile, const CallTreeOptions& options)
      : profile_(profile), options_(options), contexts_(profile), shown_spans_(profile.frames().size()) {
    tree_.nodes.emplace_back();
  }

  CallTree build(std::vector<uint32_t>* leaf_of_sample) {
    add_up_samples(leaf_of_sample);
    place_entries();
    if (leaf_of_sample != nullptr)
      for (uint32_t& entry : *leaf_of_sample)
        if (entry != kNoNode) entry = entries_[entry].node;
    add_totals();
    link_children(tree_);
    return std::move(tree_);
  }

 private:
  struct Span {
    uint32_t begin = 0;
    uint32_t count = kNoNode;  // not expanded yet
  };

  void add_up_samples(std::vector<uint32_t>* leaf_of_sample) {
    const Samples& samples = profile_.samples();
    const bool grouped = !options_.group_by.empty();
    if (!grouped) {  // entry = stack + 1; the empty stack wraps to 0
      entries_.resize(profile_.stacks().size() + 1);
      for (size_t i = 1; i < entries_.size(); ++i) entries_[i].stack = StackId(i - 1);
      sums_.resize(entries_.size());
    }
    const EventId event = shown_event(profile_, options_);
    const bool ask = options_.filter || profile_.header.events.size() > 1;
    if (leaf_of_sample != nullptr) leaf_of_sample->assign(profile_.sample_count(), kNoNode);
    for (size_t i = 0; i < profile_.sample_count(); ++i) {
      if ((!options_.include_idle && is_idle(samples.state[i])) || (ask && !is_wanted(profile_, options_, event, i))) continue;
      const uint32_t entry = grouped ? grouped_entry(i) : samples.stack[i].value + 1;
      const uint64_t value = profile_.value(i);
      sums_[entry] += options_.count_samples ? 1 : value;
      if (leaf_of_sample == nullptr) continue;
      (*leaf_of_sample)[i] = entry;
      if (value == 0) worthless_.push_back(entry);
    }
    std::sort(worthless_.begin(), worthless_.end());
  }

  uint32_t grouped_entry(size_t i) {
    const uint32_t group = group_node(i);
    const StackId stack = profile_.samples().stack[i];
    return entry_index_.find_or_append(
        mix_hash(group, stack.value),
        [&](uint32_t entry) { return entries_[entry].group == group && entries_[entry].stack == stack; },
        [&] {
          entries_.push_back({.group = group, .stack = stack});
          sums_.push_back(0);
          return static_cast<uint32_t>(entries_.size() - 1);
        });
  }

  // What decides about a sample's groups: thread, cpu, and the stack if images are asked for. Formatting the names of the
  // groups for each sample would cost more than everything else.
  uint32_t group_node(size_t i) {
    Sample sample = profile_.sample(i);
    GroupKey key;
    for (const GroupBy by : options_.group_by) {
      if (by == GroupBy::kCpu) key.cpu = sample.cpu;
      else if (by == GroupBy::kImage) key.stack = sample.stack;
      else key.thread = sample.thread;
    }
    const uint32_t id = group_index_.find_or_append(
        mix_hash(uint64_t{key.thread.value} << 32 | key.stack.value, key.cpu),
        [&](uint32_t stored) { return groups_[stored].first == key; },
        [&] {
          uint32_t node = 0;
          for (const GroupBy by : options_.group_by) {
            ShownFrame shown;
            std::string text = group_text(profile_, by, sample);
            if (!options_.group_numbers && (by == GroupBy::kProcess || by == GroupBy::kThread)) text.resize(text.rfind(" ("));
            shown.name = intern(text);
            shown.kind = NodeKind::kGroup;
            node = child(node, shown);
          }
          groups_.emplace_back(key, node);
          return static_cast<uint32_t>(groups_.size() - 1);
        });
    return groups_[id].second;
  }

  void place_entries() {
    std::vector<uint32_t> order(entries_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return entries_[a].group < entries_[b].group; });
    std::vector<uint32_t> node_of_stack(profile_.stacks().size(), kNoNode), group_of_stack(node_of_stack);
    std::vector<StackId> path;
    for (const uint32_t index : order) {
      Entry& entry = entries_[index];
      if (sums_[index] == 0 && !std::binary_search(worthless_.begin(), worthless_.end(), index)) continue;
      path.clear();
      uint32_t node = entry.group;
      const auto context = contexts_.find(entry.stack);
      bool marked = context.has_value();  // what lies above a marker is this stack's own: others go there without one
      for (StackId stack = entry.stack; stack.valid(); stack = profile_.stacks()[stack.value].parent) {
        if (!marked && group_of_stack[stack.value] == entry.group) {
          node = node_of_stack[stack.value];
          break;
        }
        path.push_back(stack);
        if (marked && stack == context->entry) marked = false;
      }
      marked = false;
      for (size_t i = path.size(); i-- > 0;) {
        if (context && path[i] == context->entry) {
          marked = true;
          node = child(node, {.name = intern(context->text), .image = {}, .file = {}, .kind = NodeKind::kMarker});
        }
        for (const ShownFrame& shown : shown_frames(profile_.stacks()[path[i].value].frame)) node = child(node, shown);
        if (marked) continue;
        node_of_stack[path[i].value] = node;
        group_of_stack[path[i].value] = entry.group;
      }
      entry.node = node;
      tree_.nodes[node].self += sums_[index];
    }
  }

  uint32_t child(uint32_t parent, const ShownFrame& shown) {
    return child_index_.find_or_append(
        mix_hash(parent, shown.name.value),
        [&](uint32_t at) { return tree_.nodes[at].parent == parent && tree_.nodes[at].name == shown.name && at != 0; },
        [&] {
          CallNode node;
          node.parent = parent;
          node.name = shown.name;
          node.image = shown.image;
          node.file = shown.file;
          node.line = shown.line;
          node.kind = shown.kind;
          tree_.nodes.push_back(node);
          return static_cast<uint32_t>(tree_.nodes.size() - 1);
        });
  }

  std::span<const ShownFrame> shown_frames(FrameId frame) {
    Span& span = shown_spans_[frame.value];
    if (span.count == kNoNode) {
      span.begin = static_cast<uint32_t>(shown_.size());
      expand(frame);
      span.count = static_cast<uint32_t>(shown_.size()) - span.begin;
    }
    return std::span(shown_).subspan(span.begin, span.count);
  }

  void expand(FrameId frame) {
    if (!options_.kernel_frames && node_kind(profile_, frame, 0) == NodeKind::kKernel) return;
    const auto locations = profile_.locations(frame);
    for (size_t which = std::max<size_t>(locations.size(), 1); which-- > 0;) {
      ShownFrame shown;
      shown.name = intern(frame_name(profile_, frame, which));
      shown.kind = node_kind(profile_, frame, which);
      const ImageId image = image_of(profile_, frame, which);
      if (image.valid()) shown.image = intern(profile_.text(profile_.images()[image.value].path));
      if (which < locations.size()) {
        shown.file = intern(profile_.text(locations[which].file));
        shown.line = locations[which].line;
      }
      shown_.push_back(shown);
      if (!options_.expand_inlined) break;  // the outermost is the function that has the code
    }
  }

  // Everything that leaves through the tree is UTF-8.
  StringId intern(std::string_view text) { return tree_.strings.intern(clean_text(text, clean_)); }

  void add_totals() {
    for (size_t i = tree_.nodes.size(); i-- > 0;) {
      CallNode& node = tree_.nodes[i];
      node.total += node.self;
      if (i != 0) tree_.nodes[node.parent].total += node.total;
    }
  }

  struct GroupKey {
    ThreadId thread;
    StackId stack;
    uint32_t cpu = 0;
    bool operator==(const GroupKey&) const = default;
  };

  const ProfileSnapshot& profile_;
  const CallTreeOptions& options_;
  KernelContexts contexts_;
  CallTree tree_;
  std::vector<Entry> entries_;
  std::vector<uint64_t> sums_;  // by entry; apart, because each sample touches one at random: 8 bytes, not 24
  std::vector<uint32_t> worthless_;  // entries of samples without a value: they have a leaf all the same
  std::vector<std::pair<GroupKey, uint32_t>> groups_;
  std::vector<ShownFrame> shown_;
  std::vector<Span> shown_spans_;  // by frame
  ContentIndex entry_index_, group_index_, child_index_;
  std::string clean_;
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
  return Builder(profile, options).build(leaf_of_sample);
}

}  // namespace cicada::profile
