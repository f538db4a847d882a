// SPDX-License-Identifier: Apache-2.0
// Two steps, because a recording has far fewer stacks than samples: first the samples are added up by (group, stack), which
// touches no names; then each distinct stack is walked once into the tree. Stacks are a prefix tree already, so a walk
// stops at the first ancestor that the same group has placed before.
#include "profile/live_tree.h"

#include <algorithm>

#include "profile/completeness.h"
#include "profile/frame_text.h"
#include "profile/stack_totals.h"

namespace cicada::profile {
namespace {

// Walking up from a node costs about as much as passing over so many nodes in their order.
constexpr size_t kNodesPerWalk = 32;
constexpr size_t kFewEmptyNodes = 1024;

}  // namespace

void LiveTree::clear() {
  tree_ = {};
  tree_.nodes.emplace_back();
  functions_ = {};
  contexts_ = {};
  frames_ = {};
  groups_ = {Group{}};
  entries_.clear();
  entry_of_stack_.clear();
  pending_.clear();
  placed_.clear();
  ++anew_;
  touched_.clear();
  node_of_stack_.clear();
  group_of_stack_.clear();
  delta_.clear();
  ages_.clear();
  linked_ = 1;
  empty_nodes_ = 1;
  empty_at_first_ = 0;
  group_index_ = entry_index_ = {};
  children_ = {};
}

// What has no samples any more is most of it. Samples without a value are in none.
bool LiveTree::is_worn() const { return empty_nodes_ > kFewEmptyNodes + 2 * empty_at_first_ && empty_nodes_ > tree_.nodes.size() / 2; }

void LiveTree::update(const ProfileSnapshot& now, std::vector<uint32_t>* new_leaves) {
  with_functions_ = true;
  with_leaves_ = new_leaves != nullptr;
  changed_nodes_.clear();
  const SnapshotSizes before = last_.sizes();
  const bool anew = before.lineage != now.sizes().lineage || shown_event(now, options_) != event_ || is_worn();
  if (anew) {
    clear();
    add_all(now, new_leaves);
  } else {
    ages_.push_back({before.frames, before.stacks, entries_.size()});
    const uint64_t gone = std::min(now.samples().dropped(), before.samples), first = last_.samples().dropped();
    add_rows(last_, 0, static_cast<size_t>(gone - std::min(gone, first)), true, nullptr);
    const uint64_t kept = now.samples().dropped();
    add_rows(now, static_cast<size_t>(std::max(before.samples, kept) - kept), now.sample_count(), false, new_leaves);
    release_renamed(now, before);
    place_touched(now);
  }
  add_totals();
  if (anew) empty_at_first_ = empty_nodes_;
  for (; linked_ < tree_.nodes.size(); ++linked_) {
    CallNode& node = tree_.nodes[linked_];
    node.next_sibling = tree_.nodes[node.parent].first_child;
    tree_.nodes[node.parent].first_child = static_cast<uint32_t>(linked_);
  }
  last_ = now;
}

void LiveTree::add_all(const ProfileSnapshot& now, std::vector<uint32_t>* leaf_of_sample) {
  event_ = shown_event(now, options_);
  if (options_.group_by.empty() && !options_.filter && !options_.include_idle && leaf_of_sample == nullptr) {
    add_sums(now);
  } else {
    add_rows(now, 0, now.sample_count(), false, leaf_of_sample);
  }
  place_touched(now);
}

void LiveTree::add_stacks(const ProfileSnapshot& profile) {
  for (size_t i = entry_of_stack_.size(); i <= profile.stacks().size(); ++i) {
    entry_of_stack_.push_back(static_cast<uint32_t>(entries_.size()));
    entries_.push_back({.stack = i == 0 ? StackId() : StackId(i - 1)});
  }
  pending_.resize(entries_.size());
}

// Sums do not tell stacks that are not whole: those samples go from their stack's entry to one of their own.
void LiveTree::add_sums(const ProfileSnapshot& now) {
  add_stacks(now);
  const StackSums& sums = now.sums_of(event_);
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].samples == 0) continue;
    pending_[entry_of_stack_[i]] = options_.count_samples ? sums[i].samples : sums[i].value;
    touched_.push_back(entry_of_stack_[i]);
  }
  const auto& reasons = now.totals_of(event_).end_reasons;
  bool any = false;
  for (size_t i = 0; i < reasons.size(); ++i) any |= reasons[i] != 0 && !cut_text(static_cast<uint8_t>(i)).empty();
  if (!any) return;
  std::vector<uint64_t> moved(entry_of_stack_.size());
  const Samples& samples = now.samples();
  for (size_t i = 0; i < samples.size(); ++i) {
    if (cut_text(end_reason_of(samples.state[i])).empty() || is_idle(samples.state[i]) || samples.event[i] != event_) continue;
    const uint32_t entry = entry_of(now, i);
    const uint64_t value = options_.count_samples ? 1 : now.value(i);
    pending_[entry_of_stack_[samples.stack[i].value + 1]] -= value;
    ++moved[samples.stack[i].value + 1];
    if (pending_[entry] == 0) touched_.push_back(entry);
    pending_[entry] += value;
  }
  // Here an entry is its stack's number + 1 still.
  std::erase_if(touched_, [&](uint32_t entry) { return entry < moved.size() && moved[entry] != 0 && moved[entry] == sums[entry].samples; });
}

void LiveTree::add_rows(const ProfileSnapshot& from, size_t begin, size_t end, bool remove, std::vector<uint32_t>* leaf_of_sample) {
  const Samples& samples = from.samples();
  const bool grouped = !options_.group_by.empty(), ask = options_.filter || from.header.events.size() > 1;
  if (!grouped) add_stacks(from);
  if (leaf_of_sample != nullptr) leaf_of_sample->assign(end - begin, kNoNode);
  for (size_t i = begin; i < end; ++i) {
    if ((!options_.include_idle && is_idle(samples.state[i])) || (ask && !is_wanted(from, options_, event_, i))) continue;
    const bool own = grouped || !cut_text(end_reason_of(samples.state[i])).empty();
    const uint32_t entry = own ? entry_of(from, i) : entry_of_stack_[samples.stack[i].value + 1];  // the empty stack wraps to 0
    const uint64_t value = options_.count_samples ? 1 : from.value(i);
    if (pending_[entry] == 0) touched_.push_back(entry);
    pending_[entry] += remove ? -value : value;
    if (leaf_of_sample != nullptr) (*leaf_of_sample)[i - begin] = entry;
  }
}

uint32_t LiveTree::entry_of(const ProfileSnapshot& profile, size_t row) {
  const uint32_t group = group_of(profile, row);
  const StackId stack = profile.samples().stack[row];
  return entry_index_.find_or_append(
      mix_hash(group, stack.value), [&](uint32_t entry) { return entries_[entry].group == group && entries_[entry].stack == stack; },
      [&] {
        entries_.push_back({.group = group, .stack = stack});
        pending_.push_back(0);
        return static_cast<uint32_t>(entries_.size() - 1);
      });
}

uint32_t LiveTree::group_of(const ProfileSnapshot& profile, size_t row) {
  Group group{.key = {}, .thread = profile.samples().thread[row]};
  for (const GroupBy by : options_.group_by) {
    switch (by) {
      case GroupBy::kCpu: group.key.cpu = profile.samples().cpu[row]; break;
      case GroupBy::kImage: group.key.stack = profile.samples().stack[row]; break;
      case GroupBy::kThread: group.key.thread = group.thread; break;
      case GroupBy::kUser:
      case GroupBy::kGroup:
      case GroupBy::kState: group.key.labels = profile.samples().labels[row]; break;
      default: group.key.process = profile.threads()[group.thread.value].process;
    }
  }
  const uint8_t end_reason = end_reason_of(profile.samples().state[row]);
  if (!cut_text(end_reason).empty()) group.key.end_reason = end_reason;
  const GroupKey& key = group.key;
  return group_index_.find_or_append(
      mix_hash(mix_hash(uint64_t{key.thread.value} << 32 | key.process.value, uint64_t{key.labels.value} << 32 | key.stack.value), key.cpu << 8 | key.end_reason),
      [&](uint32_t stored) { return groups_[stored].key == key; },
      [&] {
        group.node = group_node(profile, group);
        groups_.push_back(group);
        return static_cast<uint32_t>(groups_.size() - 1);
      });
}

uint32_t LiveTree::group_node(const ProfileSnapshot& profile, const Group& group) {
  Sample sample;
  sample.thread = group.thread;
  sample.stack = group.key.stack;
  sample.cpu = static_cast<uint16_t>(group.key.cpu);
  sample.labels = group.key.labels;
  sample.event = event_;
  uint32_t node = 0;
  for (const GroupBy by : options_.group_by) {
    std::string text = group_text(profile, by, sample);
    if (!options_.group_numbers && (by == GroupBy::kProcess || by == GroupBy::kThread)) text.resize(text.rfind(" ("));
    node = child(node, {.name = frames_.intern(text, tree_.strings), .image = {}, .file = {}, .kind = NodeKind::kGroup});
  }
  const std::string_view cut = cut_text(group.key.end_reason);
  if (!cut.empty()) node = child(node, {.name = frames_.intern(cut, tree_.strings), .image = {}, .file = {}, .kind = NodeKind::kMarker});
  return node;
}

// Takes an entry's value from its node; it is placed again with what is pending.
void LiveTree::release(uint32_t index) {
  Entry& entry = entries_[index];
  if (entry.node == kNoNode) return;
  tree_.nodes[entry.node].self -= entry.value;
  functions_.add(tree_, entry.node, -entry.value, 0);
  delta_[entry.node] -= entry.value;
  changed_nodes_.push_back(entry.node);
  pending_[index] += std::exchange(entry.value, 0);
  entry.node = kNoNode;
  touched_.push_back(index);
}

// The latest that the frame is not part of.
LiveTree::Age LiveTree::age_of(size_t frame) const {
  const auto later = std::partition_point(ages_.begin(), ages_.end(), [&](const Age& age) { return age.frames <= frame; });
  return later == ages_.begin() ? Age() : *std::prev(later);
}

void LiveTree::release_renamed(const ProfileSnapshot& now, const SnapshotSizes& before) {
  std::vector<bool> frames(now.frames().size()), stacks;
  size_t first = frames.size();
  for (size_t i = before.renamed_frames; i < now.renamed_frames().size(); ++i) {
    const FrameId frame = now.renamed_frames()[i];
    if (!frames_.rename(now, options_, frame, tree_.strings)) continue;
    frames[frame.value] = true;
    first = std::min<size_t>(first, frame.value);
  }
  if (first != frames.size()) {
    const Age age = age_of(first);
    stacks.resize(before.stacks);
    for (size_t i = age.stacks; i < stacks.size(); ++i) {
      const Stack& stack = now.stacks()[i];
      stacks[i] = frames[stack.frame.value] || (stack.parent.valid() && stacks[stack.parent.value]);
      if (stacks[i] && i < group_of_stack_.size()) group_of_stack_[i] = kNoGroup;
    }
    for (auto i = static_cast<uint32_t>(age.entries); i < entries_.size(); ++i) {
      const StackId stack = entries_[i].stack;
      if (stack.valid() && stack.value < stacks.size() && stacks[stack.value]) release(i);
    }
  }
  if (!options_.group_by.empty()) release_regrouped(now, before, stacks);
}

void LiveTree::release_regrouped(const ProfileSnapshot& now, const SnapshotSizes& before, const std::vector<bool>& stack_renamed) {
  std::vector<bool> processes(now.processes().size()), threads(now.threads().size()), groups(groups_.size());
  for (size_t i = before.described_processes; i < now.described_processes().size(); ++i) processes[now.described_processes()[i].value] = true;
  for (size_t i = before.described_threads; i < now.described_threads().size(); ++i) threads[now.described_threads()[i].value] = true;
  bool any = false;
  for (size_t i = 1; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    const StackId stack = group.key.stack;
    if (!threads[group.thread.value] && !processes[now.threads()[group.thread.value].process.value] &&
        !(stack.valid() && stack.value < stack_renamed.size() && stack_renamed[stack.value])) {
      continue;
    }
    const uint32_t node = group_node(now, group);
    if (node == group.node) continue;
    group.node = node;
    any = groups[i] = true;
  }
  if (!any) return;
  for (uint32_t& group : group_of_stack_)
    if (group != kNoGroup && groups[group]) group = kNoGroup;
  for (uint32_t i = 0; i < entries_.size(); ++i)
    if (groups[entries_[i].group]) release(i);
}

void LiveTree::place_touched(const ProfileSnapshot& now) {
  contexts_.update(now);
  node_of_stack_.resize(now.stacks().size(), kNoNode);
  group_of_stack_.resize(now.stacks().size(), kNoGroup);
  std::sort(touched_.begin(), touched_.end(), [&](uint32_t a, uint32_t b) {
    return entries_[a].group != entries_[b].group ? entries_[a].group < entries_[b].group : a < b;
  });
  for (const uint32_t index : touched_) {
    Entry& entry = entries_[index];
    if (entry.node == kNoNode) {
      entry.node = place(now, entry);
      if (with_leaves_) placed_.push_back(index);
    }
    delta_.resize(tree_.nodes.size());
    const uint64_t more = std::exchange(pending_[index], 0);
    entry.value += more;
    tree_.nodes[entry.node].self += more;
    if (with_functions_) functions_.add(tree_, entry.node, more, 0);
    delta_[entry.node] += more;
    changed_nodes_.push_back(entry.node);
  }
  touched_.clear();
}

uint32_t LiveTree::place(const ProfileSnapshot& now, const Entry& entry) {
  path_.clear();
  uint32_t node = groups_[entry.group].node;
  const auto context = contexts_.find(entry.stack);
  bool marked = context.has_value();  // what lies above a marker is this stack's own: others go there without one
  for (StackId stack = entry.stack; stack.valid(); stack = now.stacks()[stack.value].parent) {
    if (!marked && group_of_stack_[stack.value] == entry.group) {
      node = node_of_stack_[stack.value];
      break;
    }
    path_.push_back(stack);
    if (marked && stack == context->entry) marked = false;
  }
  marked = false;
  for (size_t i = path_.size(); i-- > 0;) {
    if (context && path_[i] == context->entry) {
      marked = true;
      node = child(node, {.name = frames_.intern(context->text, tree_.strings), .image = {}, .file = {}, .kind = NodeKind::kMarker});
    }
    const FrameId frame = now.stacks()[path_[i].value].frame;
    for (const ShownFrame& shown : frames_.find_or_add(now, options_, frame, tree_.strings)) node = child(node, shown);
    if (marked) continue;
    node_of_stack_[path_[i].value] = node;
    group_of_stack_[path_[i].value] = entry.group;
  }
  return node;
}

CallNode LiveTree::node_with_place(uint32_t number) const {
  CallNode node = tree_.nodes[number];
  const ShownFrame* shown = node.file.valid() ? nullptr : frames_.find_place(node.name, node.image);
  if (shown != nullptr) node.file = shown->file;
  if (shown != nullptr) node.line = shown->line;
  return node;
}

uint32_t LiveTree::child(uint32_t parent, const ShownFrame& shown) {
  return children_.find_or_append(tree_, parent, shown.name, [&](CallNode& node) {
    node.image = shown.image;
    node.file = shown.file;
    node.line = shown.line;
    node.kind = shown.kind;
    ++empty_nodes_;
  });
}

void LiveTree::add_totals() {
  delta_.resize(tree_.nodes.size());
  const auto add = [&](uint32_t at, uint64_t more) {
    if (more == 0) return;
    uint64_t& total = tree_.nodes[at].total;
    if (total == 0) --empty_nodes_;
    if ((total += more) == 0) ++empty_nodes_;
    if (with_functions_) functions_.add(tree_, at, 0, more);
    changed_nodes_.push_back(at);
  };
  const size_t direct = changed_nodes_.size();
  if (direct * kNodesPerWalk > tree_.nodes.size()) {
    for (size_t i = tree_.nodes.size(); i-- > 0;) {  // a parent stands before its children
      const uint64_t more = std::exchange(delta_[i], 0);
      add(static_cast<uint32_t>(i), more);
      if (i != 0) delta_[tree_.nodes[i].parent] += more;
    }
  } else {
    for (size_t i = 0; i < direct; ++i) {
      const uint64_t more = std::exchange(delta_[changed_nodes_[i]], 0);
      for (uint32_t at = changed_nodes_[i]; more != 0; at = tree_.nodes[at].parent) {
        add(at, more);
        if (at == 0) break;
      }
    }
  }
}

}  // namespace cicada::profile
