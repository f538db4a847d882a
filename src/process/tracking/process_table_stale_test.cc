// SPDX-License-Identifier: Apache-2.0
// What ProcessTable tells of code that was replaced (stale_mappings.h).
#include "process/tracking/process_fixture_for_test.h"

namespace cicada::process {
namespace {

// What a sample of this time says to be at `address`, if the walk found `image` with its usual bias there; and whether it must be told.
std::optional<uint32_t> replaced_by(const ProcessTable& table, uint32_t space, Pid pid, uint64_t time, uint64_t address) {
  if (time >= table.stale_until_ns()) return std::nullopt;
  std::optional<uint32_t> image;
  for (const StaleMapping& r : table.find_stale(space, pid, time, false)) {
    if (r.range.contains(RuntimeAddr(address))) image = r.now.image;
  }
  return image;
}

TEST_F(ProcessTableFixture, ReplacedCodeIsKnownFromItsEventUntilTheKernelIsShown) {
  run_program(5, 7);
  run_program(6, 7);
  const uint32_t space = kernel.processes[5].address_space, other = kernel.processes[6].address_space;
  table->apply(map_event(5, 0x900000, 4, 11));
  table->apply(map_event(6, 0x900000, 4, 11));
  advance();
  EXPECT_EQ(table->stale_until_ns(), 0u);  // nothing was there before
  now += kMs;
  const MappingEvent event = map_event(5, 0x902000, 8, 12);
  const uint64_t mapped = event.time_ns;
  now += kMs;
  table->apply(event);
  EXPECT_EQ(replaced_by(*table, space, 5, now + kMs, 0x902000), 12u);  // not shown: all from then on
  advance();
  EXPECT_EQ(kernel.image(5, 0x902000), 12u);
  EXPECT_EQ(table->stale_until_ns(), now);
  EXPECT_EQ(replaced_by(*table, space, 5, mapped - 1, 0x902000), std::nullopt);
  EXPECT_EQ(replaced_by(*table, space, 5, mapped, 0x902000), 12u);
  EXPECT_EQ(replaced_by(*table, space, 5, now - 1, 0x903fff), 12u);
  EXPECT_EQ(replaced_by(*table, space, 5, now, 0x902000), std::nullopt);
  EXPECT_EQ(replaced_by(*table, space, 5, mapped, 0x901fff), std::nullopt);  // the old one is still there
  EXPECT_EQ(replaced_by(*table, space, 5, mapped, 0x904000), std::nullopt);  // nothing was there
  EXPECT_EQ(replaced_by(*table, other, 6, mapped, 0x902000), std::nullopt);
}

TEST_F(ProcessTableFixture, WalksWhereCodeIsReplacedAreWatchedFromThenOn) {
  run_program(5, 7);
  const uint32_t space = kernel.processes[5].address_space;
  table->apply(map_event(5, 0x900000, 4, 11));
  advance();
  EXPECT_TRUE(kernel.watched.empty());
  table->apply(map_event(5, 0x900000, 4, 11));  // the same again
  advance();
  EXPECT_TRUE(kernel.watched.empty());
  table->apply(map_event(5, 0x900000, 4, 12));
  advance();
  EXPECT_EQ(kernel.watched, (std::map<uint32_t, uint64_t>{{space, now}}));
  const uint64_t before = now;
  now += kMs;
  table->apply(map_event(5, 0x901000, 1, 13));  // takes more blocks
  kernel.capacity = 0;                          // of which there are none
  advance();
  EXPECT_EQ(kernel.watched[space], before);
  kernel.capacity = 1 << 20;
  now += 1000 * kMs;
  table->apply(map_event(5, 0xa00000, 1, 14));  // what could not be published goes with what comes next
  advance();
  EXPECT_EQ(kernel.watched[space], now);
}

TEST_F(ProcessTableFixture, ReplacedCodeOfACopyIsNotItsSiblings) {
  run_program(5, 7);
  table->apply(map_event(5, 0x900000, 4, 11));
  advance();
  table->apply(kernel_fork(5, 6));
  const uint32_t shared = kernel.processes[5].address_space;
  const MappingEvent event = map_event(6, 0x900000, 4, 12);
  const lifecycle_record in_between = kernel_fork(6, 8);  // has the new code, and the old id as yet
  table->apply(event);
  table->apply(in_between);
  EXPECT_EQ(replaced_by(*table, shared, 6, now, 0x900000), 12u);
  EXPECT_EQ(replaced_by(*table, shared, 8, now, 0x900000), 12u);
  EXPECT_EQ(replaced_by(*table, shared, 5, now, 0x900000), std::nullopt);
  EXPECT_EQ(kernel.image(6, 0x900000), 11u);
  const uint64_t mapped = now;
  advance();
  const uint32_t own = kernel.processes[6].address_space;
  EXPECT_NE(own, shared);
  EXPECT_EQ(kernel.processes[8].address_space, own);
  EXPECT_EQ(kernel.image(6, 0x900000), 12u);
  EXPECT_EQ(kernel.image(5, 0x900000), 11u);
  for (const Pid pid : {6, 8}) {
    EXPECT_EQ(replaced_by(*table, shared, pid, now, 0x900000), std::nullopt);
    EXPECT_EQ(replaced_by(*table, shared, pid, now - 1, 0x900000), 12u);
    EXPECT_EQ(replaced_by(*table, own, pid, mapped, 0x900000), std::nullopt);  // never shown with the old code
  }
  table->apply(kernel_fork(6, 9));
  EXPECT_EQ(replaced_by(*table, own, 9, now - 1, 0x900000), std::nullopt);  // born after it was shown
}

TEST_F(ProcessTableFixture, ReplacedCodeIsPlacedOnceItsFileIsOpen) {
  run_program(5, 7);
  const uint32_t space = kernel.processes[5].address_space;
  table->apply(map_event(5, 0x900000, 4, 11));
  advance();
  images.slow = true;
  const MappingEvent event = map_event(5, 0x901000, 2, 12);
  table->apply(event);
  advance();
  EXPECT_EQ(kernel.image(5, 0x901000), 0u);  // a miss, no lie
  EXPECT_EQ(table->stale_until_ns(), now);
  auto found = table->find_stale(space, 5, event.time_ns, false);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].now.state, BindingState::kPending);
  images.slow = false;
  images.ready = {12};
  advance();
  found = table->find_stale(space, 5, event.time_ns, false);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].now.state, BindingState::kImage);
  EXPECT_EQ(found[0].now.bias, 0x901000u);
  EXPECT_TRUE(table->find_stale(space, 5, event.time_ns - 1, false).empty());
  EXPECT_EQ(table->find_stale(space, 5, event.time_ns - 1, true).size(), 1u);  // looked up later than sampled
}

// Unmapped without an event, then not in what a scan reads: a walk of before that is finished later must not meet what came to its place.
TEST_F(ProcessTableFixture, CodeThatAScanDoesNotFindAnyMoreIsKnownToWalksOfBefore) {
  run_program(5, 7);
  const uint32_t space = kernel.processes[5].address_space;
  table->apply(map_event(5, 0x900000, 4, 11));
  advance();
  const uint64_t sampled = now;
  now += 2000 * kMs;
  maps[5].entries = {maps_entry(0x400000, 4, 7)};  // not 11
  table->request_rescan(5);
  advance();  // begins
  now += kMs;
  advance();  // and is applied
  EXPECT_FALSE(table->find_mapping(space, RuntimeAddr(0x900000)));
  EXPECT_EQ(kernel.image(5, 0x900000), 0u);
  EXPECT_TRUE(kernel.watched.empty());
  now += kMs;
  table->apply(map_event(5, 0x901000, 1, 12));
  advance();
  EXPECT_EQ(table->find_mapping(space, RuntimeAddr(0x901000))->image, 12u);
  const auto was = [&](uint64_t address) {
    uint32_t image = 0;
    for (const StaleMapping& stale : table->find_stale(space, 5, sampled, true))
      if (stale.range.contains(RuntimeAddr(address)) && image == 0) image = stale.was.image;
    return image;
  };
  EXPECT_EQ(was(0x900000), 11u);
  EXPECT_EQ(was(0x901000), 11u);
  EXPECT_EQ(was(0x903fff), 11u);
  EXPECT_EQ(was(0x400000), 0u);  // is still there
}

TEST_F(ProcessTableFixture, ReplacedCodeStaysKnownWhereTheKernelCannotBeShown) {
  run_program(5, 7);
  const uint32_t space = kernel.processes[5].address_space;
  table->apply(map_event(5, 0x900000, 4, 11));
  advance();
  kernel.capacity = 0;
  table->apply(map_event(5, 0x901000, 1, 12));
  advance();
  EXPECT_EQ(replaced_by(*table, space, 5, now + 1000 * kMs, 0x901000), 12u);
}

}  // namespace
}  // namespace cicada::process
