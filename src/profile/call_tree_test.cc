// SPDX-License-Identifier: Apache-2.0
#include "profile/call_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "profile/wakeups.h"

namespace cicada::profile {
namespace {

class CallTreeTest : public ::testing::Test {
 protected:
  FrameId named(const std::string& name, FrameKind kind = FrameKind::kNative) {
    const FrameId frame = profile.intern_frame({kind, image, 0, next_address++, {}});
    const Location location[] = {{profile.intern_function({profile.intern(name), {}, {}})}};
    profile.set_locations(frame, location);
    return frame;
  }
  void sample(std::vector<FrameId> frames, uint64_t value = 1, uint16_t cpu = 0, bool idle = false) {
    profile.append_sample({.time_ns = profile.sample_count(), .thread = thread, .stack = profile.intern_stack({}, frames),
                           .value = value, .cpu = cpu, .idle = idle});
  }
  // "a;b" -> self/total, in the order of the tree
  static void append(const CallTree& tree, uint32_t at, const std::string& prefix, std::vector<std::string>& out) {
    for (uint32_t c = tree.nodes[at].first_child; c != 0; c = tree.nodes[c].next_sibling) {
      const std::string path = prefix + std::string(tree.text(tree.nodes[c].name));
      out.push_back(fmt::format("{} {}/{}", path, tree.nodes[c].self, tree.nodes[c].total));
      append(tree, c, path + ";", out);
    }
  }
  std::vector<std::string> lines(const CallTreeOptions& options = {}) {
    const CallTree tree = build_call_tree(profile, options);
    std::vector<std::string> out;
    append(tree, 0, "", out);
    return out;
  }

  Profile profile;
  ImageId image = profile.intern_image({profile.intern("/usr/lib/libfoo.so.1"), {}, ImageKind::kLibrary});
  ProcessId process = profile.intern_process(4711, 1);
  ThreadId thread = profile.intern_thread(process, 4711);
  uint64_t next_address = 0x1000;
};

using ::testing::ElementsAre;

TEST_F(CallTreeTest, MergesEqualNamesAndOrdersByName) {
  const FrameId main = named("main"), b = named("b"), b2 = named("b"), a = named("a");
  sample({main, b});
  sample({main, b2}, 2);
  sample({main, a}, 4);
  sample({main}, 8);
  EXPECT_THAT(lines(), ElementsAre("main 8/15", "main;a 4/4", "main;b 3/3"));
}

// Whoever ended a wait did not wait itself, but for where it says so.
TEST_F(CallTreeTest, GivesWakersNoState) {
  const auto marker = [&](std::string_view text) {
    Frame frame;
    frame.kind = FrameKind::kLabel;
    frame.label = profile.intern(text);
    return profile.intern_frame(frame);
  };
  profile.header.events = {{.name = "off-cpu", .unit = Unit::kNanoseconds, .spent = Spent::kWaiting}};
  const Label label{profile.intern(kStateLabel), profile.intern("lock")};
  const FrameId path[] = {named("waits"), marker("[woken by x]"), named("unlocks"), marker("[softirq: timer]"), named("wakes"), marker(kWhichWaited), named("reads"), marker("[woken by y]"), named("writes")};
  profile.append_sample({.thread = thread, .stack = profile.intern_stack({}, path), .labels = profile.intern_labels({&label, 1})});
  const CallTree tree = build_call_tree(profile, {.states = true});
  std::string with_state;
  for (size_t at = 1; at < tree.nodes.size(); ++at)
    if (tree.state_of_node[at] != 0) with_state += fmt::format("{} ", tree.text(tree.nodes[at].name));
  EXPECT_EQ(with_state, "waits [which waited] reads ");
}

// main waits for a lock and for a pipe; where its callees wait is their own.
TEST_F(CallTreeTest, KnowsTheStateOfMostOfANodesTime) {
  const FrameId main = named("main"), lock = named("lock"), read = named("read");
  profile.header.events = {{.name = "off-cpu", .unit = Unit::kNanoseconds, .spent = Spent::kWaiting}};
  const auto waits = [&](std::vector<FrameId> frames, std::string_view state, uint64_t value) {
    const Label label{profile.intern(kStateLabel), profile.intern(state)};
    profile.append_sample({.thread = thread, .stack = profile.intern_stack({}, frames), .value = value, .labels = profile.intern_labels({&label, 1})});
  };
  waits({main, lock}, "lock", 5);
  waits({main, lock}, "runnable", 1);
  waits({main, read}, "io", 4);
  const auto states = [&](const CallTreeOptions& options) {
    const CallTree tree = build_call_tree(profile, options);
    std::vector<std::string> out;
    for (size_t at = 0; at < tree.state_of_node.size(); ++at)
      out.push_back(fmt::format("{} {}", tree.text(tree.nodes[at].name), tree.state_of_node[at] == 0 ? "-" : tree.text(tree.states[tree.state_of_node[at] - 1])));
    return out;
  };
  EXPECT_THAT(states({.states = true}), ElementsAre(" lock", "main lock", "lock lock", "read io"));
  EXPECT_THAT(states({.count_samples = true, .states = true}), ElementsAre(" lock", "main lock", "lock lock", "read io"));
  EXPECT_THAT(states({}), ElementsAre());
  for (int i = 0; i < 100; ++i) waits({read}, fmt::format("state {}", i), 1);
  EXPECT_THAT(states({.states = true}), ElementsAre(" lock", "main lock", "lock lock", "read io", "read state 0"));
  profile.header.events[0].spent = Spent::kRunning;
  EXPECT_THAT(states({.states = true}), ElementsAre());
}

TEST_F(CallTreeTest, ExpandsInlinedCallsOutermostFirst) {
  const FrameId frame = named("x");
  const auto function = [&](const char* name) { return profile.intern_function({profile.intern(name), {}, {}}); };
  const Location locations[] = {{.function = function("inner"), .line = 3, .inlined = true}, {.function = function("outer")}};
  profile.set_locations(frame, locations);
  sample({frame});
  EXPECT_THAT(lines(), ElementsAre("outer 0/1", "outer;inner 1/1"));
  EXPECT_THAT(lines({.expand_inlined = false}), ElementsAre("outer 1/1"));
  const CallTree tree = build_call_tree(profile, {});
  EXPECT_EQ(tree.nodes[2].kind, NodeKind::kInlined);
  EXPECT_EQ(tree.nodes[2].line, 3u);
}

TEST_F(CallTreeTest, NamesWhatHasNoName) {
  sample({profile.intern_frame({FrameKind::kNative, image, 0, 0x1234, {}})});
  sample({profile.intern_frame({FrameKind::kUnknown, {}, 1, 0x77, {}})});
  sample({profile.intern_frame({FrameKind::kLabel, {}, 0, 0, profile.intern("[softirq: net_rx]")})});
  EXPECT_THAT(lines(), ElementsAre("[softirq: net_rx] 1/1", "[unknown] 1/1", "libfoo.so.1+0x1234 1/1"));
}

TEST_F(CallTreeTest, LeavesIdleAndKernelOutWhenTold) {
  const FrameId main = named("main"), sys = named("sys_read", FrameKind::kKernel);
  sample({main, sys});
  sample({sys}, 5, 0, true);
  EXPECT_THAT(lines(), ElementsAre("main 0/1", "main;sys_read 1/1"));
  EXPECT_THAT(lines({.include_idle = true, .kernel_frames = false}), ElementsAre("main 1/1"));
  EXPECT_EQ(build_call_tree(profile, {.include_idle = true, .kernel_frames = false}).total(), 6u);  // the idle one is at the root
}

TEST_F(CallTreeTest, GroupsAreRoots) {
  profile.edit_process(process, [&](auto& row) { row.name = profile.intern("make"); });
  profile.edit_thread(thread, [&](auto& row) { row.name = profile.intern("worker"); });
  const FrameId main = named("main");
  sample({main}, 1, 0);
  sample({main}, 2, 3);
  EXPECT_THAT(lines({.group_by = {GroupBy::kProcess, GroupBy::kCpu}}),
              ElementsAre("make (4711) 0/3", "make (4711);cpu 0 0/1", "make (4711);cpu 0;main 1/1", "make (4711);cpu 3 0/2",
                          "make (4711);cpu 3;main 2/2"));
  EXPECT_THAT(lines({.group_by = {GroupBy::kThread}}), ElementsAre("worker (4711, main) 0/3", "worker (4711, main);main 3/3"));
  EXPECT_THAT(lines({.group_by = {GroupBy::kImage}}), ElementsAre("libfoo.so.1 0/3", "libfoo.so.1;main 3/3"));
  EXPECT_THAT(lines({.group_by = {GroupBy::kCgroup}}), ElementsAre("[no cgroup] 0/3", "[no cgroup];main 3/3"));
  const Label user{profile.intern(kUserLabel), profile.intern("anna")};
  Sample anna = profile.sample(0);
  anna.labels = profile.intern_labels({&user, 1});
  profile.append_sample(anna);
  EXPECT_THAT(lines({.group_by = {GroupBy::kUser}}), ElementsAre("[no user] 0/3", "[no user];main 3/3", "anna 0/1", "anna;main 1/1"));
}

TEST_F(CallTreeTest, TellsTheLeafOfEachSample) {
  const FrameId main = named("main"), leaf = named("leaf");
  sample({main, leaf});
  sample({main}, 1, 0, true);
  sample({});
  std::vector<uint32_t> leaf_of_sample;
  const CallTree tree = build_call_tree(profile, {}, &leaf_of_sample);
  ASSERT_EQ(leaf_of_sample.size(), 3u);
  EXPECT_EQ(tree.text(tree.nodes[leaf_of_sample[0]].name), "leaf");
  EXPECT_EQ(leaf_of_sample[1], kNoNode);
  EXPECT_EQ(leaf_of_sample[2], 0u);
}

TEST_F(CallTreeTest, OfNoSamplesIsOneRoot) {
  const CallTree tree = build_call_tree(profile, {});
  EXPECT_EQ(tree.nodes.size(), 1u);
  EXPECT_EQ(tree.total(), 0u);
}

// The property everything rests on, over random profiles and every grouping.
TEST_F(CallTreeTest, TotalsAreSumsAndNothingIsLost) {
  std::mt19937 random(7);
  std::vector<FrameId> pool;
  for (int i = 0; i < 40; ++i) pool.push_back(named("f" + std::to_string(i % 25), i % 5 == 0 ? FrameKind::kKernel : FrameKind::kNative));
  uint64_t stored = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<FrameId> frames;
    for (size_t depth = random() % 12; depth-- > 0;) frames.push_back(pool[random() % pool.size()]);
    thread = profile.intern_thread(profile.intern_process(static_cast<Pid>(random() % 5), 0), static_cast<Tid>(random() % 9));
    const uint32_t value = static_cast<uint32_t>(random() % 1000);
    stored += value;
    sample(frames, value, static_cast<uint16_t>(random() % 3));
  }
  ASSERT_TRUE(profile.validate());
  const std::vector<std::vector<GroupBy>> groupings = {{}, {GroupBy::kProcess}, {GroupBy::kThread, GroupBy::kCpu}, {GroupBy::kImage}};
  for (const auto& group_by : groupings) {
    const CallTree tree = build_call_tree(profile, {.group_by = group_by});
    EXPECT_EQ(tree.total(), stored);
    size_t linked = 0;
    for (size_t i = 0; i < tree.nodes.size(); ++i) {
      uint64_t sum = tree.nodes[i].self;
      for (uint32_t c = tree.nodes[i].first_child; c != 0; c = tree.nodes[c].next_sibling) {
        EXPECT_EQ(tree.nodes[c].parent, i);
        EXPECT_GT(c, i);
        if (tree.nodes[c].next_sibling != 0) {
          EXPECT_LT(tree.text(tree.nodes[c].name), tree.text(tree.nodes[tree.nodes[c].next_sibling].name));
        }
        sum += tree.nodes[c].total;
        ++linked;
      }
      EXPECT_EQ(sum, tree.nodes[i].total);
    }
    EXPECT_EQ(linked, tree.nodes.size() - 1);
  }
}

}  // namespace
}  // namespace cicada::profile
