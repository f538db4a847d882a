// SPDX-License-Identifier: Apache-2.0
// What ProcessTable::advance() does: images that open, scans, a full trie.
#include "process/tracking/process_fixture_for_test.h"

namespace cicada::process {
namespace {

TEST_F(ProcessTableFixture, ImageBeingOpenedIsPublishedWhenItIsOpen) {
  images.slow = true;
  run_program(5, 7);
  table->apply(kernel_fork(5, 6));
  table->apply(map_event(6, 0x900000, 1, 11));
  advance();
  EXPECT_EQ(kernel.image(5, 0x400000), 0u);
  images.ready = {7, 11};
  advance();
  EXPECT_EQ(kernel.image(5, 0x400000), 7u);
  EXPECT_EQ(kernel.image(6, 0x400000), 7u);
  EXPECT_EQ(kernel.image(6, 0x900000), 11u);
}

TEST_F(ProcessTableFixture, RescanTakesWhatMremapLeftAndIsLimited) {
  run_program(5, 7);
  maps[5].entries = {maps_entry(0x400000, 4, 7), maps_entry(0xb00000, 2, 12)};
  for (int i = 0; i < 100; ++i) {
    table->request_rescan(5);
    advance();
  }
  EXPECT_EQ(maps_reads, 1u);
  EXPECT_EQ(kernel.image(5, 0xb00000), 12u);
  now += 1000 * kMs;
  maps[5].entries = {maps_entry(0x400000, 4, 7)};
  advance();
  advance();
  EXPECT_EQ(maps_reads, 2u);
  EXPECT_EQ(kernel.image(5, 0xb00000), 0u);
}

// In a storm a program is sampled before it is shown to the kernel: that is no reason to read /proc.
TEST_F(ProcessTableFixture, MissInAProgramAboutToBeShownIsNotScanned) {
  table->apply(exec_event(5));
  table->apply(map_event(5, 0x400000, 4, 7));
  table->apply(kernel_exec(5));
  table->request_rescan(5);
  table->advance(now, 3 * kMs);
  EXPECT_EQ(maps_reads, 0u);
  EXPECT_EQ(kernel.used(), 0u) << "too young";
  advance();
  EXPECT_EQ(kernel.image(5, 0x400000), 7u);
}

TEST_F(ProcessTableFixture, ShortLivedProcessHasItsNameForTwoCycles) {
  lifecycle_record exit = record(RECORD_EXIT, 6, ++now, 77);
  std::memcpy(exit.comm, "quick", 5);
  table->note_short_lived(record(RECORD_FORK, 6, ++now, 76, 5));
  table->note_short_lived(exit);
  const SampledStart start = SampledStart::of(exit.start_ns);
  EXPECT_FALSE(table->request_rescan(6));  // not followed
  ASSERT_TRUE(table->find_process(6, start));
  EXPECT_EQ(table->find_process(6, start)->comm, "quick");
  EXPECT_FALSE(table->find_process(6, SampledStart::of(exit.start_ns + kNsPerTick)));
  table->end_cycle();
  EXPECT_TRUE(table->find_process(6, start));
  EXPECT_EQ(table->counts().short_lived, 1u);
  EXPECT_EQ(table->counts().forks, 1u);
  table->end_cycle();
  EXPECT_FALSE(table->find_process(6, start));
}

TEST_F(ProcessTableFixture, LaterMappingsWinOverAScan) {
  run_program(5, 7);
  maps[5].entries = {maps_entry(0x400000, 4, 7), maps_entry(0x900000, 4, 11)};
  table->request_rescan(5);
  const MappingEvent before = map_event(5, 0x900000, 4, 10);
  table->advance(now);                                     // reads
  const MappingEvent after = map_event(5, 0x901000, 1, 12);
  table->apply(before);                                    // arrives late, is in the scan already
  table->apply(after);
  advance();                                               // applies
  EXPECT_EQ(kernel.image(5, 0x900000), 11u);
  EXPECT_EQ(kernel.image(5, 0x901000), 12u);
}

TEST_F(ProcessTableFixture, ScanAcrossAnExecIsThrownAway) {
  run_program(5, 7);
  table->apply(kernel_fork(5, 6, true));  // shares: a wrong scan of the child would spoil the parent
  maps[6].entries = {maps_entry(0x500000, 1, 9)};
  table->request_rescan(6);
  table->advance(now);
  EXPECT_EQ(maps_reads, 1u);
  table->apply(exec_event(6));
  advance();
  EXPECT_EQ(kernel.image(5, 0x400000), 7u);
  EXPECT_EQ(kernel.image(5, 0x500000), 0u);
  // And one that saw the moment between the old mappings and the new: nothing at all.
  maps[5].entries.clear();
  table->request_rescan(5);
  advance();
  advance();
  EXPECT_EQ(kernel.image(5, 0x400000), 7u);
}

TEST_F(ProcessTableFixture, FullTrieEvictsTheLeastRecentlySampled) {
  run_program(5, 7);
  run_program(6, 8);
  kernel.capacity = kernel.used();
  const uint32_t five = kernel.processes[5].address_space, six = kernel.processes[6].address_space;
  table->note_sampled(std::vector{six});
  table->note_sampled(std::vector{five});
  run_program(9, 10);
  EXPECT_EQ(kernel.image(9, 0x400000), 10u);
  EXPECT_EQ(kernel.image(5, 0x400000), 7u);
  EXPECT_EQ(kernel.image(6, 0x400000), 0u);
  EXPECT_EQ(table->counts().evicted_spaces, 1u);
  table->note_sampled(std::vector{kernel.processes[9].address_space, six});  // wanted again: comes back for another
  advance();
  EXPECT_EQ(kernel.image(6, 0x400000), 8u);
  EXPECT_EQ(kernel.image(5, 0x400000), 0u);
}

}  // namespace
}  // namespace cicada::process
