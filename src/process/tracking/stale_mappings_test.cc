// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/stale_mappings.h"

#include <gtest/gtest.h>

namespace cicada::process {
namespace {

StaleMapping at(uint64_t since_ns, uint64_t published_ns = StaleMapping::kNotYet) {
  StaleMapping r;
  r.range = {RuntimeAddr(0x1000), RuntimeAddr(0x2000)};
  r.since_ns = since_ns;
  r.published_ns = published_ns;
  return r;
}

TEST(StaleMappings, OneComparisonWhereNothingIsReplaced) {
  StaleMappings all;
  EXPECT_EQ(all.until_ns(), 0u);
  all.note(1, 10, 1, at(100));
  EXPECT_EQ(all.until_ns(), StaleMapping::kNotYet);
  all.mark_published(2, 150);  // another's
  EXPECT_EQ(all.until_ns(), StaleMapping::kNotYet);
  all.mark_published(1, 200);
  EXPECT_EQ(all.until_ns(), 200u);
  EXPECT_FALSE(all.open());
}

TEST(StaleMappings, AreForgottenWithTheirSpaceOrByAge) {
  StaleMappings all;
  all.note(1, 10, 1, at(100));
  all.note(1, 10, 2, at(100));  // sampled as 1, shown as 2
  all.forget(1, 300);
  EXPECT_FALSE(all.open());
  EXPECT_TRUE(all.find(1, 10, 200, true).empty());
  all.note(3, 10, 3, at(400));
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
    all.note(1, 10, 1, at(i + 1));
    all.mark_published(1, i + 2);
  }
  EXPECT_EQ(total(), StaleMappings::kMaxOfASpace);
  EXPECT_EQ(all.find(1, 10, 2000, false).size(), 1u);  // the newest is there
  EXPECT_EQ(all.refused(), 0u);
  for (uint32_t space = 2; space < 40; ++space) {
    for (size_t i = 0; i < StaleMappings::kMaxOfASpace; ++i) all.note(space, 10, space, at(5000));
  }
  EXPECT_EQ(total(), StaleMappings::kMax);
  EXPECT_EQ(all.refused(), 39 * StaleMappings::kMaxOfASpace - StaleMappings::kMax);
  for (uint32_t space = 0; space < 40; ++space) all.forget(space, 6000);
  EXPECT_EQ(total(), 0u);
  EXPECT_EQ(all.until_ns(), 6000u);
}

}  // namespace
}  // namespace cicada::process
