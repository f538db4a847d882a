// SPDX-License-Identifier: Apache-2.0
// Events of both streams, in whatever order they come, and what is known of processes then.
#include "process/tracking/process_table.h"

#include <cstring>

#include "process/tracking/process_fixture_for_test.h"

namespace cicada::process {
namespace {

TEST_F(ProcessTableFixture, ExecPublishesItsMappingsUnderTheNewId) {
  table->apply(exec_event(5, "make"));
  table->apply(map_event(5, 0x400000, 4, 7));
  advance();
  EXPECT_EQ(kernel.used(), 0u);  // no id yet
  table->apply(kernel_exec(5));
  advance();
  EXPECT_EQ(kernel.image(5, 0x401000), 7u);
  EXPECT_EQ(table->find_process(5)->comm, "make");
  EXPECT_EQ(names.find(5, ~uint64_t{0}), "make");
  EXPECT_EQ(maps_reads, 0u);
  EXPECT_EQ(table->find_mapping(kernel.processes[5].address_space, RuntimeAddr(0x400000))->image, 7u);
  EXPECT_FALSE(table->find_mapping(kernel.processes[5].address_space, RuntimeAddr(0x500000)));
}

TEST_F(ProcessTableFixture, ExecRecordMayComeFirst) {
  const MappingEvent comm = exec_event(5);
  const MappingEvent map = map_event(5, 0x400000, 4, 7);
  const lifecycle_record exec = kernel_exec(5);
  table->apply(exec);
  advance();
  table->apply(comm);
  table->apply(map);
  advance();
  EXPECT_EQ(kernel.image(5, 0x400000), 7u);
  advance();
  EXPECT_EQ(maps_reads, 0u);
}

TEST_F(ProcessTableFixture, YoungProgramIsKnownToDeferredWalksBeforeTheKernelSeesIt) {
  const auto advance_in_storm = [&](uint64_t ms) {
    now += ms * kMs;
    return table->advance(now, 3 * kMs);
  };
  table->apply(exec_event(5));
  table->apply(map_event(5, 0x400000, 4, 7));
  table->apply(kernel_exec(5));
  EXPECT_TRUE(advance_in_storm(1));  // come back soon
  EXPECT_EQ(kernel.used(), 0u);
  EXPECT_EQ(table->find_mapping(kernel.processes[5].address_space, RuntimeAddr(0x400000))->image, 7u);
  advance_in_storm(3);
  EXPECT_EQ(kernel.image(5, 0x400000), 7u);
  // What an older program maps is shown at once; one that ends young is never shown.
  table->apply(map_event(5, 0x900000, 1, 8));
  table->apply(exec_event(6));
  table->apply(map_event(6, 0x400000, 4, 9));
  table->apply(kernel_exec(6));
  advance_in_storm(1);
  EXPECT_EQ(kernel.image(5, 0x900000), 8u);
  const size_t used = kernel.used();
  table->apply(record(RECORD_EXIT, 6, ++now, kernel.processes[6].address_space));
  EXPECT_FALSE(advance_in_storm(10));
  EXPECT_EQ(kernel.used(), used);
}

TEST_F(ProcessTableFixture, ExecWhoseEventsWereLostIsRescanned) {
  maps[5].entries = {maps_entry(0x400000, 4, 7)};
  table->apply(kernel_exec(5));
  advance();
  EXPECT_EQ(maps_reads, 0u);
  now += 30 * kMs;
  advance();
  advance();
  EXPECT_EQ(maps_reads, 1u);
  EXPECT_EQ(kernel.image(5, 0x400000), 7u);
}

// A mapping that a scan hands over was bound when it came: its image may have been opened before the scan was applied.
TEST_F(ProcessTableFixture, ImageOpenedWhileAScanWaitsIsNotPendingForEver) {
  run_program(5, 7);
  maps[5].entries = {maps_entry(0x400000, 4, 7)};
  now += 2000 * kMs;
  table->request_rescan(5);
  advance();
  ASSERT_EQ(maps_reads, 1u);
  images.slow = true;
  table->apply(map_event(5, 0x400000, 4, 8));
  images.slow = false;
  images.ready = {8};
  advance();
  EXPECT_EQ(kernel.image(5, 0x400000), 8u);
  EXPECT_TRUE(table->is_caught_up());
}

TEST_F(ProcessTableFixture, TwoExecsInARowKeepTheirSetsApart) {
  run_program(5, 7);
  const MappingEvent c1 = exec_event(5), m1 = map_event(5, 0x500000, 1, 8);
  const lifecycle_record e1 = kernel_exec(5);
  const MappingEvent c2 = exec_event(5), m2 = map_event(5, 0x600000, 1, 9);
  const lifecycle_record e2 = kernel_exec(5);
  for (const auto& event : {c1, m1, c2, m2}) table->apply(event);
  table->apply(e1);
  table->apply(e2);
  advance();
  EXPECT_EQ(kernel.image(5, 0x600000), 9u);
  EXPECT_EQ(kernel.image(5, 0x500000), 0u);
  EXPECT_EQ(kernel.image(5, 0x400000), 0u);
}

TEST_F(ProcessTableFixture, ForkSharesUntilSomebodyMaps) {
  run_program(5, 7);
  table->apply(kernel_fork(5, 6));
  table->apply(kernel_fork(5, 8));
  advance();
  EXPECT_EQ(kernel.image(6, 0x400000), 7u);
  const size_t before = kernel.used();
  table->apply(map_event(6, 0x900000, 2, 11));  // two workers that load different libraries at one address
  table->apply(map_event(8, 0x900000, 2, 12));
  advance();
  EXPECT_EQ(kernel.image(6, 0x900000), 11u);
  EXPECT_EQ(kernel.image(8, 0x900000), 12u);
  EXPECT_EQ(kernel.image(5, 0x900000), 0u);
  for (const Pid pid : {5, 6, 8}) EXPECT_EQ(kernel.image(pid, 0x400000), 7u);
  EXPECT_GT(kernel.used(), before);
  EXPECT_EQ(table->counts().copies_on_write, 2u);
  table->apply(map_event(5, 0xa00000, 1, 13));  // alone by now: no copy
  advance();
  EXPECT_EQ(table->counts().copies_on_write, 2u);
  EXPECT_EQ(kernel.image(6, 0xa00000), 0u);
}

TEST_F(ProcessTableFixture, MappingWhatIsThereAlreadyCopiesNothing) {
  run_program(5, 7);
  table->apply(kernel_fork(5, 6));
  table->apply(map_event(6, 0x400000, 4, 7));
  advance();
  EXPECT_EQ(table->counts().copies_on_write, 0u);
}

TEST_F(ProcessTableFixture, VforkIsTheSameMemory) {
  run_program(5, 7);
  table->apply(kernel_fork(5, 6, true));
  table->apply(map_event(6, 0x900000, 2, 11));
  advance();
  EXPECT_EQ(table->counts().copies_on_write, 0u);
  EXPECT_EQ(kernel.image(5, 0x900000), 11u);
  run_program(6, 8);  // its exec leaves the parent as it is
  EXPECT_EQ(kernel.image(5, 0x400000), 7u);
  EXPECT_EQ(kernel.image(6, 0x400000), 8u);
}

TEST_F(ProcessTableFixture, ForkDuringACopyGetsTheParentsNewId) {
  run_program(5, 7);
  table->apply(kernel_fork(5, 6));
  const MappingEvent map = map_event(5, 0x900000, 1, 11);
  const lifecycle_record late = kernel_fork(5, 8);  // the kernel still has the old id here
  table->apply(map);
  table->apply(late);
  advance();
  EXPECT_EQ(kernel.image(8, 0x900000), 11u);
  EXPECT_EQ(kernel.image(6, 0x900000), 0u);
  EXPECT_EQ(kernel.processes[8].address_space, kernel.processes[5].address_space);
}

TEST_F(ProcessTableFixture, MappingsOfAChildNobodyAnnouncedYetAreKept) {
  run_program(5, 7);
  const lifecycle_record fork = kernel_fork(5, 6);
  table->apply(map_event(6, 0x900000, 1, 11));
  advance();
  table->apply(fork);
  advance();
  EXPECT_EQ(kernel.image(6, 0x900000), 11u);
  EXPECT_EQ(kernel.image(5, 0x900000), 0u);
}

TEST_F(ProcessTableFixture, NewerMappingSupersedes) {
  run_program(5, 7);
  table->apply(map_event(5, 0x900000, 4, 11));
  advance();
  table->apply(map_event(5, 0x902000, 8, 12));  // dlclose, dlopen of something else at the same address
  advance();
  EXPECT_EQ(kernel.image(5, 0x901fff), 11u);
  EXPECT_EQ(kernel.image(5, 0x902000), 12u);
  EXPECT_EQ(table->counts().replaced_mappings, 1u);
  table->apply(map_event(5, 0x900000, 1, 0));
  advance();
  EXPECT_EQ(kernel.image(5, 0x900000), 9999u);  // JIT code
}

TEST_F(ProcessTableFixture, ExitedSpaceLeavesOneCycleLater) {
  run_program(5, 7);
  const uint32_t space = kernel.processes[5].address_space;
  table->apply(record(RECORD_EXIT, 5, ++now, space));
  table->apply(record(RECORD_EXIT, 5, ++now, space));  // two last threads may both say so
  advance();
  table->end_cycle();
  EXPECT_TRUE(table->find_mapping(space, RuntimeAddr(0x400000)));  // for late samples
  EXPECT_EQ(table->find_process(5)->start_ns, 5'000'000'000u);
  table->end_cycle();
  EXPECT_FALSE(table->find_mapping(space, RuntimeAddr(0x400000)));
  EXPECT_FALSE(table->find_process(5));
  EXPECT_EQ(kernel.used(), 0u);
  EXPECT_EQ(table->counts().address_spaces, 0u);
  EXPECT_EQ(table->counts().exits, 1u);
  EXPECT_EQ(table->counts().blocks, 0u);
}

TEST_F(ProcessTableFixture, SharedSpaceStaysUntilItsLastProcessIsGone) {
  run_program(5, 7);
  table->apply(kernel_fork(5, 6));
  table->apply(record(RECORD_EXIT, 5, ++now, 1));
  for (int i = 0; i < 3; ++i) table->end_cycle();
  EXPECT_EQ(kernel.image(6, 0x400000), 7u);
  table->apply(record(RECORD_EXIT, 6, ++now, 1));
  for (int i = 0; i < 2; ++i) table->end_cycle();
  EXPECT_EQ(kernel.used(), 0u);
}

TEST_F(ProcessTableFixture, ReusedPidIsAnotherProcess) {
  run_program(5, 7);
  lifecycle_record fork = record(RECORD_FORK, 5, ++now, 77, 4, PROCESS_COW_PENDING);
  fork.start_ns = 9'000'000'000;
  table->apply(fork);
  EXPECT_EQ(table->find_process(5)->start_ns, 9'000'000'000u);
  EXPECT_EQ(table->find_process(5, SampledStart::of(5'000'000'000))->start_ns, 5'000'000'000u);  // the old one, for late samples
  EXPECT_EQ(table->find_process(5, SampledStart::of(9'000'000'000))->start_ns, 9'000'000'000u);
  EXPECT_FALSE(table->find_process(5, SampledStart::of(5'000'001'000)));
  table->apply(record(RECORD_EXIT, 5, ++now, 1));  // of the old one, late
  EXPECT_EQ(table->find_process(5)->start_ns, 9'000'000'000u);
}

// perf's events come at once, BPF's records of fork and exit when the ring is next looked at.
TEST_F(ProcessTableFixture, EventsOfASuccessorAreNotItsPredecessors) {
  run_program(2, 6);
  run_program(5, 7);
  const uint64_t born_ns = now;
  const lifecycle_record exit = record(RECORD_EXIT, 5, ++now, kernel.processes[5].address_space);
  MappingEvent fork_event;
  fork_event.kind = MappingEventKind::kThreadFork;
  fork_event.time_ns = ++now;
  fork_event.pid = fork_event.tid = 5;
  fork_event.parent_pid = fork_event.parent_tid = 2;
  table->apply(fork_event);
  lifecycle_record fork = record(RECORD_FORK, 5, ++now, kernel.processes[2].address_space, 2, PROCESS_COW_PENDING);
  fork.start_ns = born_ns * 3 + 1;
  table->apply(exec_event(5, "other"));
  table->apply(map_event(5, 0x400000, 4, 8));
  lifecycle_record exec = kernel_exec(5);
  exec.start_ns = fork.start_ns;
  kernel.processes[5].start_ns = fork.start_ns;
  for (const lifecycle_record& each : {exit, fork, exec}) table->apply(each);
  advance();
  EXPECT_EQ(kernel.image(5, 0x401000), 8u);
  EXPECT_EQ(table->find_process(5)->comm, "other");
  EXPECT_EQ(maps_reads, 0u);
}

TEST_F(ProcessTableFixture, ThreadsInheritTheirNameAndKeepItForACycle) {
  run_program(5, 7);
  MappingEvent fork;
  fork.kind = MappingEventKind::kThreadFork;
  fork.pid = fork.parent_pid = fork.parent_tid = 5;
  fork.tid = 51;
  table->apply(fork);
  EXPECT_EQ(names.find(51, ~uint64_t{0}), "prog");
  MappingEvent comm;
  comm.kind = MappingEventKind::kComm;
  comm.pid = 5;
  comm.tid = 51;
  comm.name = "pool-1";
  table->apply(comm);
  EXPECT_EQ(names.find(51, ~uint64_t{0}), "pool-1");
  EXPECT_EQ(table->find_process(5)->comm, "prog");
  MappingEvent exit = fork;
  exit.kind = MappingEventKind::kThreadExit;
  table->apply(exit);
  names.end_cycle();
  EXPECT_EQ(names.find(51, ~uint64_t{0}), "pool-1");
  names.end_cycle();
  EXPECT_FALSE(names.find(51, ~uint64_t{0}));
}

TEST_F(ProcessTableFixture, AnExecWhoseEventWasLostNamesItsProgram) {
  run_program(5, 1);
  lifecycle_record record = kernel_exec(5);
  std::memcpy(record.comm, "other", 5);
  table->apply(record);
  EXPECT_EQ(table->find_process(5)->comm, "other");
  EXPECT_EQ(names.find(5, now), "other");
  // Where the events came, what they said last holds: the program may have renamed itself before its record was read.
  table->apply(exec_event(5, "third"));
  MappingEvent renamed = exec_event(5, "renamed");
  renamed.kind = MappingEventKind::kComm;
  table->apply(renamed);
  record = kernel_exec(5);
  std::memcpy(record.comm, "third", 5);
  table->apply(record);
  EXPECT_EQ(table->find_process(5)->comm, "renamed");
  EXPECT_EQ(names.find(5, now), "renamed");
}

// Also of a space that is forgotten.
TEST_F(ProcessTableFixture, KnowsWhoRunsInASpace) {
  EXPECT_EQ(table->find_user(12345), 0);
  table->apply(exec_event(5));
  table->apply(kernel_exec(5));
  advance();
  const uint32_t space = kernel.processes[5].address_space;
  EXPECT_EQ(table->find_user(space), 5);
  table->apply(record(RECORD_EXIT, 5, now, space));
  EXPECT_EQ(table->find_user(space), 0);
  for (int i = 0; i < 4; ++i) {
    advance();
    table->end_cycle();
    EXPECT_EQ(table->find_user(space), 0);
  }
}

}  // namespace
}  // namespace cicada::process
