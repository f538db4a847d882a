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

TEST(PassingProcessesTest, PassesWhoCameAndWent) {
  PassingProcesses passing;
  passing.select(std::vector{record(RECORD_FORK, 10, 100), record(RECORD_EXEC, 10, 100), record(RECORD_FORK, 11, 200), record(RECORD_EXIT, 10, 100)}, nobody);
  EXPECT_TRUE(passing.contains(10));
  EXPECT_FALSE(passing.contains(11)) << "still there";
  EXPECT_FALSE(passing.contains(12)) << "never heard of";
}

TEST(PassingProcessesTest, KeepsWhoWasSampled) {
  PassingProcesses passing;
  passing.select(std::vector{record(RECORD_FORK, 10, 100), record(RECORD_EXIT, 10, 100)}, [](Pid pid) { return pid == 10; });
  EXPECT_FALSE(passing.contains(10));
}

TEST(PassingProcessesTest, KeepsParentsOfChildren) {
  PassingProcesses passing;
  passing.select(std::vector{record(RECORD_FORK, 10, 100), record(RECORD_FORK, 11, 200, 10), record(RECORD_EXIT, 11, 200), record(RECORD_EXIT, 10, 100)}, nobody);
  EXPECT_FALSE(passing.contains(10));
  EXPECT_TRUE(passing.contains(11));
}

TEST(PassingProcessesTest, KeepsWhoWasThereBefore) {
  PassingProcesses passing;
  passing.select(std::vector{record(RECORD_EXEC, 10, 100), record(RECORD_EXIT, 10, 100)}, nobody);
  EXPECT_FALSE(passing.contains(10));
}

TEST(PassingProcessesTest, KeepsNumbersWithTwoOwners) {
  PassingProcesses passing;
  const std::vector first_was_there = {record(RECORD_EXIT, 10, 50), record(RECORD_FORK, 10, 100), record(RECORD_EXIT, 10, 100)};
  passing.select(first_was_there, nobody);
  EXPECT_FALSE(passing.contains(10)) << "its mappings could not be told from those of the one before";
  const std::vector both_pass = {record(RECORD_FORK, 10, 100), record(RECORD_EXIT, 10, 100), record(RECORD_FORK, 10, 200), record(RECORD_EXIT, 10, 200)};
  passing.select(both_pass, nobody);
  EXPECT_FALSE(passing.contains(10));
  const std::vector second_stays = {record(RECORD_FORK, 10, 100), record(RECORD_EXIT, 10, 100), record(RECORD_FORK, 10, 200)};
  passing.select(second_stays, nobody);
  EXPECT_FALSE(passing.contains(10));
}

// perf tells of a fork before the lifecycle program does.
TEST(PassingProcessesTest, LeavesTheNextOwnersEvents) {
  PassingProcesses passing;
  passing.select(std::vector{record(RECORD_FORK, 10, 100), record(RECORD_EXIT, 10, 100)}, nobody);
  EXPECT_TRUE(passing.contains(10, 150));
  EXPECT_FALSE(passing.contains(10, 151));
}

TEST(PassingProcessesTest, DecidesAnewEachTurn) {
  PassingProcesses passing;
  passing.select(std::vector{record(RECORD_FORK, 10, 100), record(RECORD_EXIT, 10, 100)}, nobody);
  passing.select(std::vector{record(RECORD_FORK, 11, 100)}, nobody);
  EXPECT_FALSE(passing.contains(10));
}

}  // namespace
}  // namespace cicada::process
