// SPDX-License-Identifier: Apache-2.0
// Each side becomes a call tree of values and one of counts with the same nodes (the builder is deterministic); both trees are
// laid over each other by name. Significance is computed on counts, because a sample is what chance draws; a value
// (microseconds off-CPU) is not.
#include "profile/profile_diff.h"

#include <algorithm>
#include <cmath>

#include "profile/cpu_time.h"
#include "profile/function_table.h"
#include "profile/stack_totals.h"
#include "profile/tree_children.h"

namespace cicada::profile {
namespace {

constexpr double kFalseDiscoveryRate = 0.01;

struct Counted {
  DiffValue self, total;
};

class Differ {
 public:
  Differ(const ProfileSnapshot& a, const ProfileSnapshot& b, const DiffOptions& options) : a_(a), b_(b), options_(options) {
    diff_.tree.nodes.emplace_back();
    diff_.self.emplace_back();
    count_self_.emplace_back();
  }

  ProfileDiff run() {
    add(a_, &DiffValue::a);
    add(b_, &DiffValue::b);
    link_children(diff_.tree);
    diff_.total = totals(diff_.self);
    count_total_ = totals(count_self_);
    diff_.samples = count_total_[0];
    for (size_t i = 0; i < diff_.tree.nodes.size(); ++i) {
      diff_.tree.nodes[i].self = diff_.self[i].b;
      diff_.tree.nodes[i].total = diff_.total[i].b;
    }
    set_scales();
    add_functions();
    mark_significant();
    return std::move(diff_);
  }

 private:
  void add(const ProfileSnapshot& profile, uint64_t DiffValue::*side) {
    CallTreeOptions options = options_.tree;
    options.count_samples = false;
    const CallTree values = build_call_tree(profile, options);
    options.count_samples = !options_.values_are_counts;
    const CallTree counts = build_call_tree(profile, options);
    CHECK(values.nodes.size() == counts.nodes.size());
    std::vector<uint32_t> merged(values.nodes.size(), 0);
    for (size_t i = 0; i < values.nodes.size(); ++i) {
      const CallNode& node = values.nodes[i];
      if (i != 0) merged[i] = children_.find_or_append(diff_.tree, merged[node.parent], values, node);
      diff_.self.resize(diff_.tree.nodes.size());
      count_self_.resize(diff_.tree.nodes.size());
      diff_.self[merged[i]].*side += node.self;
      count_self_[merged[i]].*side += counts.nodes[i].self;
    }
  }

  std::vector<DiffValue> totals(std::vector<DiffValue> values) const {
    for (size_t i = values.size(); i-- > 1;) {
      DiffValue& parent = values[diff_.tree.nodes[i].parent];
      parent.a += values[i].a;
      parent.b += values[i].b;
    }
    return values;
  }

  void set_scales() {
    diff_.scale_a = scale(a_, diff_.total[0].a);
    diff_.scale_b = scale(b_, diff_.total[0].b);
    if (diff_.scale_a == 0 || diff_.scale_b == 0) diff_.scale_a = diff_.scale_b = 1;  // formats without a duration; nothing on one side
  }

  double scale(const ProfileSnapshot& profile, uint64_t all) const {
    const auto over = [](double part, double whole) { return whole > 0 ? part / whole : 0; };
    if (options_.per == Per::kShare) return over(1, static_cast<double>(std::max<uint64_t>(all, 1)));
    const double seconds = seconds_per_value(profile, shown_event(profile, options_.tree)), unit = seconds > 0 ? seconds : 1;
    if (options_.per == Per::kRun) return over(unit, static_cast<double>(std::max<uint64_t>(profile.header.runs, 1)));
    return over(unit, static_cast<double>(profile.header.duration_ns) / 1e9);
  }

  void add_functions() {
    FunctionTable table;
    table.see(diff_.tree);
    diff_.functions.resize(table.rows().size());
    counts_.resize(diff_.functions.size());
    for (uint32_t at = 0; at < diff_.tree.nodes.size(); ++at) {
      const uint32_t row = table.row_of(at);
      if (row == kNoNode) continue;
      FunctionDelta& function = diff_.functions[row];
      sum(function.self, diff_.self[at]);
      sum(counts_[row].self, count_self_[at]);
      if (!table.is_outermost(at)) continue;
      sum(function.total, diff_.total[at]);
      sum(counts_[row].total, count_total_[at]);
    }
    for (size_t i = 0; i < diff_.functions.size(); ++i) {
      FunctionDelta& function = diff_.functions[i];
      function.name = table.rows()[i].name;
      function.image = table.rows()[i].image;
      function.self_change = diff_.change(function.self);
      function.total_change = diff_.change(function.total);
      function.self_p = p_value(counts_[i].self);
      function.total_p = p_value(counts_[i].total);
    }
  }

  static void sum(DiffValue& into, const DiffValue& from) {
    into.a += from.a;
    into.b += from.b;
  }

  double p_value(const DiffValue& counts) const {
    if (options_.per == Per::kShare) return proportion_p_value(counts.a, diff_.samples.a, counts.b, diff_.samples.b);
    return ratio_p_value(counts, diff_.scale_b / diff_.scale_a);
  }

  // a + b events fall on two sides in proportion to their weights (A's: `a_to_b`, B's: 1), if nothing changed.
  static double ratio_p_value(const DiffValue& counts, double a_to_b) {
    const auto n = static_cast<double>(counts.a + counts.b);
    if (n == 0) return 1;
    const double share = a_to_b / (1 + a_to_b);
    const double distance = std::abs(static_cast<double>(counts.a) - n * share) - 0.5;
    return distance <= 0 ? 1 : std::erfc(distance / std::sqrt(2 * n * share * (1 - share)));
  }

  // How many times as large the share of what did not change itself is: the median of all functions' ratios, weighted by their samples before.
  double displacement() const {
    std::vector<std::pair<double, uint64_t>> ratios;  // and weights
    for (const FunctionDelta& function : diff_.functions) {
      if (function.self.a != 0) ratios.emplace_back(static_cast<double>(function.self.b) * diff_.scale_b / (static_cast<double>(function.self.a) * diff_.scale_a), function.self.a);
    }
    std::sort(ratios.begin(), ratios.end());
    uint64_t weight = 0;
    for (const auto& [ratio, samples] : ratios) {
      weight += samples;
      if (2 * weight > diff_.total[0].a) return ratio;
    }
    return 1;
  }

  // A share is a part of a whole: if one function grows, all others shrink with nothing changed in them, and the other way round. Of two functions nobody
  // can say which it was; most of what there was has to agree.
  void excuse_displaced() {
    const double ratio = options_.per == Per::kShare ? displacement() : 1;
    if (ratio == 1 || ratio <= 0) return;
    const double direction = ratio < 1 ? -1 : 1;
    const double a_to_b = static_cast<double>(diff_.samples.a) / static_cast<double>(diff_.samples.b) / ratio;
    const auto follows = [&](const DiffValue& counts) { return ratio_p_value(counts, a_to_b) > kFalseDiscoveryRate; };
    uint64_t following = 0;
    size_t followers = 0;
    for (size_t i = 0; i < diff_.functions.size(); ++i)
      if (const uint64_t before = diff_.functions[i].self.a; before != 0 && follows(counts_[i].self)) following += before, ++followers;
    if (followers < 2 || 2 * following <= diff_.total[0].a) return;
    for (size_t i = 0; i < diff_.functions.size(); ++i) {
      FunctionDelta& function = diff_.functions[i];
      if (!function.significant || function.self_change * direction < 0 || function.total_change * direction < 0) continue;
      function.displaced = follows(counts_[i].self) && follows(counts_[i].total);
      if (function.displaced) function.significant = false;
    }
  }

  // Benjamini–Hochberg: with m tests in order of p, the largest k with p(k) ≤ k/m × rate, and everything before it.
  void mark_significant() {
    std::vector<std::pair<double, size_t>> tests;
    for (size_t i = 0; i < diff_.functions.size(); ++i) {
      tests.emplace_back(diff_.functions[i].self_p, i);
      tests.emplace_back(diff_.functions[i].total_p, i);
    }
    std::sort(tests.begin(), tests.end());
    size_t passed = 0;
    for (size_t k = 0; k < tests.size(); ++k)
      if (tests[k].first <= static_cast<double>(k + 1) / static_cast<double>(tests.size()) * kFalseDiscoveryRate) passed = k + 1;
    for (size_t k = 0; k < passed; ++k) diff_.functions[tests[k].second].significant = true;
    excuse_displaced();  // functions and counts_ have one order until here
    std::stable_sort(diff_.functions.begin(), diff_.functions.end(),
                     [](const FunctionDelta& x, const FunctionDelta& y) { return std::abs(x.self_change) > std::abs(y.self_change); });
  }

  const ProfileSnapshot& a_;
  const ProfileSnapshot& b_;
  const DiffOptions& options_;
  ProfileDiff diff_;
  std::vector<DiffValue> count_self_, count_total_;
  std::vector<Counted> counts_;  // by function
  TreeChildren children_;
};

}  // namespace

double proportion_p_value(uint64_t a, uint64_t all_a, uint64_t b, uint64_t all_b) {
  if (all_a == 0 || all_b == 0 || a + b == 0 || a + b == all_a + all_b) return 1;
  const auto na = static_cast<double>(all_a), nb = static_cast<double>(all_b);
  const double pooled = static_cast<double>(a + b) / (na + nb);
  const double deviation = std::sqrt(pooled * (1 - pooled) * (1 / na + 1 / nb));
  const double distance = std::abs(static_cast<double>(a) / na - static_cast<double>(b) / nb) - 0.5 * (1 / na + 1 / nb);
  return distance <= 0 ? 1 : std::erfc(distance / deviation / std::sqrt(2.0));
}

ProfileDiff diff(const ProfileSnapshot& a, const ProfileSnapshot& b, const DiffOptions& options) { return Differ(a, b, options).run(); }

}  // namespace cicada::profile
