// SPDX-License-Identifier: Apache-2.0
#include "top/model.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "profile/stack_totals.h"

namespace cicada::top {

using profile::CallNode;
using profile::ProfileSnapshot;
using profile::ThreadId;

namespace {

constexpr double kNsPerSecond = 1e9;
constexpr uint64_t kStepsOfHalfLife = 1024;

// Totals of all nodes from what each has itself: a parent stands before its children.
void add_totals(const profile::CallTree& tree, Costs& costs) {
  costs.total = costs.self;
  for (size_t i = tree.nodes.size(); i-- > 1;) costs.total[tree.nodes[i].parent] += costs.total[i];
}

std::unique_ptr<profile::LiveTree> empty_tree(const Shape& shape) {
  return std::make_unique<profile::LiveTree>(profile::CallTreeOptions{.kernel_frames = shape.kernel, .group_by = shape.group_by, .event = shape.event});
}

}  // namespace

ShapedTree make_tree(Shape shape, const ProfileSnapshot& profile) {
  ShapedTree made{.shape = std::move(shape), .live = nullptr, .leaves = {}};
  made.live = empty_tree(made.shape);
  made.live->update(profile, &made.leaves);
  return made;
}

Model::Model() : now_(std::make_shared<const ProfileSnapshot>()) { begin_tree(); }

void Model::begin_tree() { use(empty_tree(shape_), {}); }

void Model::use(std::unique_ptr<profile::LiveTree> tree, std::vector<uint32_t> leaves) {
  if (live_) trees_ += live_->anew() + 1;
  live_ = std::move(tree);
  leaves_ = std::move(leaves);
  forgotten_ = 0;
  begin_names();
  update(now_);
}

// Numbers of names and nodes mean other things from now on.
void Model::begin_names() {
  anew_ = tree_number();
  kept_names_.clear();
  states_ = {};
}

void Model::update(std::shared_ptr<const ProfileSnapshot> now) {
  event_chosen_ = event_chosen_ && shape_.event.value < now->header.events.size();  // of another recording
  if (!event_chosen_) {
    if (const profile::EventId event = profile::main_event(*now); event != shape_.event) {
      shape_.event = event;
      now_ = std::move(now);
      return begin_tree();
    }
  }
  now_ = std::move(now);
  live_->update(*now_, &new_leaves_);
  has_times_ = profile::has_times(*now_);
  if (now_->header.start_monotonic_ns == 0 && now_->sample_count() != 0) first_ns_ = *std::min_element(now_->samples().time_ns.begin(), now_->samples().time_ns.end());
  if (tree_number() != anew_) {
    begin_names();
    leaves_ = new_leaves_;
    forgotten_ = 0;
  } else {
    leaves_.insert(leaves_.end(), new_leaves_.begin(), new_leaves_.end());
    forgotten_ = leaves_.size() - now_->sample_count();
    if (forgotten_ > leaves_.size() / 4) {
      leaves_.erase(leaves_.begin(), leaves_.begin() + static_cast<ptrdiff_t>(forgotten_));
      forgotten_ = 0;
    }
  }
  weigh();
}

Result<void> Model::choose(Choice choice) {
  if (choice.keep != choice_.keep) {
    std::optional<Pattern> pattern;
    if (!choice.keep.empty()) pattern = TRY(Pattern::compile(choice.keep));
    pattern_ = std::move(pattern);
    kept_names_.clear();
  }
  choice_ = std::move(choice);
  weigh();
  return {};
}

void Model::take_tree(ShapedTree tree) {
  if (tree.shape.event != shape_.event && tree.shape.event.value >= now_->header.events.size()) return;
  event_chosen_ = event_chosen_ || tree.shape.event != shape_.event;
  shape_ = std::move(tree.shape);
  use(std::move(tree.live), std::move(tree.leaves));
}

uint64_t Model::begin_ns() const {
  const profile::Samples& samples = now_->samples();
  const uint64_t start = now_->header.start_monotonic_ns;
  if (samples.size() == 0) return start;
  if (start == 0) return first_ns_;
  return samples.dropped() == 0 ? start : std::min(std::max(start, samples.time_ns[0]), end_ns());
}

uint64_t Model::end_ns() const {
  const uint64_t start = now_->header.start_monotonic_ns;
  return (start != 0 ? start : begin_ns()) + now_->header.duration_ns;
}

double Model::counted_seconds() const {
  const uint64_t begin = begin_ns(), end = end_ns();
  const auto seconds = [&](uint64_t from, uint64_t to) {
    from = std::max(from, begin);
    to = std::min(to, end);
    return from < to ? static_cast<double>(to - from) / kNsPerSecond : 0;
  };
  const double all = all_seconds(), stretch = choice_.seconds;
  if (choice_.span_ns) return seconds(choice_.span_ns->first, choice_.span_ns->second);
  if (choice_.mark_ns) return seconds(*choice_.mark_ns, end);
  if (choice_.mode == Mode::kWindow) return std::min(all, stretch);
  if (choice_.mode == Mode::kDecay) return stretch / M_LN2 * (1 - std::exp2(-all / stretch));
  return all;
}

bool Model::keeps(uint32_t name) {
  if (kept_names_.size() <= name) kept_names_.resize(tree().strings.size(), -1);
  int8_t& kept = kept_names_[name];
  if (kept < 0) kept = pattern_->matches(tree().strings.text(profile::StringId(name))) ? 1 : 0;
  return kept == 1;
}

template <typename Add>
void Model::for_each_counted(Add add) const {
  const profile::Samples& samples = now_->samples();
  std::vector<bool> wanted;  // by thread; empty: all
  if (!choice_.is_of_everybody()) {
    wanted.resize(now_->threads().size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      const profile::Thread& thread = now_->threads()[i];
      const profile::Process& process = now_->processes()[thread.process.value];
      wanted[i] = (!choice_.tid || thread.tid == *choice_.tid) && (!choice_.process || *choice_.process == WhichProcess{process.pid, process.start_ns}) && (!choice_.cgroup || now_->text(process.cgroup) == *choice_.cgroup);
    }
  }
  const uint64_t end = end_ns(), stretch_ns = choice_.seconds * uint64_t{1'000'000'000}, mark = choice_.mark_ns.value_or(0);
  uint64_t from = 0, to = ~uint64_t{0};
  if (choice_.span_ns) std::tie(from, to) = *choice_.span_ns;
  else if (choice_.mode == Mode::kWindow) from = end - std::min(end, stretch_ns);
  const bool decays = choice_.mode == Mode::kDecay && !choice_.span_ns;
  // The weight changes in steps that nobody sees: rows stand about in order, so that most have that of the one before.
  const uint64_t step = stretch_ns / kStepsOfHalfLife;
  uint64_t steps = ~uint64_t{0};
  double weight = 1;
  const uint32_t* leaf = leaves_.data() + forgotten_;
  for (size_t i = 0; i < samples.size(); ++i, ++leaf) {
    if (*leaf == profile::kNoNode) continue;
    const uint64_t time = samples.time_ns[i];
    if (time < from || time >= to) continue;
    const ThreadId thread = samples.thread[i];
    if (!wanted.empty() && (!thread.valid() || !wanted[thread.value])) continue;
    if (!is_kept(live_->node_of_leaf(*leaf))) continue;
    double cost = static_cast<double>(now_->value(i));
    if (decays) {
      if (const uint64_t now = (end - std::min(time, end)) / step; now != steps) weight = std::exp2(-static_cast<double>(steps = now) / kStepsOfHalfLife);
      cost *= weight;
    }
    add(i, *leaf, cost, time < mark);
  }
}

void Model::add_states() {
  state_of_node_.clear();
  if (now_->event(shape_.event).spent == profile::Spent::kRunning) return;
  for_each_counted([&](size_t row, uint32_t, double, bool) { static_cast<void>(states_.of(*now_, now_->samples().labels[row])); });
  const size_t count = states_.names().size();
  std::vector<double> costs(tree().nodes.size() * count);
  for_each_counted([&](size_t row, uint32_t leaf, double cost, bool before) {
    if (const uint8_t state = states_.of(*now_, now_->samples().labels[row]); state != 0 && !before) costs[live_->node_of_leaf(leaf) * count + state - 1U] += cost;
  });
  state_of_node_ = profile::largest_states(tree(), count, std::move(costs));
}

void Model::weigh() {
  weigh_nodes();
  add_states();
}

// The tree's own. Only those that have changed, where there are some already.
void Model::copy_sums() {
  const profile::CallTree& tree = this->tree();
  costs_.self.resize(tree.nodes.size());
  costs_.total.resize(tree.nodes.size());
  before_.self.clear();
  const auto copy = [&](size_t i) {
    costs_.self[i] = static_cast<double>(tree.nodes[i].self);
    costs_.total[i] = static_cast<double>(tree.nodes[i].total);
  };
  if (sums_of_ == tree_number()) {
    for (const uint32_t i : live_->changed_nodes()) copy(i);
  } else {
    for (size_t i = 0; i < tree.nodes.size(); ++i) copy(i);
  }
  sums_of_ = tree_number();
}

void Model::weigh_nodes() {
  const profile::CallTree& tree = this->tree();
  const size_t nodes = tree.nodes.size();
  kept_nodes_.clear();
  if (choice_.is_all()) return copy_sums();
  sums_of_.reset();
  costs_.self.assign(nodes, 0);
  before_.self.assign(choice_.mark_ns ? nodes : 0, 0);
  if (!choice_.keep.empty()) {  // it, or one above it, is called so
    kept_nodes_.resize(nodes);
    for (size_t i = 1; i < nodes; ++i) kept_nodes_[i] = kept_nodes_[tree.nodes[i].parent] || (tree.nodes[i].name.valid() && keeps(tree.nodes[i].name.value));
  }
  cost_of_leaf_.assign(live_->leaf_count(), 0);
  before_of_leaf_.assign(choice_.mark_ns ? live_->leaf_count() : 0, 0);
  for_each_counted([&](size_t, uint32_t leaf, double cost, bool before) { (before ? before_of_leaf_ : cost_of_leaf_)[leaf] += cost; });
  for (uint32_t i = 0; i < cost_of_leaf_.size(); ++i)
    if (cost_of_leaf_[i] != 0) costs_.self[live_->node_of_leaf(i)] += cost_of_leaf_[i];
  add_totals(tree, costs_);
  for (uint32_t i = 0; i < before_of_leaf_.size(); ++i)
    if (before_of_leaf_[i] != 0) before_.self[live_->node_of_leaf(i)] += before_of_leaf_[i];
  if (choice_.mark_ns) add_totals(tree, before_);
}

std::vector<uint32_t> Model::outermost_nodes(profile::StringId name) const {
  std::vector<uint32_t> found;
  std::vector<bool> inside(tree().nodes.size());  // it, or one above it, is the function
  for (uint32_t i = 1; i < tree().nodes.size(); ++i) {
    const CallNode& node = tree().nodes[i];
    const bool is = node.name == name;
    if (is && !inside[node.parent]) found.push_back(i);
    inside[i] = is || inside[node.parent];
  }
  return found;
}

// The tree's own: nodes need not be looked at, of which there may be a million.
std::vector<FunctionLine> Model::lines_of_sums() const {
  const profile::FunctionTable& table = live_->functions();
  std::vector<FunctionLine> lines;
  for (size_t row = 0; row < table.rows().size(); ++row) lines.push_back({table.heaviest_node(row), static_cast<double>(table.rows()[row].self), static_cast<double>(table.rows()[row].total), 0});
  return lines;
}

std::vector<FunctionLine> Model::lines_of_nodes() const {
  const profile::FunctionTable& table = live_->functions();
  std::vector<FunctionLine> lines(table.rows().size());
  for (uint32_t i = 1; i < tree().nodes.size(); ++i) {
    const uint32_t row = table.row_of(i);
    if (row == profile::kNoNode) continue;
    if (lines[row].node == 0 || costs_.total[i] > costs_.total[lines[row].node]) lines[row].node = i;
    lines[row].self += costs_.self[i];
    if (!table.is_outermost(i)) continue;
    lines[row].total += costs_.total[i];
    if (choice_.mark_ns) lines[row].before += before_.total[i];
  }
  return lines;
}

std::vector<FunctionLine> Model::functions(bool by_total) const {
  std::vector<FunctionLine> lines = sums_of_ == tree_number() ? lines_of_sums() : lines_of_nodes();
  std::erase_if(lines, [](const FunctionLine& line) { return line.total <= 0 && line.before <= 0; });
  std::sort(lines.begin(), lines.end(), [&](const FunctionLine& a, const FunctionLine& b) {
    const auto left = by_total ? std::pair(a.total, a.self) : std::pair(a.self, a.total), right = by_total ? std::pair(b.total, b.self) : std::pair(b.self, b.total);
    return left != right ? left > right : a.node < b.node;
  });
  return lines;
}

std::vector<ThreadLine> Model::threads() const {
  const profile::Samples& samples = now_->samples();
  std::vector<ThreadLine> lines(now_->threads().size());
  for (uint32_t i = 0; i < lines.size(); ++i) lines[i] = {.process = now_->threads()[i].process, .thread = ThreadId(i)};
  for_each_counted([&](size_t row, uint32_t, double cost, bool before) {
    if (const ThreadId thread = samples.thread[row]; thread.valid() && !before) lines[thread.value].cost += cost;
  });
  // From the newest on; some come late.
  constexpr uint64_t kLate = 5'000'000'000, kSpark = kSparkSeconds * uint64_t{1'000'000'000};
  const uint64_t end = end_ns();
  for (size_t i = has_times_ ? samples.size() : 0; i-- > 0;) {
    const uint64_t age = end - std::min(end, samples.time_ns[i]);
    if (age > kSpark + kLate) break;
    if (age >= kSpark || leaves_[forgotten_ + i] == profile::kNoNode || !samples.thread[i].valid()) continue;
    ThreadLine& line = lines[samples.thread[i].value];
    line.seconds.resize(kSparkSeconds);
    const auto cost = static_cast<double>(now_->value(i));
    line.seconds[kSparkSeconds - 1 - age / 1'000'000'000] += cost;
    if (age < kRecentSeconds * uint64_t{1'000'000'000}) line.recent += cost;
  }
  std::erase_if(lines, [](const ThreadLine& line) { return line.cost == 0 && line.seconds.empty(); });
  return lines;
}

std::shared_ptr<const std::vector<bool>> Model::counted_rows() const {
  if (choice_.is_all()) return nullptr;
  const auto counted = std::make_shared<std::vector<bool>>(now_->sample_count());
  for_each_counted([&](size_t row, uint32_t, double, bool before) { (*counted)[row] = !before; });
  return counted;
}

std::vector<double> Model::time_line(size_t bins) const {
  std::vector<double> line(bins);
  const profile::Samples& samples = now_->samples();
  const uint64_t begin = begin_ns(), end = end_ns();
  if (bins == 0 || end <= begin || !has_times_) return line;
  const double scale = static_cast<double>(bins) / static_cast<double>(end - begin);
  for (size_t i = 0; i < samples.size(); ++i) {
    if (leaves_[forgotten_ + i] == profile::kNoNode || samples.time_ns[i] < begin) continue;
    line[std::min(bins - 1, static_cast<size_t>(static_cast<double>(samples.time_ns[i] - begin) * scale))] += static_cast<double>(now_->value(i));
  }
  return line;
}

}  // namespace cicada::top
