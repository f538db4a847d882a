// SPDX-License-Identifier: Apache-2.0
#include "code/followed_code.h"

#include <gtest/gtest.h>

#include <vector>

namespace cicada::code {
namespace {

constexpr uint32_t kBegin = 100, kReached = 120, kEnd = 200, kCallee = 500;
constexpr uint64_t kSteps = 7;

// A memory of one function, [kBegin, kEnd) of which [kBegin, kReached) was reached.
FlowMemory memory_of(bool followed) {
  const std::vector<StackRange> ranges = {{kBegin, 110, {}}, {110, kReached, {}}};
  const std::vector<uint32_t> calls = {kCallee};
  const std::vector<StackFlow::Jump> leaves = {{1000, {}}, {2000, {}}};
  FollowedCode code{{.followed = followed, .has_return = true}, ranges, calls, {}, leaves};
  FlowMemory memory;
  memory.begin_pass();
  memory.keep(kBegin + 300, kBegin + 310, true, {}, 1);
  memory.keep(kBegin, kEnd, false, code, kSteps);
  memory.begin_pass();
  return memory;
}
bool recalls(const FlowMemory& memory, uint32_t begin, uint32_t end, bool size_known = false, const FlowMemory::Begins& newly_never = {}, uint64_t steps = kSteps) {
  const uint64_t before = steps;
  const bool recalled = memory.recall(begin, end, size_known, newly_never, steps).has_value();
  EXPECT_EQ(before - steps, recalled ? kSteps : 0);
  return recalled;
}

TEST(FlowMemory, RecallsWhatWasKept) {
  const FlowMemory memory = memory_of(true);
  uint64_t steps = 100;
  const auto code = memory.recall(kBegin, kEnd, false, {}, steps);
  ASSERT_TRUE(code);
  EXPECT_TRUE(code->followed && code->has_return && !code->returns);
  ASSERT_EQ(code->ranges.size(), 2U);
  EXPECT_EQ(code->ranges[1].end, kReached);
  ASSERT_EQ(code->calls.size(), 1U);
  EXPECT_EQ(code->calls[0], kCallee);
  EXPECT_TRUE(code->addresses.empty());
  ASSERT_EQ(code->leaves.size(), 2U);
  EXPECT_EQ(code->leaves[1].target, 2000);
  EXPECT_EQ(steps, 100 - kSteps);
}

TEST(FlowMemory, RecallsNothingThatCouldBeOtherwiseNow) {
  const FlowMemory memory = memory_of(true);
  EXPECT_TRUE(recalls(memory, kBegin, kEnd));
  EXPECT_FALSE(recalls(memory, kBegin + 1, kEnd));
  EXPECT_FALSE(recalls(memory, kBegin, kEnd, true)) << "what is behind may be its own";
  EXPECT_FALSE(recalls(memory, kBegin, kEnd + 1));
  EXPECT_TRUE(recalls(memory, kBegin, kReached)) << "it did not come further";
  EXPECT_FALSE(recalls(memory, kBegin, kReached - 1));
  EXPECT_TRUE(recalls(memory, kBegin, kEnd, false, {kCallee + 1}));
  EXPECT_FALSE(recalls(memory, kBegin, kEnd, false, {kCallee})) << "what is behind the call is not reached any more";
  EXPECT_FALSE(recalls(memory, kBegin, kEnd, false, {}, kSteps - 1));
}

TEST(FlowMemory, WhatWasGivenUpMayBeUnderstoodIfItEndsEarlier) {
  const FlowMemory memory = memory_of(false);
  EXPECT_TRUE(recalls(memory, kBegin, kEnd));
  EXPECT_FALSE(recalls(memory, kBegin, kEnd - 1));
}

TEST(FlowMemory, LastsForOnePass) {
  FlowMemory memory = memory_of(true);
  memory.begin_pass();
  EXPECT_FALSE(recalls(memory, kBegin, kEnd));
}

}  // namespace
}  // namespace cicada::code
