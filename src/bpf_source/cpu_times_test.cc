// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/cpu_times.h"

#include <gtest/gtest.h>

#include "base/cpu_list.h"

namespace cicada::bpf_source {
namespace {

TEST(CpuTimes, AddsUpWhatIsBusyAndWhatIsIdle) {
  const CpuTimes times = parse_cpu_times(
      "cpu  20 0 20 70 9 0 0 0 0 0\ncpu0 10 1 10 30 4 2 3 5 8 9\ncpu12 10 0 10 40 5 0 0 0 0 0\nintr 5 1 2\ncpux 1 2 3 4 5 6 7 8\ncpu3 1 2 3 4 5\n", 100);
  EXPECT_EQ(times, (CpuTimes{{0, {260'000'000, 340'000'000, 50'000'000}}, {12, {200'000'000, 450'000'000, 0}}}));
  EXPECT_TRUE(parse_cpu_times("", 100).empty());
  EXPECT_TRUE(parse_cpu_times("cpu0 1 2 3 4 5 6 7 8", 0).empty());
}

TEST(CpuTimes, NeverRunBackwards) {
  EXPECT_EQ((CpuTime{5, 4, 3} - CpuTime{2, 6, 1}), (CpuTime{3, 0, 2}));
}

TEST(CpuTimes, KnowsTheCpusOfThisMachine) {
  const auto online = online_cpus();
  ASSERT_TRUE(online);
  const CpuTimes times = read_cpu_times();
  for (const int cpu : *online) EXPECT_TRUE(times.contains(cpu)) << cpu;
}

}  // namespace
}  // namespace cicada::bpf_source
