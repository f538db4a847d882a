// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/short_lived_processes.h"

#include <gtest/gtest.h>

#include <vector>

namespace cicada::process {
namespace {

lifecycle_record record(record_kind kind, Pid pid, uint64_t start_ns, Pid parent = 1) {
  lifecycle_record record{};
  record.kind = kind;
  record.pid = pid;
  record.start_ns = start_ns;
  record.parent_pid = parent;
  record.time_ns = kind == RECORD_EXIT ? start_ns + 50 : start_ns;
  return record;
}

bool nobody(Pid) { return false; }

TEST(ShortLivedProcessesTest, PassesWhoCameAndWent) {
  ShortLivedProcesses processes;
  processes.select(std::vector{record(RECORD_FORK, 10, 100), record(RECORD_EXEC, 10, 100), record(RECORD_FORK, 11, 200), record(RECORD_EXIT, 10, 100)}, nobody);
  EXPECT_TRUE(processes.contains(10));
  EXPECT_FALSE(processes.contains(11)) << "still there";
  EXPECT_FALSE(processes.contains(12)) << "never heard of";
}

TEST(ShortLivedProcessesTest, KeepsWhoWasSampled) {
  ShortLivedProcesses processes;
  processes.select(std::vector{record(RECORD_FORK, 10, 100), record(RECORD_EXIT, 10, 100)}, [](Pid pid) { return pid == 10; });
  EXPECT_FALSE(processes.contains(10));
}

TEST(ShortLivedProcessesTest, KeepsParentsOfChildren) {
  ShortLivedProcesses processes;
  processes.select(std::vector{record(RECORD_FORK, 10, 100), record(RECORD_FORK, 11, 200, 10), record(RECORD_EXIT, 11, 200), record(RECORD_EXIT, 10, 100)}, nobody);
  EXPECT_FALSE(processes.contains(10));
  EXPECT_TRUE(processes.contains(11));
}

TEST(ShortLivedProcessesTest, KeepsWhoWasThereBefore) {
  ShortLivedProcesses processes;
  processes.select(std::vector{record(RECORD_EXEC, 10, 100), record(RECORD_EXIT, 10, 100)}, nobody);
  EXPECT_FALSE(processes.contains(10));
}

TEST(ShortLivedProcessesTest, KeepsNumbersWithTwoOwners) {
  ShortLivedProcesses processes;
  const std::vector first_was_there = {record(RECORD_EXIT, 10, 50), record(RECORD_FORK, 10, 100), record(RECORD_EXIT, 10, 100)};
  processes.select(first_was_there, nobody);
  EXPECT_FALSE(processes.contains(10)) << "its mappings could not be told from those of the one before";
  const std::vector both_pass = {record(RECORD_FORK, 10, 100), record(RECORD_EXIT, 10, 100), record(RECORD_FORK, 10, 200), record(RECORD_EXIT, 10, 200)};
  processes.select(both_pass, nobody);
  EXPECT_FALSE(processes.contains(10));
  const std::vector second_stays = {record(RECORD_FORK, 10, 100), record(RECORD_EXIT, 10, 100), record(RECORD_FORK, 10, 200)};
  processes.select(second_stays, nobody);
  EXPECT_FALSE(processes.contains(10));
}

// perf tells of a fork before the lifecycle program does.
TEST(ShortLivedProcessesTest, LeavesTheNextOwnersEvents) {
  ShortLivedProcesses processes;
  processes.select(std::vector{record(RECORD_FORK, 10, 100), record(RECORD_EXIT, 10, 100)}, nobody);
  EXPECT_TRUE(processes.contains(10, 150));
  EXPECT_FALSE(processes.contains(10, 151));
}

TEST(ShortLivedProcessesTest, DecidesAnewEachTurn) {
  ShortLivedProcesses processes;
  processes.select(std::vector{record(RECORD_FORK, 10, 100), record(RECORD_EXIT, 10, 100)}, nobody);
  processes.select(std::vector{record(RECORD_FORK, 11, 100)}, nobody);
  EXPECT_FALSE(processes.contains(10));
}

}  // namespace
}  // namespace cicada::process
