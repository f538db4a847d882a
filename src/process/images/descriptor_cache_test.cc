// SPDX-License-Identifier: Apache-2.0
#include "process/images/descriptor_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace cicada::process {
namespace {

UniqueFd file() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(DescriptorCache, ClosesTheLeastRecentlyUsed) {
  DescriptorCache cache(2);
  cache.insert(1, file());
  cache.insert(2, file());
  const int second = cache.find(2);
  EXPECT_GE(cache.find(1), 0);
  cache.insert(3, file());
  EXPECT_EQ(cache.find(2), -1);
  EXPECT_FALSE(second != cache.find(3) && is_open(second));
  EXPECT_GE(cache.find(1), 0);
  EXPECT_GE(cache.find(3), 0);
  EXPECT_EQ(cache.closed(), 1U);
}

TEST(DescriptorCache, HasOneDescriptorAnId) {
  DescriptorCache cache(2);
  cache.insert(1, file());
  cache.insert(2, file());
  auto other = file();
  const int fd = other.get();
  cache.insert(1, std::move(other));
  EXPECT_EQ(cache.find(1), fd);
  EXPECT_GE(cache.find(2), 0);
  cache.erase(1);
  cache.erase(1);
  EXPECT_EQ(cache.find(1), -1);
  EXPECT_FALSE(is_open(fd));
  EXPECT_EQ(cache.closed(), 0U);
}

}  // namespace
}  // namespace cicada::process
