// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/recently_ended.h"

#include <gtest/gtest.h>

#include <string>

namespace cicada::process {
namespace {

struct Life {
  uint64_t began_ns = 0;
  std::string name;
};
using Ended = RecentlyEnded<int, Life>;

std::string newest(const Ended& ended, int key, uint64_t until_ns = ~uint64_t{0}) {
  const Life* life = ended.find(key, &Life::began_ns, [&](const Life& each) { return each.began_ns <= until_ns; });
  return life == nullptr ? "" : life->name;
}

TEST(RecentlyEnded, IsKnownForTheRestOfTheCycleAndTheNext) {
  Ended ended;
  ended.add(7, {1, "early"});
  ended.end_cycle();
  ended.add(8, {2, "late"});
  EXPECT_EQ(newest(ended, 7), "early");
  ended.end_cycle();
  EXPECT_EQ(newest(ended, 7), "");
  EXPECT_EQ(newest(ended, 8), "late");
  ended.end_cycle();
  EXPECT_EQ(newest(ended, 8), "");
  EXPECT_EQ(ended.size(), 0u);
}

TEST(RecentlyEnded, OfSeveralThatFitTheLastIsTaken) {
  Ended ended;
  ended.add(7, {20, "second"});
  ended.end_cycle();
  ended.add(7, {10, "first"});  // told of late
  EXPECT_EQ(newest(ended, 7), "second");
  EXPECT_EQ(newest(ended, 7, 19), "first");
  EXPECT_EQ(newest(ended, 7, 9), "");
}

TEST(RecentlyEnded, IsBounded) {
  Ended ended;
  for (size_t i = 0; i <= Ended::kMax; ++i) {
    ended.add(static_cast<int>(i), {1, "x"});
    if (i == Ended::kMax / 2) ended.end_cycle();
  }
  EXPECT_EQ(newest(ended, static_cast<int>(Ended::kMax - 1)), "x");
  EXPECT_EQ(newest(ended, static_cast<int>(Ended::kMax)), "");
}

}  // namespace
}  // namespace cicada::process
