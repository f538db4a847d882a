// SPDX-License-Identifier: Apache-2.0
#include "collect/cpu_events.h"

#include <gtest/gtest.h>

namespace cicada::collect {
namespace {

TEST(ParseCpuList, ReadsRangesAndSingles) {
  const auto cpus = parse_cpu_list("8,0-2\n");
  ASSERT_TRUE(cpus);
  EXPECT_EQ(*cpus, (std::vector<int>{0, 1, 2, 8}));
}

TEST(ParseCpuList, RefusesWhatIsNoList) {
  for (const char* text : {"", "a", "1-", "3-1", "1,,2", "1;2", "-1", "0-99999999"}) {
    EXPECT_FALSE(parse_cpu_list(text)) << text;
  }
}

TEST(CpuEvents, NamesTheCpuThatIsNotThere) {
  CpuEventOptions options;
  options.cpus = {4000};
  const auto events = CpuEvents::open(options, -1);
  ASSERT_FALSE(events);
  EXPECT_NE(events.error().message().find("CPU 4000"), std::string::npos) << events.error().message();
}

}  // namespace
}  // namespace cicada::collect
