// SPDX-License-Identifier: Apache-2.0
// The profile as it is looked at: which of its samples count, and what each node of its call tree, each function and each thread costs then.
//
//   snapshots ──▶ tree, a leaf for each sample ─┐
//   Choice    ──▶ a weight for each sample ─────┴▶ costs by node
//
// A change of what counts is one pass over numbers: samples, then nodes. Costs are in the event's unit. Borrows nothing; keeps the last snapshot.
// Threads: one.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profile/live_tree.h"
#include "profile/thread_state.h"
#include "top/boxes.h"
#include "top/pattern.h"

namespace cicada::top {

enum class Mode : uint8_t { kAll, kWindow, kDecay };

// Numbers of processes are used again.
struct WhichProcess {
  Pid pid = 0;
  uint64_t start_ns = 0;
  bool operator==(const WhichProcess&) const = default;
};

// Which samples count. Times are those of samples: CLOCK_MONOTONIC.
struct Choice {
  Mode mode = Mode::kAll;
  unsigned seconds = 10;                                    // of the window; the half-life
  std::optional<std::pair<uint64_t, uint64_t>> span_ns = {};  // [from, to); then there is no mode
  std::optional<WhichProcess> process = {};                 // of this one only
  std::optional<Tid> tid = {};                              // of this thread only
  std::optional<std::string> cgroup = {};                   // of the processes in it only
  std::string keep = {};                                    // a regular expression: stacks with a function that matches; empty: all
  std::optional<uint64_t> mark_ns = {};                     // what came before it is compared with what came behind it
  bool is_all() const { return mode == Mode::kAll && !span_ns && is_of_everybody() && keep.empty() && !mark_ns; }
  bool is_of_everybody() const { return !process && !tid && !cgroup; }
  void take_everybody() {
    process.reset();
    tid.reset();
    cgroup.reset();
  }
  bool operator==(const Choice&) const = default;
};

// What a tree is made of.
struct Shape {
  std::vector<profile::GroupBy> group_by = {};
  bool kernel = true;          // with its frames
  profile::EventId event = {};
  bool operator==(const Shape&) const = default;
};
// A tree of that shape, and the leaf of each row of the profile that it was made of.
struct ShapedTree {
  Shape shape;
  std::unique_ptr<profile::LiveTree> live;
  std::vector<uint32_t> leaves;
};
// Takes a second for a million nodes. Threads: any.
ShapedTree make_tree(Shape shape, const profile::ProfileSnapshot& profile);

struct FunctionLine {
  uint32_t node = 0;  // the one of its nodes that costs most, about: says where it is
  double self = 0, total = 0;
  double before = 0;  // of the total: what came before the mark
};

// Of a thread, or of a whole process.
struct ThreadLine {
  profile::ProcessId process = {};
  profile::ThreadId thread = {};  // not valid: all of the process
  double cost = 0;           // of what counts
  double recent = 0;         // in the last kRecentSeconds
  std::vector<double> seconds = {};  // in each of the last kSparkSeconds, the oldest first
};

class Model {
 public:
  static constexpr unsigned kRecentSeconds = 5, kSparkSeconds = 20;

  Model();
  // Later than the last one, or of another profile.
  void update(std::shared_ptr<const profile::ProfileSnapshot> now);
  // Fails (kInvalid): `keep` is no regular expression; then nothing changes.
  Result<void> choose(Choice choice);
  const Choice& choice() const { return choice_; }
  // Of the profile there is, or of an earlier one of the same recording. One of an event that is not there is not taken.
  void take_tree(ShapedTree tree);
  const Shape& shape() const { return shape_; }
  profile::EventId event() const { return shape_.event; }

  // --- what there is
  const profile::ProfileSnapshot& profile() const { return *now_; }
  std::shared_ptr<const profile::ProfileSnapshot> shared_profile() const { return now_; }
  const profile::CallTree& tree() const { return live_->tree(); }
  profile::CallNode node(uint32_t number) const { return live_->node_with_place(number); }  // of the tree, with where it is
  uint64_t tree_number() const { return trees_ + live_->anew(); }  // another one: numbers of nodes mean other things
  const Costs& costs() const { return costs_; }
  const Costs* before() const { return choice_.mark_ns ? &before_ : nullptr; }
  bool has_times() const { return has_times_; }  // of its samples; else there are no modes, spans and marks
  uint64_t begin_ns() const;         // from where on there are samples: what came before was dropped
  uint64_t end_ns() const;           // of what there is
  double all_seconds() const { return static_cast<double>(end_ns() - begin_ns()) * 1e-9; }
  double recent_seconds() const { return std::min<double>(kRecentSeconds, all_seconds()); }
  double counted_seconds() const;    // of what counts; with decay the sum of the weights
  // What threads waited for in most of what the node costs; empty: it is no wait.
  std::string_view state_of(uint32_t node) const { return node < state_of_node_.size() && state_of_node_[node] != 0 ? std::string_view(states_.names()[state_of_node_[node] - 1U]) : std::string_view(); }
  // Of a function, by name: its nodes that are in no other one of it.
  std::vector<uint32_t> outermost_nodes(profile::StringId name) const;
  // All with costs, largest first by self or total.
  std::vector<FunctionLine> functions(bool by_total) const;
  // All that cost something, or did lately.
  std::vector<ThreadLine> threads() const;
  // Which rows count, of those behind the mark where there is one. Null: all.
  std::shared_ptr<const std::vector<bool>> counted_rows() const;
  // What all samples of the shown event cost in each of `bins` parts of [begin_ns, end_ns], whatever is chosen.
  std::vector<double> time_line(size_t bins) const;

 private:
  void begin_tree();
  void begin_names();
  void use(std::unique_ptr<profile::LiveTree> tree, std::vector<uint32_t> leaves);
  void weigh();
  void weigh_nodes();
  void copy_sums();
  std::vector<FunctionLine> lines_of_sums() const;
  std::vector<FunctionLine> lines_of_nodes() const;
  void add_states();
  // The samples that count: add(row, leaf, cost, whether it came before the mark).
  template <typename Add>
  void for_each_counted(Add add) const;
  bool is_kept(uint32_t node) const { return kept_nodes_.empty() || (node < kept_nodes_.size() && kept_nodes_[node]); }
  bool keeps(uint32_t name);

  std::shared_ptr<const profile::ProfileSnapshot> now_;
  Shape shape_;
  bool event_chosen_ = false, has_times_ = false;
  uint64_t first_ns_ = 0;  // of its samples, where the profile does not say when it began
  std::unique_ptr<profile::LiveTree> live_;
  uint64_t trees_ = 0, anew_ = 0;
  std::vector<uint32_t> new_leaves_;
  std::vector<uint32_t> leaves_;  // by row; the first `forgotten_` are of rows that were dropped
  size_t forgotten_ = 0;
  Choice choice_;
  std::optional<Pattern> pattern_;       // of choice_.keep
  std::vector<int8_t> kept_names_;       // by name: -1: not asked yet
  profile::ThreadStates states_;
  std::vector<uint8_t> state_of_node_;  // empty: the event is no wait
  Costs costs_, before_;
  std::optional<uint64_t> sums_of_;  // tree_number() of the tree whose own sums the costs are
  std::vector<bool> kept_nodes_;         // of choice_.keep; empty: all are
  std::vector<double> cost_of_leaf_, before_of_leaf_;
};

}  // namespace cicada::top
