// SPDX-License-Identifier: Apache-2.0
#include "profile/cpu_time.h"

#include <gtest/gtest.h>

namespace cicada::profile {
namespace {

Profile recorded(size_t samples, uint64_t cpu_ns) {
  Profile profile;
  profile.header.events[0].sample_ns = 1'000'000;
  profile.header.target_cpu_ns = cpu_ns;
  const ThreadId thread = profile.intern_thread(profile.intern_process(1, 1), 1);
  for (size_t i = 0; i < samples; ++i) profile.append_sample({.time_ns = i, .thread = thread});
  return profile;
}

TEST(CpuTime, IsTheSchedulersDividedBySamples) {
  EXPECT_DOUBLE_EQ(seconds_per_value(recorded(944, 2'080'000'000), {0}) * 944, 2.08);
  EXPECT_DOUBLE_EQ(seconds_per_value(recorded(944, 0), {0}), 0.001);
  Profile faults = recorded(944, 2'080'000'000);
  faults.header.events[0].unit = Unit::kEvents;
  EXPECT_EQ(seconds_per_value(faults, {0}), 0);
}

TEST(CpuTime, WithoutSamplesIsFoundBeyondChance) {
  const Unsampled half = find_unsampled(recorded(944, 2'069'000'000), {0});
  EXPECT_EQ(half.expected, 2069u);
  EXPECT_NEAR(half.share(), 0.54, 0.01);
  EXPECT_EQ(find_unsampled(recorded(2990, 2'991'000'000), {0}).share(), 0);
  EXPECT_EQ(find_unsampled(recorded(0, 2'000'000), {0}).share(), 0);  // two samples of a short program: chance
  EXPECT_EQ(find_unsampled(recorded(100, 0), {0}).share(), 0);
}

}  // namespace
}  // namespace cicada::profile
