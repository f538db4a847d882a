// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_list.h"

#include <gtest/gtest.h>

namespace cicada {
namespace {

TEST(ParseCpuList, GivesEachOnceAscending) {
  EXPECT_EQ(*parse_cpu_list("8,0-3,2", "--cpu"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(*parse_cpu_list("0-2,5\n", "file"), (std::vector<int>{0, 1, 2, 5}));
  EXPECT_EQ(*parse_cpu_list("7", "--cpu"), std::vector<int>{7});
}

TEST(ParseCpuList, RefusesWhatIsNoList) {
  for (const char* text : {"", "\n", ",", "a", "1-", "3-1", "1,,2", "1,", "1;2", "-1", "0-99999999", "0-99999999999"}) {
    const auto cpus = parse_cpu_list(text, "--cpu");
    ASSERT_FALSE(cpus) << text;
    EXPECT_NE(cpus.error().message().find("--cpu"), std::string::npos);
  }
}

TEST(OnlineCpus, ThisMachineHasOne) {
  const auto cpus = online_cpus();
  ASSERT_TRUE(cpus);
  EXPECT_FALSE(cpus->empty());
}

}  // namespace
}  // namespace cicada
