// SPDX-License-Identifier: Apache-2.0
#include "base/latency_histogram.h"

#include <gtest/gtest.h>

namespace cicada {
namespace {

TEST(LatencyHistogram, QuantilesAreWithinAnEighthOfAnOctave) {
  LatencyHistogram histogram;
  for (uint64_t ns = 1; ns <= 100'000; ++ns) histogram.add(ns);
  EXPECT_EQ(histogram.count(), 100'000U);
  EXPECT_EQ(histogram.longest_ns(), 100'000U);
  for (const double quantile : {0.001, 0.1, 0.5, 0.9, 0.99}) {
    const double exact = quantile * 100'000;
    EXPECT_GE(static_cast<double>(histogram.quantile_ns(quantile)), exact);
    EXPECT_LE(static_cast<double>(histogram.quantile_ns(quantile)), exact * 1.13 + 1);
  }
  EXPECT_EQ(histogram.quantile_ns(1), 100'000U);
}

TEST(LatencyHistogram, HoldsTheSmallestAndTheLargest) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.quantile_ns(0.5), 0U);
  histogram.add(0);
  EXPECT_EQ(histogram.quantile_ns(1), 0U);
  histogram.add(~uint64_t{0});
  EXPECT_EQ(histogram.quantile_ns(1), ~uint64_t{0});
}

}  // namespace
}  // namespace cicada
