// SPDX-License-Identifier: Apache-2.0
#include "ingest/waiting_stacks.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cicada::ingest {
namespace {

constexpr size_t kStack = 1 << 16, kMax = 100 * (kStack + WaitingStacks::kJobBytes);
constexpr uint32_t kRoot = 0, kUser = 1000;

class WaitingStacksTest : public testing::Test {
 protected:
  UnwindJob job(uint32_t owner, size_t bytes = kStack) {
    UnwindJob made;
    made.sample = {};
    made.sample.uid = owner;
    made.sample.value = ++last_;
    made.arrived_ns = last_;
    made.record = pool_.copy(std::vector<uint8_t>(bytes));
    return made;
  }
  uint64_t add(uint32_t owner) {
    EXPECT_TRUE(stacks.add(job(owner), dropped));
    return last_;
  }
  static std::vector<uint64_t> numbers(const std::vector<UnwindJob>& jobs) {
    std::vector<uint64_t> out;
    for (const UnwindJob& each : jobs) out.push_back(each.sample.value);
    return out;
  }
  std::vector<uint64_t> take(uint32_t owner, size_t most = 1000) {
    taken = stacks.take(owner, most, SIZE_MAX);
    return numbers(taken);
  }
  void fill(uint32_t owner) {
    while (stacks.add(job(owner), dropped) && dropped.empty()) {
    }
  }

  BytePool pool_;
  uint64_t last_ = 0;
  WaitingStacks stacks{kMax};
  std::vector<UnwindJob> dropped, taken;
};

TEST_F(WaitingStacksTest, AreTakenInTheirOrderAndCountUntilForgotten) {
  const std::vector<uint64_t> added{add(kUser), add(kUser), add(kUser)};
  add(kRoot);
  EXPECT_EQ(stacks.first_arrival_ns(), 1U);
  EXPECT_EQ(take(kUser, 2), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(stacks.first_arrival_ns(), 3U);
  EXPECT_TRUE(stacks.waits(kUser));
  for (const UnwindJob& each : taken) stacks.forget(each);
  EXPECT_EQ(take(kUser), std::vector<uint64_t>{3});
  EXPECT_FALSE(stacks.waits(kUser));
  stacks.forget(taken[0]);
  EXPECT_EQ(take(kRoot), std::vector<uint64_t>{4});
  EXPECT_EQ(stacks.first_arrival_ns(), UINT64_MAX);
  EXPECT_FALSE(stacks.empty()) << "one is walked";
  stacks.forget(taken[0]);
  EXPECT_TRUE(stacks.empty());
}

TEST_F(WaitingStacksTest, AtLeastOneIsTakenAndThenSoManyBytes) {
  for (int i = 0; i < 5; ++i) add(kUser);
  EXPECT_EQ(stacks.take(kUser, 10, 1).size(), 1U);
  EXPECT_EQ(stacks.take(kUser, 10, kStack + 1000).size(), 2U);
}

TEST_F(WaitingStacksTest, ParkedOnesWaitAgainWhenTheirTableIsThere) {
  for (int i = 0; i < 4; ++i) add(i == 3 ? kRoot : kUser);
  take(kUser);
  stacks.park(7, std::move(taken[0]));
  stacks.park(8, std::move(taken[1]));
  stacks.forget(taken[2]);
  take(kRoot);
  stacks.park(7, std::move(taken[0]));
  EXPECT_FALSE(stacks.waits(kUser));
  EXPECT_EQ(stacks.first_arrival_ns(), 1U);
  EXPECT_EQ(stacks.ready(7), (std::vector<uint32_t>{kRoot, kUser}));
  EXPECT_EQ(take(kUser), std::vector<uint64_t>{1});
  EXPECT_EQ(take(kRoot), std::vector<uint64_t>{4});
  EXPECT_TRUE(stacks.ready(7).empty());
  EXPECT_EQ(numbers(stacks.take_parked(8)), std::vector<uint64_t>{2});
}

TEST_F(WaitingStacksTest, ParkedOnesWaitNotForEver) {
  for (int i = 0; i < 4; ++i) add(kUser);
  take(kUser);
  for (size_t i = 0; i < 3; ++i) stacks.park(i == 1 ? 8 : 7, std::move(taken[i]));
  EXPECT_EQ(numbers(stacks.take_parked_before(3)), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(stacks.first_arrival_ns(), 3U);
  EXPECT_TRUE(stacks.ready(8).empty());
  EXPECT_EQ(stacks.ready(7), std::vector<uint32_t>{kUser});
  EXPECT_EQ(take(kUser), std::vector<uint64_t>{3});
}

TEST_F(WaitingStacksTest, WhoIsAloneHasEverythingAndIsRefusedThen) {
  for (int i = 0; i < 100; ++i) add(kUser);
  EXPECT_FALSE(stacks.add(job(kUser), dropped));
  EXPECT_TRUE(dropped.empty());
  EXPECT_FALSE(stacks.add(job(kRoot, kMax), dropped)) << "larger than all";
}

TEST_F(WaitingStacksTest, TheOwnerWithTheMostMakesRoom) {
  for (int i = 0; i < 100; ++i) add(kUser);
  for (int i = 0; i < 50; ++i) add(kRoot);
  EXPECT_EQ(dropped.size(), 50U);
  EXPECT_EQ(dropped[0].sample.value, 100U) << "his newest";
  EXPECT_TRUE(std::ranges::all_of(dropped, [](const UnwindJob& each) { return each.owner() == kUser; }));
  EXPECT_FALSE(stacks.add(job(kRoot), dropped)) << "as much as he";
}

// A slow table's stacks are lost before those that nothing keeps.
TEST_F(WaitingStacksTest, WhatWaitsForTheTableOfMostMakesRoomForTheSameOwner) {
  for (int i = 0; i < 100; ++i) add(kUser);
  take(kUser);
  for (int i = 0; i < 100; ++i) stacks.park(i % 10 == 0 ? 1 : 2, std::move(taken[static_cast<size_t>(i)]));
  for (int i = 0; i < 60; ++i) add(kUser);
  ASSERT_EQ(dropped.size(), 60U);
  EXPECT_EQ(dropped[0].sample.value, 100U) << "the newest of image 2";
  EXPECT_EQ(numbers(stacks.take_parked(1)).size(), 10U) << "none of image 1";
  EXPECT_EQ(take(kUser).size(), 60U);
}

// Those that made room in vain are not lost.
TEST_F(WaitingStacksTest, WhoMadeRoomIsToldAlsoWhereItWasNotEnough) {
  for (int i = 0; i < 50; ++i) add(kUser);
  while (stacks.add(job(kRoot, 1000), dropped) && dropped.empty()) {
  }
  dropped.clear();
  size_t before = 0;
  const auto count = [&] { return stacks.take(kUser, 1000, SIZE_MAX).size() + stacks.take(kRoot, 100'000, SIZE_MAX).size(); };
  EXPECT_FALSE(stacks.add(job(kUser, 20 * kStack), dropped));
  before = dropped.size();
  EXPECT_EQ(count() + before, 50U + static_cast<size_t>(last_ - 52));
}

TEST_F(WaitingStacksTest, WhatIsWalkedIsNotDropped) {
  for (int i = 0; i < 100; ++i) add(kUser);
  take(kUser);
  EXPECT_FALSE(stacks.add(job(kRoot), dropped));
  EXPECT_TRUE(dropped.empty());
  for (const UnwindJob& each : taken) stacks.forget(each);
  EXPECT_TRUE(stacks.add(job(kRoot), dropped));
}

TEST_F(WaitingStacksTest, AllOfOneOwnerCanBeTaken) {
  for (int i = 0; i < 3; ++i) add(kUser);
  add(kRoot);
  take(kUser, 1);
  stacks.park(7, std::move(taken[0]));
  EXPECT_EQ(numbers(stacks.take_all(kUser)), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_TRUE(stacks.take_parked(7).empty());
  EXPECT_EQ(numbers(stacks.take_all()), std::vector<uint64_t>{4});
  EXPECT_TRUE(stacks.empty());
}

}  // namespace
}  // namespace cicada::ingest
