// SPDX-License-Identifier: Apache-2.0
#include "collect/held_samples.h"

#include <gtest/gtest.h>

namespace cicada::collect {
namespace {

HeldSample arrived(uint64_t time_ns) {
  HeldSample held{};
  held.arrived_ns = time_ns;
  return held;
}

TEST(HeldSamples, WaitUntilWhatHappenedBeforeTheirArrivalIsApplied) {
  HeldSamples held;
  EXPECT_EQ(held.ready(~uint64_t{0}, ~uint64_t{0}), nullptr);
  held.push(arrived(1000));
  held.push(arrived(2000));
  EXPECT_EQ(held.ready(1000, 3000), nullptr);
  ASSERT_NE(held.ready(1001, 3000), nullptr);
  EXPECT_FALSE(held.overdue(*held.ready(1001, 3000), 3000));
  held.pop();
  EXPECT_EQ(held.ready(1001, 3000), nullptr);
  EXPECT_NE(held.ready(2001, 3000), nullptr);
}

TEST(HeldSamples, AStuckTrackerHoldsThemForABoundedTime) {
  HeldSamples held;
  held.push(arrived(1000));
  EXPECT_EQ(held.ready(0, 1000 + HeldSamples::kMaxWaitNs), nullptr);
  const HeldSample* late = held.ready(0, 1001 + HeldSamples::kMaxWaitNs);
  ASSERT_NE(late, nullptr);
  EXPECT_TRUE(held.overdue(*late, 1001 + HeldSamples::kMaxWaitNs));
}

TEST(HeldSamples, AStuckTrackerHoldsABoundedNumber) {
  HeldSamples held;
  for (size_t i = 0; i < HeldSamples::kMax; ++i) held.push(arrived(1000));
  EXPECT_EQ(held.ready(0, 1000), nullptr);
  held.push(arrived(1000));
  EXPECT_NE(held.ready(0, 1000), nullptr);
  held.pop();
  EXPECT_EQ(held.ready(0, 1000), nullptr);
}

}  // namespace
}  // namespace cicada::collect
