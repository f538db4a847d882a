// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/idle_times.h"

#include <gtest/gtest.h>

#include "base/cpu_list.h"

namespace cicada::bpf_source {
namespace {

TEST(IdleTimes, AddsIdleAndWaitingForEachCpu) {
  const IdleTimes times = parse_idle_times(
      "cpu  20 0 20 70 9 0 0 0 0 0\ncpu0 10 0 10 30 4 0 0 0 0 0\ncpu12 10 0 10 40 5 0 0 0 0 0\nintr 5 1 2\ncpux 1 2 3 4 5\ncpu3 1 2 3\n", 100);
  EXPECT_EQ(times, (IdleTimes{{0, 340'000'000}, {12, 450'000'000}}));
  EXPECT_TRUE(parse_idle_times("", 100).empty());
  EXPECT_TRUE(parse_idle_times("cpu0 1 2 3 4 5", 0).empty());
}

TEST(IdleTimes, KnowsTheCpusOfThisMachine) {
  const auto online = online_cpus();
  ASSERT_TRUE(online);
  const IdleTimes times = read_idle_times();
  for (const int cpu : *online) EXPECT_TRUE(times.contains(cpu)) << cpu;
}

}  // namespace
}  // namespace cicada::bpf_source
