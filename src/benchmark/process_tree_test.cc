// SPDX-License-Identifier: Apache-2.0
#include "benchmark/process_tree.h"

#include <gtest/gtest.h>

namespace cicada::benchmark {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

TEST(ProcessTree, KnowsDescendantsOfProcessesThatWereNeverSampled) {
  ProcessTree tree;  // 1 (was there) ─▶ 2 ─▶ 3 ─▶ 4; 1 ─▶ 5
  tree.add({2, 1 * kSecond}, 1);
  tree.add({3, 2 * kSecond}, 2);
  tree.add({4, 3 * kSecond}, 3);
  tree.add({5, 4 * kSecond}, 1);
  EXPECT_TRUE(tree.is_in({4, 3 * kSecond + 9'000'000}, {2, 1 * kSecond - 9'000'000}));
  EXPECT_TRUE(tree.is_in({2, 1 * kSecond}, {2, 1 * kSecond}));
  EXPECT_TRUE(tree.is_in({4, 3 * kSecond}, {1, 0}));
  EXPECT_FALSE(tree.is_in({5, 4 * kSecond}, {2, 1 * kSecond}));
  EXPECT_FALSE(tree.is_in({2, 1 * kSecond}, {4, 3 * kSecond}));
}

TEST(ProcessTree, TellsTwoOwnersOfAPidApart) {
  ProcessTree tree;
  tree.add({2, 1 * kSecond}, 1);
  tree.add({3, 2 * kSecond}, 2);
  tree.add({2, 5 * kSecond}, 1);
  tree.add({4, 6 * kSecond}, 2);
  EXPECT_TRUE(tree.is_in({3, 2 * kSecond}, {2, 1 * kSecond}));
  EXPECT_FALSE(tree.is_in({4, 6 * kSecond}, {2, 1 * kSecond}));
  EXPECT_TRUE(tree.is_in({4, 6 * kSecond}, {2, 5 * kSecond}));
  EXPECT_FALSE(tree.is_in({2, 5 * kSecond}, {2, 1 * kSecond}));
}

}  // namespace
}  // namespace cicada::benchmark
