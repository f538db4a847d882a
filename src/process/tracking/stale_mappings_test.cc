// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/stale_mappings.h"

#include <gtest/gtest.h>

namespace cicada::process {
namespace {

constexpr ImageBinding kOld{BindingState::kImage, 1, 0}, kNew{BindingState::kImage, 2, 0};

Mapping mapping(uint64_t begin, uint64_t end, ImageBinding binding) {
  return {{RuntimeAddr(begin), RuntimeAddr(end)}, FileOffset(0x100), binding};
}

// Process 10 replaces what it has at 0x1000.
void replace(StaleMappings& all, uint32_t space, uint64_t time, uint32_t sampled_as = 0, Pid pid = 10) {
  const std::vector users{SpaceUser{pid, sampled_as == 0 ? space : sampled_as}};
  all.note(space, users, std::vector{mapping(0x1000, 0x2000, kOld)}, mapping(0x1000, 0x2000, kNew), time);
}

TEST(StaleMappings, OneComparisonWhereNothingIsReplaced) {
  StaleMappings all;
  EXPECT_EQ(all.until_ns(), 0u);
  replace(all, 1, 100);
  EXPECT_EQ(all.until_ns(), StaleMapping::kNotYet);
  all.mark_published(2, 150);  // another's
  EXPECT_EQ(all.until_ns(), StaleMapping::kNotYet);
  all.mark_published(1, 200);
  EXPECT_EQ(all.until_ns(), 200u);
  EXPECT_FALSE(all.open());
}

TEST(StaleMappings, TellsPartsOfWhatWasThere) {
  StaleMappings all;
  const std::vector before{mapping(0x1000, 0x2000, kOld), mapping(0x3000, 0x4000, kNew), mapping(0x5000, 0x6000, {BindingState::kJit, 0, 0})};
  all.note(1, std::vector{SpaceUser{10, 1}}, before, mapping(0x1000, 0x6000, kNew), 100);
  const auto found = all.find(1, 10, 100, false);
  ASSERT_EQ(found.size(), 2u);  // the second is the same code as before
  EXPECT_EQ(found[0].was, kOld);
  EXPECT_EQ(found[1].now, kNew);
  EXPECT_EQ(found[1].range.begin.value, 0x5000u);
  EXPECT_EQ(found[1].now_offset.value, 0x4100u);
  EXPECT_EQ(all.replaced_images(), 1u);
}

TEST(StaleMappings, WhoMovesToACopyIsStaleUnderTheOldIdUntilTheCopyIsPublished) {
  StaleMappings all;
  replace(all, 2, 100, 1);
  EXPECT_EQ(all.find(1, 10, 150, false).size(), 1u);
  EXPECT_TRUE(all.find(1, 11, 150, false).empty());
  EXPECT_TRUE(all.find(2, 10, 150, false).empty());
  all.mark_published(1, 200);
  EXPECT_TRUE(all.open());
  all.mark_published(2, 300);
  EXPECT_FALSE(all.open());
  EXPECT_EQ(all.find(1, 10, 299, false).size(), 1u);
  EXPECT_TRUE(all.find(1, 10, 300, false).empty());
}

TEST(StaleMappings, ChildHasWhatItsParentHadWhenItForked) {
  StaleMappings all;
  replace(all, 1, 100);
  all.mark_published(1, 200);
  replace(all, 1, 300);
  all.fork(1, 10, 11, 350, 0);
  EXPECT_TRUE(all.find(1, 11, 150, false).empty());  // published before the fork
  EXPECT_EQ(all.find(1, 11, 350, false).size(), 1u);
  all.fork(1, 10, 12, 250, 0);
  EXPECT_TRUE(all.find(1, 12, 350, false).empty());  // mapped after the fork
  all.mark_published(1, 400);
  EXPECT_TRUE(all.find(1, 11, 400, false).empty());
}

TEST(StaleMappings, ChildThatMovesIsStaleUntilItHas) {
  StaleMappings all;
  replace(all, 2, 100, 1);
  all.fork(1, 10, 11, 150, 2);
  all.mark_published(2, 200);
  all.fork(1, 10, 12, 199, 2);  // told of late: the kernel moves it with the next publication
  EXPECT_TRUE(all.open());
  EXPECT_EQ(all.find(1, 12, 250, false).size(), 1u);
  all.mark_published(2, 300);
  EXPECT_FALSE(all.open());
  EXPECT_EQ(all.find(1, 11, 199, false).size(), 1u);
  EXPECT_TRUE(all.find(1, 11, 200, false).empty());
  EXPECT_EQ(all.find(1, 12, 299, false).size(), 1u);
  EXPECT_TRUE(all.find(1, 12, 300, false).empty());
}

TEST(StaleMappings, AreForgottenWithTheirSpaceOrByAge) {
  StaleMappings all;
  replace(all, 1, 100);
  replace(all, 2, 100, 1);
  all.forget(1, 300);
  EXPECT_FALSE(all.open());
  EXPECT_TRUE(all.find(1, 10, 200, true).empty());
  replace(all, 3, 400);
  all.mark_published(3, 500);
  all.expire(500 + StaleMappings::kKeepNs);
  EXPECT_EQ(all.find(3, 10, 400, false).size(), 1u);
  all.expire(501 + StaleMappings::kKeepNs);
  EXPECT_TRUE(all.find(3, 10, 400, false).empty());
}

TEST(StaleMappings, AreBoundedAndCounted) {
  StaleMappings all;
  const auto total = [&] {
    size_t sum = 0;
    for (uint32_t space = 0; space < 100; ++space) sum += all.find(space, 10, 0, true).size();
    return sum;
  };
  for (uint64_t i = 0; i < 2000; ++i) {
    replace(all, 1, i + 1);
    all.mark_published(1, i + 2);
  }
  EXPECT_EQ(total(), StaleMappings::kMaxOfASpace);
  EXPECT_EQ(all.find(1, 10, 2000, false).size(), 1u);  // the newest is there
  EXPECT_EQ(all.refused(), 0u);
  for (uint32_t space = 2; space < 40; ++space) {
    for (size_t i = 0; i < StaleMappings::kMaxOfASpace; ++i) replace(all, space, 5000);
  }
  EXPECT_EQ(total(), StaleMappings::kMax);
  EXPECT_EQ(all.refused(), 39 * StaleMappings::kMaxOfASpace - StaleMappings::kMax);
  for (uint32_t space = 0; space < 40; ++space) all.forget(space, 6000);
  EXPECT_EQ(total(), 0u);
  EXPECT_EQ(all.until_ns(), 6000u);
}

}  // namespace
}  // namespace cicada::process
