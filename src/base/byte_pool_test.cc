// SPDX-License-Identifier: Apache-2.0
#include "base/byte_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace cicada {
namespace {

std::vector<uint8_t> bytes_of(size_t size, uint8_t first) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(first + i);
  return bytes;
}

TEST(BytePool, UsesAgainWhatWasGivenBack) {
  BytePool pool;
  const uint8_t* where = nullptr;
  {
    const BytePool::Copy copy = pool.copy(bytes_of(60'000, 1));
    where = copy.data();
    EXPECT_EQ(pool.kept(), 0U);
  }
  EXPECT_EQ(pool.kept(), 65'536U);
  const auto wanted = bytes_of(40'000, 7);  // of the same capacity
  const BytePool::Copy again = pool.copy(wanted);
  EXPECT_EQ(again.data(), where);
  EXPECT_TRUE(std::ranges::equal(std::span<const uint8_t>(again), wanted));
  EXPECT_EQ(pool.kept(), 0U);
  EXPECT_NE(pool.copy(wanted).data(), where);
}

TEST(BytePool, KeepsSoMuchAtMost) {
  BytePool pool;
  {
    std::vector<BytePool::Copy> many;
    for (int i = 0; i < 1000; ++i) many.push_back(pool.copy(bytes_of(60'000, 0)));
  }
  EXPECT_LE(pool.kept(), BytePool::kMaxKept);
  EXPECT_GT(pool.kept(), BytePool::kMaxKept / 2);
}

TEST(BytePool, CopiesOutliveItAndChangeThreads) {
  std::vector<BytePool::Copy> copies;
  {
    BytePool pool;
    for (size_t i = 0; i < 100; ++i) copies.push_back(pool.copy(bytes_of(i, static_cast<uint8_t>(i))));
    std::jthread([taken = pool.copy(bytes_of(5000, 3))]() mutable { taken = {}; });
  }
  for (size_t i = 0; i < copies.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(std::span<const uint8_t>(copies[i]), bytes_of(i, static_cast<uint8_t>(i))));
}

}  // namespace
}  // namespace cicada
