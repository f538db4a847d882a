// SPDX-License-Identifier: Apache-2.0
#include "top/boxes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/seeded_hash.h"

namespace cicada::top {
namespace {

constexpr double kSmallest = 100'000;  // of all: a box is a part of a column that nobody sees
constexpr uint32_t kAhead = 16;      // items whose nodes are on their way from memory
constexpr double kOutgrown = 1.2;   // so much of what stood before it, and what `least` is

}  // namespace

Boxes::Boxes(const profile::CallTree& tree, const Costs& costs, const Costs* before, Towards towards, Order order)
    : tree_(tree), costs_(costs), before_(before), towards_(towards), order_(order), group_of_name_(tree.strings.size() + 1, kNone) {}

void Boxes::begin_with_root() { begin_with({0}); }

void Boxes::begin_with_all() {
  std::vector<uint32_t> nodes;
  double before = 0;
  for (uint32_t node = 0; node < tree_.nodes.size(); ++node) {
    const double then = before_ != nullptr ? before_->self[node] : 0;
    if (costs_.self[node] != 0 || then != 0) nodes.push_back(node);
    before += then;
  }
  std::vector<Item> items;
  items.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i + kAhead < nodes.size()) prefetch(nodes[i + kAhead]);
    items.push_back(item_of(nodes[i], costs_.self[nodes[i]], before_ != nullptr ? before_->self[nodes[i]] : 0));
  }
  boxes_.clear();
  items_.clear();
  children_.clear();
  boxes_.push_back({.box = {.total = costs_.whole(), .before = before}});
  add_boxes(0, std::move(items));
}

void Boxes::begin_with(const std::vector<uint32_t>& nodes) {
  boxes_.clear();
  items_.clear();
  children_.clear();
  Made first;
  for (const uint32_t node : nodes) {
    items_.push_back(item_of(node, costs_.total[node], before_ != nullptr ? before_->total[node] : 0));
    first.box.total += items_.back().value;
    first.box.before += items_.back().before;
    first.box.self += costs_.self[node];
  }
  first.items = static_cast<uint32_t>(nodes.size());
  first.box.node = nodes.empty() ? 0 : nodes[0];
  boxes_.push_back(first);
}

std::span<const uint32_t> Boxes::children(uint32_t box) {
  if (boxes_[box].first_child == kNone) make_children(box);
  const std::span all = std::span(children_).subspan(boxes_[box].first_child, boxes_[box].child_count);
  if (!std::exchange(boxes_[box].in_order, true)) sort(all);
  return all;
}

uint32_t Boxes::find(uint32_t box, std::string_view name) {
  for (const uint32_t child : children(box))
    if (this->name(child) == name) return child;
  return kNone;
}

void Boxes::make_children(uint32_t box) {
  std::vector<Item> found;
  if (towards_ == Towards::kCallers) found.reserve(boxes_[box].items);
  const auto begin = static_cast<ptrdiff_t>(boxes_[box].first_item), end = begin + static_cast<ptrdiff_t>(boxes_[box].items);
  for (ptrdiff_t i = begin; i < end; ++i) {
    const Item& item = items_[static_cast<size_t>(i)];
    if (towards_ == Towards::kCallers) {
      if (i + kAhead < end) prefetch(items_[static_cast<size_t>(i) + kAhead].parent);
      if (item.parent != 0) found.push_back(item_of(item.parent, item.value, item.before));
      continue;
    }
    for (uint32_t child = tree_.nodes[item.node].first_child; child != 0; child = tree_.nodes[child].next_sibling) {
      const double then = before_ != nullptr ? before_->total[child] : 0;
      if (costs_.total[child] != 0 || then != 0) found.push_back(item_of(child, costs_.total[child], then));
    }
  }
  add_boxes(box, std::move(found));
}

void Boxes::add_boxes(uint32_t parent, std::vector<Item> items) {
  // By name: how many of each, then where they go.
  const auto first = static_cast<uint32_t>(boxes_.size());
  for (const Item& item : items) {
    uint32_t& group = group_of_name_[item.name];
    if (group == kNone) {
      group = static_cast<uint32_t>(boxes_.size());
      boxes_.push_back({.box = {.parent = parent, .depth = boxes_[parent].box.depth + 1, .node = item.node}});
      boxes_.back().path = mix_hash(boxes_[parent].path, hash_text(name(group)));
    }
    Made& made = boxes_[group];
    ++made.items;
    made.box.total += item.value;
    made.box.before += item.before;
    if (towards_ == Towards::kCallees) made.box.self += costs_.self[item.node];
  }
  auto next = static_cast<uint32_t>(items_.size());
  for (size_t i = first; i < boxes_.size(); ++i) {
    boxes_[i].first_item = next;
    next += std::exchange(boxes_[i].items, 0);
  }
  items_.resize(next);
  for (const Item& item : items) {
    Made& made = boxes_[group_of_name_[item.name]];
    items_[made.first_item + made.items++] = item;
  }
  for (const Item& item : items) group_of_name_[item.name] = kNone;
  boxes_[parent].first_child = static_cast<uint32_t>(children_.size());
  boxes_[parent].child_count = static_cast<uint32_t>(boxes_.size()) - first;
  for (auto i = first; i < boxes_.size(); ++i) children_.push_back(i);
}

void Boxes::keep_order_of(Boxes& last, double least) {
  last_ranks_ = std::move(last.ranks_);
  least_ = least;
}

void Boxes::sort(std::span<uint32_t> siblings) {
  if (order_ == Order::kName) {
    std::sort(siblings.begin(), siblings.end(), [&](uint32_t a, uint32_t b) { return name(a) < name(b); });
    return;
  }
  // What nobody sees needs no order that stays.
  const double smallest = (costs_.whole() + (before_ != nullptr ? before_->whole() : 0)) / kSmallest;
  const auto end = std::partition(siblings.begin(), siblings.end(), [&](uint32_t box) { return size(box) >= smallest; });
  std::sort(end, siblings.end(), [&](uint32_t a, uint32_t b) { return boxes_[a].box.total > boxes_[b].box.total || (boxes_[a].box.total == boxes_[b].box.total && a < b); });
  const std::span<uint32_t> seen(siblings.begin(), end);
  sort_by_rough_sizes(seen);
  if (!last_ranks_.empty()) sort_as_before(seen);
  for (uint32_t i = 0; i < seen.size(); ++i) ranks_[boxes_[seen[i]].path] = i;
}

// Names decide about what is about as large.
void Boxes::sort_by_rough_sizes(std::span<uint32_t> siblings) const {
  std::vector<std::pair<long, uint32_t>> keys;
  for (const uint32_t box : siblings) keys.emplace_back(-std::lround(8 * std::log2(size(box))), box);
  std::sort(keys.begin(), keys.end(), [&](const auto& a, const auto& b) { return a.first != b.first ? a.first < b.first : name(a.second) < name(b.second); });
  for (size_t i = 0; i < keys.size(); ++i) siblings[i] = keys[i].second;
}

// In their last order, newcomers last; then each in turn goes before the first of those in front of it that it has outgrown. Afterwards none has outgrown any
// that stands before it: what it was put before has outgrown nobody there, or that one would have been put before it.
void Boxes::sort_as_before(std::span<uint32_t> siblings) const {
  std::vector<std::pair<uint32_t, uint32_t>> ranked;
  for (const uint32_t box : siblings) {
    const auto last = last_ranks_.find(boxes_[box].path);
    ranked.emplace_back(last == last_ranks_.end() ? kNone : last->second, box);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  double smallest = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < siblings.size(); ++i) {
    siblings[i] = ranked[i].second;
    const double now = size(siblings[i]);
    const auto is_outgrown = [&](double other) { return now > kOutgrown * other + least_; };
    if (is_outgrown(smallest)) {
      const auto here = siblings.begin() + static_cast<ptrdiff_t>(i);
      std::rotate(std::find_if(siblings.begin(), here, [&](uint32_t box) { return is_outgrown(size(box)); }), here, here + 1);
    }
    smallest = std::min(smallest, now);
  }
}

uint32_t Boxes::heaviest_child(uint32_t box) {
  uint32_t heaviest = kNone;
  for (const uint32_t child : children(box))
    if (heaviest == kNone || boxes_[child].box.total > boxes_[heaviest].box.total) heaviest = child;
  return heaviest;
}

uint32_t Boxes::find_next(uint32_t from, uint32_t box, bool forward, const std::function<bool(uint32_t)>& is_wanted) {
  std::vector<uint32_t> left{from};
  uint32_t first = kNone, last = kNone;
  bool passed = false;
  for (size_t looked_at = 0; !left.empty() && looked_at < kMostLookedAt; ++looked_at) {
    const uint32_t at = left.back();
    left.pop_back();
    if (at == box) {
      passed = true;
      if (!forward && last != kNone) return last;
    } else if (is_wanted(at)) {
      if (forward && passed) return at;
      if (first == kNone) first = at;
      last = at;
    }
    const auto below = children(at);
    left.insert(left.end(), below.rbegin(), below.rend());
  }
  if (forward ? first != kNone : last != kNone) return forward ? first : last;
  return boxes_.size() > box && is_wanted(box) ? box : kNone;
}

}  // namespace cicada::top
