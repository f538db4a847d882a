// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor_limit.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace cicada {
namespace {

UniqueFd another() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

TEST(DescriptorLimit, WhatIsReservedIsThereWhenAllElseIsUsedUp) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{64, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  {
    ReservedDescriptors reserved(8);
    EXPECT_EQ(reserved.size(), 8U);
    std::vector<UniqueFd> greedy;
    for (UniqueFd next = another(); next; next = another()) greedy.push_back(std::move(next));
    EXPECT_LT(greedy.size(), 64U);
    reserved.release();
    std::vector<UniqueFd> outputs;
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(outputs.emplace_back(another())) << i;
    EXPECT_FALSE(another());
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(DescriptorLimit, IsRaisedForUsAndPutBackForOthers) {
  rlimit before{}, now{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{256, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  raise_descriptor_limit();
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, std::min<rlim_t>(kWantedDescriptors, before.rlim_max));
  EXPECT_EQ(now.rlim_max, before.rlim_max);
  restore_descriptor_limit();
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, 256U);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace cicada
