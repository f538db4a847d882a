// SPDX-License-Identifier: Apache-2.0
#include "ingest/pending_samples.h"

#include <gtest/gtest.h>

namespace cicada::ingest {
namespace {

PendingSample arrived(uint64_t time_ns) {
  PendingSample held{};
  held.arrived_ns = time_ns;
  return held;
}

TEST(PendingSamples, WaitUntilWhatHappenedBeforeTheirArrivalIsApplied) {
  PendingSamples held;
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

TEST(PendingSamples, AStuckTrackerHoldsThemForABoundedTime) {
  PendingSamples held;
  held.push(arrived(1000));
  EXPECT_EQ(held.ready(0, 1000 + PendingSamples::kMaxWaitNs), nullptr);
  const PendingSample* late = held.ready(0, 1001 + PendingSamples::kMaxWaitNs);
  ASSERT_NE(late, nullptr);
  EXPECT_TRUE(held.overdue(*late, 1001 + PendingSamples::kMaxWaitNs));
}

TEST(PendingSamples, AStuckTrackerHoldsABoundedNumber) {
  PendingSamples held;
  for (size_t i = 0; i < PendingSamples::kMax; ++i) held.push(arrived(1000));
  EXPECT_EQ(held.ready(0, 1000), nullptr);
  held.push(arrived(1000));
  EXPECT_NE(held.ready(0, 1000), nullptr);
  held.pop();
  EXPECT_EQ(held.ready(0, 1000), nullptr);
}

}  // namespace
}  // namespace cicada::ingest
