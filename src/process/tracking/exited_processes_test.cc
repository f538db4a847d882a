// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/exited_processes.h"

#include <gtest/gtest.h>

namespace cicada::process {
namespace {

constexpr uint64_t kFirst = 5'000'000'000, kSecond = 6'000'000'000;

TEST(ExitedProcesses, AreKnownForTheRestOfTheCycleAndTheNext) {
  ExitedProcesses exited;
  exited.add({7, 1, kFirst, 3, "early"});
  exited.end_cycle();
  exited.add({8, 1, kFirst, 3, "late"});
  EXPECT_EQ(exited.find(7, std::nullopt)->comm, "early");
  exited.end_cycle();
  EXPECT_FALSE(exited.find(7, std::nullopt));
  EXPECT_EQ(exited.find(8, std::nullopt)->comm, "late");
  exited.end_cycle();
  EXPECT_FALSE(exited.find(8, std::nullopt));
}

TEST(ExitedProcesses, AreToldApartByTheirStart) {
  ExitedProcesses exited;
  exited.add({7, 1, kSecond, 4, "second"});
  exited.add({7, 1, kFirst, 3, "first"});  // told of late
  EXPECT_EQ(exited.find(7, SampledStart::of(kFirst))->comm, "first");
  EXPECT_EQ(exited.find(7, SampledStart::of(kSecond))->comm, "second");
  EXPECT_EQ(exited.find(7, std::nullopt)->comm, "second");
  EXPECT_FALSE(exited.find(7, SampledStart::of(kFirst + kNsPerTick)));
}

TEST(ExitedProcesses, AreBounded) {
  ExitedProcesses exited;
  for (size_t i = 0; i <= ExitedProcesses::kMax; ++i) {
    exited.add({static_cast<Pid>(i + 1), 1, kFirst, 3, "x"});
    if (i == ExitedProcesses::kMax / 2) exited.end_cycle();
  }
  EXPECT_TRUE(exited.find(static_cast<Pid>(ExitedProcesses::kMax), std::nullopt));
  EXPECT_FALSE(exited.find(static_cast<Pid>(ExitedProcesses::kMax + 1), std::nullopt));
}

}  // namespace
}  // namespace cicada::process
