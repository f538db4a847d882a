// SPDX-License-Identifier: Apache-2.0
#include "top/model.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <utility>

#include "profile/growing_profile_for_test.h"
#include "profile/synthetic_profile_for_test.h"

namespace cicada::top {
namespace {

using profile::CallTree;
using profile::ProfileSnapshot;

std::shared_ptr<const ProfileSnapshot> shared(const ProfileSnapshot& profile) { return std::make_shared<const ProfileSnapshot>(profile); }

// Self by path, as `filter` chooses: a tree that is built of those samples alone.
std::map<std::string, double> truth(const ProfileSnapshot& profile, const std::function<bool(const ProfileSnapshot&, size_t)>& filter) {
  std::map<std::string, double> sums;
  for (const auto& [path, self] : profile::selfs(profile::build_call_tree(profile, {.filter = filter}))) sums[path] = static_cast<double>(self);
  return sums;
}

std::map<std::string, double> shown(const Model& model, const Costs& costs) {
  std::map<std::string, double> sums;
  const CallTree& tree = model.tree();
  std::vector<std::string> path(tree.nodes.size());
  for (size_t i = 1; i < tree.nodes.size(); ++i) {
    path[i] = path[tree.nodes[i].parent] + ";" + std::string(tree.text(tree.nodes[i].name));
    if (costs.self[i] != 0) sums[path[i]] += costs.self[i];
  }
  return sums;
}

double sum(const std::map<std::string, double>& selfs) {
  double all = 0;
  for (const auto& [path, self] : selfs) all += self;
  return all;
}

std::map<std::string, std::pair<double, double>> function_costs(const Model& model) {
  std::map<std::string, std::pair<double, double>> costs;
  for (const FunctionLine& line : model.functions(false)) costs[std::string(model.tree().text(model.node(line.node).name))] = {line.self, line.total};
  return costs;
}

TEST(Model, FollowsWhateverHappensToAProfile) {
  for (uint32_t seed = 1; seed < 3; ++seed) {
    profile::Growing growing(seed);
    Model model;
    for (int i = 0; i < 40; ++i) {
      growing.step();
      if (i % 3 == 0) continue;  // two steps at once
      model.update(shared(growing.profile));
      const ProfileSnapshot& now = growing.profile;
      const auto all = truth(now, [&](const ProfileSnapshot&, size_t) { return true; });
      ASSERT_EQ(shown(model, model.costs()), all) << seed << " " << i;
      for (size_t node = 0; node < model.tree().nodes.size(); ++node) ASSERT_EQ(model.costs().total[node], static_cast<double>(model.tree().nodes[node].total));
      const auto functions = function_costs(model);
      ASSERT_TRUE(model.choose({.span_ns = std::pair(uint64_t{0}, ~uint64_t{0} >> 1)}));  // sample by sample
      ASSERT_EQ(shown(model, model.costs()), all) << seed << " " << i;
      ASSERT_EQ(function_costs(model), functions) << seed << " " << i;
      ASSERT_TRUE(model.choose({}));
    }
  }
}

// Of another shape, made of what was there before: the model catches up.
TEST(Model, TakesATreeThatWasMadeMeanwhile) {
  for (uint32_t seed = 1; seed < 4; ++seed) {
    profile::Growing growing(seed);
    Model model;
    std::optional<ShapedTree> made;
    for (int i = 0; i < 60; ++i) {
      growing.step();
      model.update(shared(growing.profile));
      if (made && i % 5 == 4) model.take_tree(*std::exchange(made, std::nullopt));
      if (i % 5 == 0) made = make_tree({.kernel = i % 2 == 0, .event = model.event()}, model.profile());
      std::map<std::string, double> expected;
      for (const auto& [path, self] : profile::selfs(profile::build_call_tree(growing.profile, {.kernel_frames = model.shape().kernel}))) expected[path] = static_cast<double>(self);
      ASSERT_EQ(shown(model, model.costs()), expected) << seed << " " << i;
      ASSERT_TRUE(model.choose({.span_ns = std::pair(uint64_t{0}, ~uint64_t{0} >> 1)}));  // sample by sample
      ASSERT_EQ(shown(model, model.costs()), expected) << seed << " " << i;
      ASSERT_TRUE(model.choose({}));
    }
  }
}

class OfARecording : public testing::Test {
 protected:
  OfARecording() { model_.update(shared(profile_)); }
  uint64_t start() const { return profile_.header.start_monotonic_ns; }
  uint64_t elapsed() const { return profile_.header.duration_ns; }
  profile::Profile profile_ = profile::make_synthetic_profile({.samples = 5000});
  Model model_;
};

TEST_F(OfARecording, CountsASpan) {
  const uint64_t from = start() + elapsed() / 4, to = start() + elapsed() / 2;
  ASSERT_TRUE(model_.choose({.span_ns = std::pair(from, to)}));
  const auto expected = truth(profile_, [&](const ProfileSnapshot& p, size_t i) { return p.samples().time_ns[i] >= from && p.samples().time_ns[i] < to; });
  EXPECT_GT(expected.size(), 10U);
  EXPECT_EQ(shown(model_, model_.costs()), expected);
}

TEST_F(OfARecording, CountsTheLastSeconds) {
  ASSERT_TRUE(model_.choose({.mode = Mode::kWindow, .seconds = 2}));
  const auto expected = truth(profile_, [&](const ProfileSnapshot& p, size_t i) { return p.samples().time_ns[i] >= start() + elapsed() - 2'000'000'000; });
  EXPECT_GT(expected.size(), 10U);
  EXPECT_LT(sum(expected), 5000);
  EXPECT_EQ(shown(model_, model_.costs()), expected);
}

TEST_F(OfARecording, CountsNewSamplesMore) {
  ASSERT_TRUE(model_.choose({.mode = Mode::kDecay, .seconds = 5}));
  double expected = 0;
  for (size_t i = 0; i < profile_.sample_count(); ++i)
    if (!profile::is_idle(profile_.samples().state[i])) expected += static_cast<double>(profile_.value(i)) * std::exp2(-static_cast<double>(start() + elapsed() - profile_.samples().time_ns[i]) / 5e9);
  EXPECT_NEAR(model_.costs().whole(), expected, expected * 1e-3);  // the weight goes in steps
  EXPECT_LT(expected, 5000);
}

TEST_F(OfARecording, CountsOneProcessAndOneThread) {
  const profile::Process& process = profile_.processes()[1];
  ASSERT_TRUE(model_.choose({.process = WhichProcess{process.pid, process.start_ns}}));
  const auto of_process = truth(profile_, [&](const ProfileSnapshot& p, size_t i) { return p.threads()[p.samples().thread[i].value].process.value == 1; });
  EXPECT_EQ(shown(model_, model_.costs()), of_process);
  EXPECT_GT(of_process.size(), 10U);
  const Tid tid = profile_.threads()[profile_.samples().thread[0].value].tid;
  ASSERT_TRUE(model_.choose({.tid = tid}));
  EXPECT_EQ(shown(model_, model_.costs()), truth(profile_, [&](const ProfileSnapshot& p, size_t i) { return p.threads()[p.samples().thread[i].value].tid == tid; }));
}

TEST_F(OfARecording, KeepsStacksWithAFunction) {
  const std::string name(model_.tree().text(model_.tree().nodes[model_.functions(true)[3].node].name));
  ASSERT_TRUE(model_.choose({.keep = "^" + name + "$"}));
  std::map<std::string, double> expected;
  for (const auto& [path, self] : truth(profile_, [](const ProfileSnapshot&, size_t) { return true; }))
    if ((path + ";").find(";" + name + ";") != std::string::npos) expected[path] = self;
  EXPECT_GT(expected.size(), 0U);
  EXPECT_EQ(shown(model_, model_.costs()), expected);
  EXPECT_FALSE(model_.choose({.keep = "("}));
  EXPECT_EQ(shown(model_, model_.costs()), expected);
}

TEST_F(OfARecording, ComparesWithWhatWasBeforeAMark) {
  const uint64_t mark = start() + elapsed() / 3;
  ASSERT_TRUE(model_.choose({.mark_ns = mark}));
  const auto is_before = [&](const ProfileSnapshot& p, size_t i) { return p.samples().time_ns[i] < mark; };
  EXPECT_EQ(shown(model_, *model_.before()), truth(profile_, is_before));
  EXPECT_EQ(shown(model_, model_.costs()), truth(profile_, [&](const ProfileSnapshot& p, size_t i) { return !is_before(p, i); }));
}

TEST_F(OfARecording, AddsUpFunctionsAndThreads) {
  std::map<std::string, std::pair<double, double>> expected;
  for (const profile::FunctionCost& cost : profile::add_up_functions(model_.tree())) expected[std::string(model_.tree().text(cost.name))] = {static_cast<double>(cost.self), static_cast<double>(cost.total)};
  std::map<std::string, std::pair<double, double>> found;
  for (const FunctionLine& line : model_.functions(false)) found[std::string(model_.tree().text(model_.tree().nodes[line.node].name))] = {line.self, line.total};
  EXPECT_EQ(found, expected);
  EXPECT_EQ(model_.threads().size(), 12U);
  double of_threads = 0;
  for (const ThreadLine& line : model_.threads()) of_threads += line.cost;
  EXPECT_EQ(of_threads, model_.costs().whole());
  double all = 0;
  for (const double bin : model_.time_line(33)) all += bin;
  EXPECT_EQ(all, model_.costs().whole());
}

TEST(Model, KnowsWhatThreadsWaitedFor) {
  profile::Profile profile = profile::make_synthetic_profile({.samples = 3000});
  profile.header.events.push_back({.name = "off-cpu", .unit = profile::Unit::kNanoseconds, .spent = profile::Spent::kWaiting});
  constexpr std::string_view kStates[] = {"lock", "disk", "sleep"};
  for (size_t i = 0; i < 3000; ++i) {
    profile::Sample sample = profile.sample(i);
    const profile::Label label{profile.intern(profile::kStateLabel), profile.intern(kStates[sample.stack.value % 3])};
    sample.event = {1};
    sample.value = 1000 + i;
    sample.labels = profile.intern_labels({&label, 1});
    profile.append_sample(sample);
  }
  Model model;
  model.update(shared(profile));
  EXPECT_EQ(model.state_of(1), "");
  model.take_tree(make_tree({.event = profile::EventId(1)}, model.profile()));
  const auto by_path = [](const CallTree& tree, auto state_of) {
    std::map<std::string, std::string> states;
    std::vector<std::string> path(tree.nodes.size());
    for (uint32_t i = 1; i < tree.nodes.size(); ++i) {
      path[i] = path[tree.nodes[i].parent] + ";" + std::string(tree.text(tree.nodes[i].name));
      if (tree.nodes[i].total != 0) states[path[i]] = state_of(i);
    }
    return states;
  };
  const CallTree truth = profile::build_call_tree(profile, {.states = true, .event = profile::EventId{1}});
  const auto expected = by_path(truth, [&](uint32_t i) { return std::string(truth.text(truth.states[truth.state_of_node[i] - 1U])); });
  EXPECT_GT(expected.size(), 100U);
  EXPECT_EQ(by_path(model.tree(), [&](uint32_t i) { return std::string(model.state_of(i)); }), expected);
}

TEST_F(OfARecording, GroupsAndUngroups) {
  const double whole = model_.costs().whole();
  model_.take_tree(make_tree({.group_by = {profile::GroupBy::kProcess, profile::GroupBy::kThread}, .event = model_.event()}, model_.profile()));
  EXPECT_EQ(model_.costs().whole(), whole);
  size_t groups = 0;
  for (const profile::CallNode& node : model_.tree().nodes) groups += node.kind == profile::NodeKind::kGroup ? 1 : 0;
  EXPECT_EQ(groups, 16U);
  model_.take_tree(make_tree({.event = model_.event()}, model_.profile()));
  EXPECT_EQ(shown(model_, model_.costs()), truth(profile_, [](const ProfileSnapshot&, size_t) { return true; }));
}

}  // namespace
}  // namespace cicada::top
