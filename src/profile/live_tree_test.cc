// SPDX-License-Identifier: Apache-2.0
#include "profile/live_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "profile/frame_text.h"
#include "profile/function_totals.h"
#include "profile/growing_profile_for_test.h"
#include "profile/stack_totals.h"
#include "profile/synthetic_profile_for_test.h"

namespace cicada::profile {
namespace {

using Costs = std::map<std::string, std::pair<uint64_t, uint64_t>>;  // name: self, total

template <typename Texts, typename Rows>
Costs costs(const Texts& texts, const Rows& rows) {
  Costs out;
  for (const FunctionCost& cost : rows)
    if (cost.total != 0) out[std::string(texts.text(cost.name))] = {cost.self, cost.total};
  return out;
}
Costs costs(const LiveTree& live) { return costs(live.tree(), live.functions().rows()); }

// Stack by stack and name by name, from the samples.
Costs costs_by_hand(const ProfileSnapshot& profile) {
  Costs out;
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    const Sample sample = profile.sample(i);
    std::set<std::string> on_stack;
    for (StackId at = sample.stack; at.valid(); at = profile.stacks()[at.value].parent) {
      const FrameId frame = profile.stacks()[at.value].frame;
      PlaceId place = profile.place(frame);
      do {
        const std::string name = frame_name(profile, frame, place);
        if (on_stack.empty()) out[name].first += sample.value;
        if (on_stack.insert(name).second) out[name].second += sample.value;
      } while ((place = profile.outer(place)).valid());
    }
  }
  return out;
}

void expect_sums(const CallTree& tree) {
  std::vector<uint64_t> totals(tree.nodes.size());
  std::vector<size_t> children(tree.nodes.size());
  for (size_t i = tree.nodes.size(); i-- > 0;) {
    totals[i] += tree.nodes[i].self;
    EXPECT_EQ(tree.nodes[i].total, totals[i]) << i;
    if (i != 0) totals[tree.nodes[i].parent] += totals[i];
  }
  size_t walked = 0;
  walk(tree, [&](uint32_t) { ++walked; }, [](uint32_t) {});
  EXPECT_EQ(walked, tree.nodes.size());
}

class LiveTreeOptions : public ::testing::TestWithParam<CallTreeOptions> {};

// The truth is the tree that is built at once.
TEST_P(LiveTreeOptions, IsTheTreeThatWouldBeBuiltNow) {
  Growing growing(7);
  LiveTree live(GetParam());
  for (int step = 0; step < 80; ++step) {
    growing.step();
    if (growing.below(4) == 0) continue;  // more than one step at a time
    const ProfileSnapshot now = growing.profile;
    live.update(now);
    if (step % 4 != 0) continue;
    const CallTree anew = build_call_tree(now, GetParam());
    ASSERT_EQ(selfs(live.tree()), selfs(anew)) << "step " << step;
    ASSERT_EQ(costs(live), costs(anew, add_up_functions(anew))) << "step " << step;
    expect_sums(live.tree());
    if (!GetParam().group_by.empty()) continue;
    const FunctionTotals totals = total_functions(now, GetParam());
    ASSERT_EQ(costs(totals.strings, totals.rows), costs(anew, add_up_functions(anew))) << "step " << step;
    ASSERT_EQ(totals.total, anew.total());
  }
  EXPECT_GT(growing.profile.samples().dropped(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, LiveTreeOptions,
                         ::testing::Values(CallTreeOptions{}, CallTreeOptions{.include_idle = true}, CallTreeOptions{.kernel_frames = false},
                                           CallTreeOptions{.expand_inlined = false, .count_samples = true}, CallTreeOptions{.event = EventId{1}},
                                           CallTreeOptions{.group_by = {GroupBy::kProcess, GroupBy::kThread}}, CallTreeOptions{.group_by = {GroupBy::kThread, GroupBy::kCpu}},
                                           CallTreeOptions{.group_by = {GroupBy::kProcess}, .group_numbers = false}, CallTreeOptions{.group_by = {GroupBy::kImage}}));

TEST(LiveTree, CountsAFunctionOnceAStack) {
  Profile profile = make_synthetic_profile({.samples = 3000, .functions = 20});  // few functions: much recursion
  LiveTree live({.include_idle = true});
  live.update(profile);
  EXPECT_EQ(costs(live), costs_by_hand(profile));
  for (size_t i = 0; i < 1000; ++i) profile.append_sample(profile.sample((i * 7) % 3000));
  live.update(profile);
  EXPECT_EQ(costs(live), costs_by_hand(profile));
}

TEST(LiveTree, TouchesWhatIsNewOnly) {
  Profile profile;
  const ThreadId thread = profile.intern_thread(profile.intern_process(1, 1), 1);
  const auto sample = [&](uint64_t address) {
    profile.append_sample({.thread = thread, .stack = profile.intern_stack({}, profile.intern_frame({FrameKind::kKernel, {}, 0, address, {}}))});
  };
  LiveTree live({});
  sample(1);
  sample(2);
  live.update(profile);
  const Log<FunctionCost> shared = live.functions().rows();
  const size_t nodes = live.tree().nodes.size();
  sample(1);
  live.update(profile);
  EXPECT_EQ(live.tree().nodes.size(), nodes);
  EXPECT_EQ(shared[0].self, 1u);  // who has a copy keeps what it was
  EXPECT_EQ(live.functions().rows()[0].self, 2u);
}

TEST(LiveTree, SaysWhichNodesHaveChanged) {
  Growing growing(11);
  LiveTree live({});
  std::vector<std::pair<uint64_t, uint64_t>> sums;  // kept by what it says
  uint64_t tree = 0;
  size_t said = 0;
  for (int step = 0; step < 80; ++step) {
    growing.step();
    live.update(growing.profile);
    const auto& nodes = live.tree().nodes;
    sums.resize(nodes.size());
    if (std::exchange(tree, live.anew()) != live.anew()) {
      for (size_t i = 0; i < nodes.size(); ++i) sums[i] = {nodes[i].self, nodes[i].total};
    }
    for (const uint32_t i : live.changed_nodes()) sums[i] = {nodes[i].self, nodes[i].total};
    said += live.changed_nodes().size();
    for (size_t i = 0; i < nodes.size(); ++i) ASSERT_EQ(sums[i], std::pair(nodes[i].self, nodes[i].total)) << step << " " << i;
  }
  EXPECT_GT(said, 1000u);
}

TEST(LiveTree, KnowsLinesThatCameAfterTheNode) {
  Profile profile;
  const ThreadId thread = profile.intern_thread(profile.intern_process(1, 1), 1);
  const FrameId frame = profile.intern_frame({FrameKind::kJit, {}, 0, 1, {}});
  profile.append_sample({.thread = thread, .stack = profile.intern_stack({}, frame)});
  const FunctionId function = profile.intern_function({profile.intern("f"), {}, {}});
  profile.set_locations(frame, std::vector<Location>{{function, {}, 0, false}});
  LiveTree live({});
  live.update(profile);
  ASSERT_EQ(live.tree().nodes.size(), 2u);
  EXPECT_FALSE(live.node_with_place(1).file.valid());
  profile.set_locations(frame, std::vector<Location>{{function, profile.intern("f.cc"), 7, false}});
  live.update(profile);
  ASSERT_EQ(live.tree().nodes.size(), 2u);
  EXPECT_EQ(live.tree().text(live.node_with_place(1).file), "f.cc");
  EXPECT_EQ(live.node_with_place(1).line, 7u);
  EXPECT_FALSE(live.node_with_place(0).file.valid());
}

TEST(LiveTree, PlacesAgainWhatIsCalledOtherwiseOnly) {
  Profile profile;
  const ThreadId thread = profile.intern_thread(profile.intern_process(1, 1), 1);
  const FrameId frame = profile.intern_frame({FrameKind::kJit, {}, 0, 1, {}});
  profile.append_sample({.thread = thread, .stack = profile.intern_stack({}, frame)});
  const auto name = [&](std::string_view text, uint32_t line) { profile.set_locations(frame, std::vector<Location>{{profile.intern_function({profile.intern(text), {}, {}}), {}, line, false}}); };
  LiveTree live({});
  std::vector<uint32_t> leaves;
  const auto placed = [&] {
    const size_t before = live.placed_leaves().size();
    live.update(profile, &leaves);
    return live.placed_leaves().size() - before;
  };
  EXPECT_EQ(placed(), 1u);
  name("f", 0);
  EXPECT_EQ(placed(), 1u);
  name("f", 7);
  EXPECT_EQ(placed(), 0u);
  name("g", 7);
  EXPECT_EQ(placed(), 1u);
  EXPECT_EQ(selfs(live.tree()), selfs(build_call_tree(profile, {})));
}

TEST(LiveTree, DoesNotKeepWhatHasGone) {
  Profile profile;
  const ThreadId thread = profile.intern_thread(profile.intern_process(1, 1), 1);
  LiveTree live({});
  for (uint64_t i = 0; i < 200000; ++i) {
    profile.append_sample({.time_ns = i, .thread = thread, .stack = profile.intern_stack({}, profile.intern_frame({FrameKind::kKernel, {}, 0, i, {}}))});
    if (profile.sample_count() > 8192) profile.drop_samples(4096);
    if (i % 1000 == 0) live.update(profile);
  }
  EXPECT_LT(live.tree().nodes.size(), 30000u);
}

TEST(LiveTree, HangsWhatIsNotWholeBelowItsReason) {
  Profile profile;
  const ThreadId thread = profile.intern_thread(profile.intern_process(1, 1), 1);
  const StackId stack = profile.intern_stack({}, profile.intern_frame({FrameKind::kNative, {}, 0, 16, {}}));
  const auto add = [&](end_reason reason) { profile.append_sample({.time_ns = 1, .thread = thread, .stack = stack, .end_reason = reason}); };
  add(END_OUTERMOST);
  add(END_DEPTH_LIMIT);
  add(END_NO_RULE);
  LiveTree live({});
  live.update(profile);
  add(END_DEPTH_LIMIT);
  live.update(profile);
  for (const CallTree& tree : {live.tree(), build_call_tree(profile, {}), build_call_tree(profile, {.include_idle = true})}) {
    std::map<std::string, uint64_t> roots;
    for (size_t i = 1; i < tree.nodes.size(); ++i)
      if (tree.nodes[i].parent == 0) roots[std::string(tree.text(tree.nodes[i].name))] = tree.nodes[i].total;
    EXPECT_EQ(roots, (std::map<std::string, uint64_t>{{"[unknown]", 1}, {"[truncated]", 2}, {"[incomplete: no unwind rule for the address]", 1}})) << tree.nodes.size();
  }
  const std::vector<StackTotal> totals = add_up_stacks(profile, {});
  EXPECT_EQ(totals.size(), 3u);
}

}  // namespace
}  // namespace cicada::profile
