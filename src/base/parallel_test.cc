// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace cicada {
namespace {

TEST(ForEachParallel, RunsEachPieceOnce) {
  for (const unsigned threads : {0U, 1U, 3U, 50U}) {
    std::vector<std::atomic<int>> runs(20);
    for_each_parallel(runs.size(), threads, [&](size_t i) { ++runs[i]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
  for_each_parallel(0, 4, [](size_t) { FAIL(); });
}

TEST(ForEachParallel, ThrowsWhatAPieceThrewWhenAllAreDone) {
  std::atomic<int> runs = 0;
  const auto run = [&](size_t i) {
    ++runs;
    if (i % 3 == 0) throw std::runtime_error("piece");
  };
  EXPECT_THROW(for_each_parallel(10, 2, run), std::runtime_error);
  EXPECT_EQ(runs, 10);
}

TEST(CountParts, AreWorthTheirThread) {
  EXPECT_EQ(count_parts(0, 100), 1U);
  EXPECT_EQ(count_parts(199, 100), 1U);
  EXPECT_LE(count_parts(1'000'000, 100), 4U);
}

}  // namespace
}  // namespace cicada
