// SPDX-License-Identifier: Apache-2.0
#include "base/kernel_setting.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace cicada {
namespace {

class KernelSetting : public testing::Test {
 protected:
  const std::string path = "/tmp/cicada-setting-" + std::to_string(::getpid());
  ~KernelSetting() override { ::unlink(path.c_str()); }
  std::optional<int64_t> number(const std::string& text) const {
    std::ofstream(path) << text;
    return find_number_in(path);
  }
};

TEST_F(KernelSetting, IsTheFirstLine) {
  std::ofstream(path) << "none [integrity]\nsecond\n";
  EXPECT_EQ(first_line_of(path), "none [integrity]");
  EXPECT_EQ(first_line_of("/nowhere/at/all"), "");
}

TEST_F(KernelSetting, NumbersMayBeNegativeAndFollowedByMore) {
  EXPECT_EQ(number("-1\n"), -1);
  EXPECT_EQ(number("  100000\n"), 100'000);
  EXPECT_EQ(number("4 2 7\n"), 4);
}

TEST_F(KernelSetting, WhatIsNoNumberIsNone) {
  for (const char* text : {"", "\n", "none\n", "99999999999999999999\n", "\n5\n"}) EXPECT_FALSE(number(text)) << text;
  EXPECT_FALSE(find_number_in("/nowhere/at/all"));
}

}  // namespace
}  // namespace cicada
