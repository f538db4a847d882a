// SPDX-License-Identifier: Apache-2.0
#include "base/near_names.h"

#include <gtest/gtest.h>

#include <vector>

namespace cicada {
namespace {

TEST(NearNames, TheNearestFirst) {
  const std::vector<std::string> names{"malloc", "calloc", "realloc", "free", "posix_memalign", std::string(5000, 'm')};
  EXPECT_EQ(near_names("maloc", names), "malloc");
  EXPECT_EQ(near_names("caloc", names), "calloc");
  EXPECT_EQ(near_names("alloc", names), "malloc, calloc, realloc");
  EXPECT_EQ(near_names("memalign", names), "posix_memalign");  // a part of it
  EXPECT_EQ(near_names("strcpy", names), "");
  EXPECT_EQ(near_names("", names), "");
  EXPECT_EQ(near_names(std::string(1000, 'm'), names), "");
  EXPECT_EQ(near_names("free", {}), "");
}

}  // namespace
}  // namespace cicada
