// SPDX-License-Identifier: Apache-2.0
#include "process/process_table.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <map>

#include "process/image_registry.h"
#include "process/mapping_events.h"
#include "process/proc_fs.h"

namespace cicada::process {
namespace {

// The kernel's maps as plain containers: lookups answer as the walk would see them at this moment.
class FakeKernel : public MappingPublisher {
 public:
  std::map<Pid, process_value> processes;
  std::map<uint32_t, std::vector<PublishedBlock>> spaces;
  std::vector<uint32_t> forgotten;
  size_t capacity = 1 << 20;
  uint32_t next_id = 1;

  std::optional<process_value> find_process(Pid pid) override {
    const auto at = processes.find(pid);
    return at == processes.end() ? std::nullopt : std::optional(at->second);
  }
  Result<process_value> adopt_process(Pid pid, uint64_t start_ticks) override {
    process_value& value = processes[pid];
    if (value.address_space == 0) {
      value.start_ns = start_ticks * 10'000'000;
      value.address_space = next_id++;
    }
    return value;
  }
  uint32_t allocate_address_space() override { return next_id++; }
  bool replace_address_space(Pid pid, uint32_t from, uint32_t to) override {
    const auto at = processes.find(pid);
    if (at == processes.end() || at->second.address_space != from) return false;
    at->second.address_space = to;
    at->second.flags &= ~static_cast<uint32_t>(PROCESS_SHARED_SPACE);
    return true;
  }
  PublishOutcome publish(uint32_t address_space, std::span<const BlockOperation> operations, std::span<const Pid>) override {
    PublishOutcome outcome;
    auto& blocks = spaces[address_space];
    for (const BlockOperation& operation : operations) {
      if (operation.change == BlockChange::kAdd && used() >= capacity) {
        outcome.error = make_error(ErrorKind::kLimit, "trie full");
        return outcome;
      }
      blocks = after_operations(blocks, {&operation, 1}, 1);
      ++outcome.applied;
    }
    return outcome;
  }
  void forget(uint32_t address_space) override {
    forgotten.push_back(address_space);
    EXPECT_TRUE(spaces[address_space].empty());
  }

  size_t used() const {
    size_t blocks = 0;
    for (const auto& [id, space] : spaces) blocks += space.size();
    return blocks;
  }
  // The image a pc of this process is in; 0: none. JIT: 9999.
  uint32_t image(Pid pid, uint64_t address) {
    const PublishedBlock* best = nullptr;
    for (const PublishedBlock& block : spaces[processes[pid].address_space]) {
      const bool covers = block.prefix_bits == 0 || ((address ^ block.base.value) >> (64 - block.prefix_bits)) == 0;
      if (covers && (best == nullptr || block.prefix_bits > best->prefix_bits)) best = &block;
    }
    if (best == nullptr || address < best->value.begin || address >= best->value.end) return 0;
    return (best->value.flags & MAPPING_JIT) != 0 ? 9999 : best->value.image;
  }
};

// Image id = inode; opening takes as long as the test says.
class FakeImages : public ImageSource {
 public:
  bool slow = false;
  std::vector<uint32_t> settled;
  Placement place(const MappedFile& mapped) override {
    const auto id = static_cast<uint32_t>(mapped.file.inode);
    if (slow) return {PlacementState::kPending, id, 0};
    return place_again(id, mapped.range, mapped.offset);
  }
  Placement place_again(uint32_t image, Range<RuntimeAddr> range, FileOffset offset) override {
    return {PlacementState::kImage, image, range.begin.value - offset.value};
  }
  std::vector<uint32_t> take_settled() override { return std::exchange(settled, {}); }
};

constexpr uint64_t kMs = 1'000'000;

// Drives a table with invented events. Time is the test's.
class Story : public testing::Test {
 protected:
  FakeKernel kernel;
  FakeImages images;
  ThreadNames names;
  uint64_t now = 1000 * kMs;
  std::map<Pid, MapsFile> maps;
  size_t maps_reads = 0;
  std::unique_ptr<ProcessTable> table = make();

  std::unique_ptr<ProcessTable> make() {
    ProcessTable::Options options;
    options.now_ns = [this] { return now; };
    options.read_maps = [this](Pid pid) -> Result<MapsFile> {
      ++maps_reads;
      if (!maps.contains(pid)) return make_error(ErrorKind::kGone, "gone");
      return maps[pid];
    };
    return std::make_unique<ProcessTable>(kernel, images, names, std::move(options));
  }
  static lifecycle_record record(uint32_t kind, Pid pid, uint64_t time, uint32_t space, Pid parent = 0, uint32_t flags = 0) {
    lifecycle_record r{};
    r.kind = kind;
    r.pid = pid;
    r.tid = pid;
    r.time_ns = time;
    r.start_ns = 1'000'000'000ull * static_cast<uint64_t>(pid);
    r.parent_pid = parent;
    r.address_space = space;
    r.flags = flags;
    return r;
  }
  // What the BPF programs do, and what they tell.
  lifecycle_record kernel_fork(Pid parent, Pid child, bool shares_memory = false) {
    process_value value = kernel.processes[parent];
    value.start_ns = 1'000'000'000ull * static_cast<uint64_t>(child);
    if (!shares_memory) value.flags |= PROCESS_SHARED_SPACE;
    kernel.processes[child] = value;
    return record(RECORD_FORK, child, ++now, value.address_space, parent, shares_memory ? 0 : PROCESS_SHARED_SPACE);
  }
  lifecycle_record kernel_exec(Pid pid) {
    process_value& value = kernel.processes[pid];
    value.start_ns = 1'000'000'000ull * static_cast<uint64_t>(pid);
    value.address_space = kernel.next_id++;
    value.flags = 0;
    return record(RECORD_EXEC, pid, ++now, value.address_space);
  }
  MappingEvent exec_event(Pid pid, const char* name = "prog") {
    MappingEvent event;
    event.kind = MappingEventKind::kExec;
    event.time_ns = ++now;
    event.pid = event.tid = pid;
    event.name = name;
    return event;
  }
  MappingEvent map_event(Pid pid, uint64_t begin, uint64_t pages, uint32_t image) {
    MappingEvent event;
    event.time_ns = ++now;
    event.pid = event.tid = pid;
    event.range = {RuntimeAddr(begin), RuntimeAddr(begin + pages * 4096)};
    event.file = {8, 1, image, 0};
    event.name = image == 0 ? "//anon" : "/lib/x";
    if (image == 0) event.file = {};
    return event;
  }
  static MapsEntry maps_entry(uint64_t begin, uint64_t pages, uint32_t image) {
    MapsEntry entry;
    entry.range = {RuntimeAddr(begin), RuntimeAddr(begin + pages * 4096)};
    entry.file = {8, 1, image, 0};
    entry.executable = true;
    entry.path = "/lib/x";
    return entry;
  }
  void advance() {
    now += kMs;
    table->advance(now);
  }
  // A program `image` at 0x400000 in process `pid`, all told in order.
  void run_program(Pid pid, uint32_t image) {
    table->apply(exec_event(pid));
    table->apply(map_event(pid, 0x400000, 4, image));
    table->apply(kernel_exec(pid));
    advance();
  }
};

TEST_F(Story, ExecPublishesItsMappingsUnderTheNewId) {
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

TEST_F(Story, ExecRecordMayComeFirst) {
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

TEST_F(Story, YoungProgramIsKnownToRescuesBeforeTheKernelSeesIt) {
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

TEST_F(Story, ExecWhoseEventsWereLostIsRescanned) {
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

TEST_F(Story, TwoExecsInARowKeepTheirSetsApart) {
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

TEST_F(Story, ForkSharesUntilSomebodyMaps) {
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

TEST_F(Story, MappingWhatIsThereAlreadyCopiesNothing) {
  run_program(5, 7);
  table->apply(kernel_fork(5, 6));
  table->apply(map_event(6, 0x400000, 4, 7));
  advance();
  EXPECT_EQ(table->counts().copies_on_write, 0u);
}

TEST_F(Story, VforkIsTheSameMemory) {
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

TEST_F(Story, ForkDuringACopyGetsTheParentsNewId) {
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

TEST_F(Story, MappingsOfAChildNobodyAnnouncedYetAreKept) {
  run_program(5, 7);
  const lifecycle_record fork = kernel_fork(5, 6);
  table->apply(map_event(6, 0x900000, 1, 11));
  advance();
  table->apply(fork);
  advance();
  EXPECT_EQ(kernel.image(6, 0x900000), 11u);
  EXPECT_EQ(kernel.image(5, 0x900000), 0u);
}

TEST_F(Story, NewerMappingSupersedes) {
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
  EXPECT_EQ(kernel.image(5, 0x900000), 9999u);  // generated code
}

// What a sample of this time says to be at `address`, if the walk found `image` with its usual bias there; and whether it must be told.
static std::optional<uint32_t> replaced_by(const ProcessTable& table, uint32_t space, Pid pid, uint64_t time, uint64_t address) {
  if (time >= table.replaced_until_ns()) return std::nullopt;
  std::optional<uint32_t> image;
  for (const Replacement& r : table.find_replacements(space, pid, time, false)) {
    if (r.range.contains(RuntimeAddr(address))) image = r.now.image;
  }
  return image;
}

TEST_F(Story, ReplacedCodeIsKnownFromItsEventUntilTheKernelIsShown) {
  run_program(5, 7);
  run_program(6, 7);
  const uint32_t space = kernel.processes[5].address_space, other = kernel.processes[6].address_space;
  table->apply(map_event(5, 0x900000, 4, 11));
  table->apply(map_event(6, 0x900000, 4, 11));
  advance();
  EXPECT_EQ(table->replaced_until_ns(), 0u);  // nothing was there before
  now += kMs;
  const MappingEvent event = map_event(5, 0x902000, 8, 12);
  const uint64_t mapped = event.time_ns;
  now += kMs;
  table->apply(event);
  EXPECT_EQ(replaced_by(*table, space, 5, now + kMs, 0x902000), 12u);  // not shown: all from then on
  advance();
  EXPECT_EQ(kernel.image(5, 0x902000), 12u);
  EXPECT_EQ(table->replaced_until_ns(), now);
  EXPECT_EQ(replaced_by(*table, space, 5, mapped - 1, 0x902000), std::nullopt);
  EXPECT_EQ(replaced_by(*table, space, 5, mapped, 0x902000), 12u);
  EXPECT_EQ(replaced_by(*table, space, 5, now - 1, 0x903fff), 12u);
  EXPECT_EQ(replaced_by(*table, space, 5, now, 0x902000), std::nullopt);
  EXPECT_EQ(replaced_by(*table, space, 5, mapped, 0x901fff), std::nullopt);  // the old one is still there
  EXPECT_EQ(replaced_by(*table, space, 5, mapped, 0x904000), std::nullopt);  // nothing was there
  EXPECT_EQ(replaced_by(*table, other, 6, mapped, 0x902000), std::nullopt);
}

TEST_F(Story, ReplacedCodeOfACopyIsNotItsSiblings) {
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
  const uint32_t own = kernel.processes[6].address_space;
  EXPECT_NE(own, shared);
  EXPECT_EQ(replaced_by(*table, own, 6, now, 0x900000), 12u);  // the copy was shown as it was before
  EXPECT_EQ(kernel.image(6, 0x900000), 11u);
  advance();
  EXPECT_EQ(kernel.image(6, 0x900000), 12u);
  EXPECT_EQ(kernel.image(5, 0x900000), 11u);
  for (const Pid pid : {6, 8}) {
    EXPECT_EQ(replaced_by(*table, shared, pid, now, 0x900000), std::nullopt);
    EXPECT_EQ(replaced_by(*table, own, pid, now, 0x900000), std::nullopt);
    EXPECT_EQ(replaced_by(*table, shared, pid, now - 1, 0x900000), 12u);
  }
  table->apply(kernel_fork(6, 9));
  EXPECT_EQ(replaced_by(*table, own, 9, now - 1, 0x900000), std::nullopt);  // born after it was shown
}

TEST_F(Story, ReplacedCodeIsPlacedOnceItsFileIsOpen) {
  run_program(5, 7);
  const uint32_t space = kernel.processes[5].address_space;
  table->apply(map_event(5, 0x900000, 4, 11));
  advance();
  images.slow = true;
  const MappingEvent event = map_event(5, 0x901000, 2, 12);
  table->apply(event);
  advance();
  EXPECT_EQ(kernel.image(5, 0x901000), 0u);  // a miss, no lie
  EXPECT_EQ(table->replaced_until_ns(), now);
  auto found = table->find_replacements(space, 5, event.time_ns, false);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].now.state, PlacementState::kPending);
  images.slow = false;
  images.settled = {12};
  advance();
  found = table->find_replacements(space, 5, event.time_ns, false);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].now.state, PlacementState::kImage);
  EXPECT_EQ(found[0].now.bias, 0x901000u);
  EXPECT_TRUE(table->find_replacements(space, 5, event.time_ns - 1, false).empty());
  EXPECT_EQ(table->find_replacements(space, 5, event.time_ns - 1, true).size(), 1u);  // looked up later than sampled
}

TEST_F(Story, ReplacedCodeStaysKnownWhereTheKernelCannotBeShown) {
  run_program(5, 7);
  const uint32_t space = kernel.processes[5].address_space;
  table->apply(map_event(5, 0x900000, 4, 11));
  advance();
  kernel.capacity = 0;
  table->apply(map_event(5, 0x901000, 1, 12));
  advance();
  EXPECT_EQ(replaced_by(*table, space, 5, now + 1000 * kMs, 0x901000), 12u);
}

TEST_F(Story, ExitedSpaceLeavesOneCycleLater) {
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
  EXPECT_EQ(kernel.forgotten, std::vector<uint32_t>{space});
  EXPECT_EQ(table->counts().exits, 1u);
  EXPECT_EQ(table->counts().blocks, 0u);
}

TEST_F(Story, SharedSpaceStaysUntilItsLastProcessIsGone) {
  run_program(5, 7);
  table->apply(kernel_fork(5, 6));
  table->apply(record(RECORD_EXIT, 5, ++now, 1));
  for (int i = 0; i < 3; ++i) table->end_cycle();
  EXPECT_EQ(kernel.image(6, 0x400000), 7u);
  table->apply(record(RECORD_EXIT, 6, ++now, 1));
  for (int i = 0; i < 2; ++i) table->end_cycle();
  EXPECT_EQ(kernel.used(), 0u);
}

TEST_F(Story, ReusedPidIsAnotherProcess) {
  run_program(5, 7);
  lifecycle_record fork = record(RECORD_FORK, 5, ++now, 77, 4, PROCESS_SHARED_SPACE);
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
TEST_F(Story, EventsOfASuccessorAreNotItsPredecessors) {
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
  lifecycle_record fork = record(RECORD_FORK, 5, ++now, kernel.processes[2].address_space, 2, PROCESS_SHARED_SPACE);
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

TEST_F(Story, ImageBeingOpenedIsPublishedWhenItIsOpen) {
  images.slow = true;
  run_program(5, 7);
  table->apply(kernel_fork(5, 6));
  table->apply(map_event(6, 0x900000, 1, 11));
  advance();
  EXPECT_EQ(kernel.image(5, 0x400000), 0u);
  images.settled = {7, 11};
  advance();
  EXPECT_EQ(kernel.image(5, 0x400000), 7u);
  EXPECT_EQ(kernel.image(6, 0x400000), 7u);
  EXPECT_EQ(kernel.image(6, 0x900000), 11u);
}

TEST_F(Story, RescanTakesWhatMremapLeftAndIsLimited) {
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
TEST_F(Story, MissInAProgramAboutToBeShownIsNotScanned) {
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

TEST_F(Story, PassedProcessHasItsNameForTwoCycles) {
  lifecycle_record exit = record(RECORD_EXIT, 6, ++now, 77);
  std::memcpy(exit.comm, "quick", 5);
  table->pass(record(RECORD_FORK, 6, ++now, 76, 5));
  table->pass(exit);
  const SampledStart start = SampledStart::of(exit.start_ns);
  EXPECT_FALSE(table->find_process(6));
  ASSERT_TRUE(table->find_passed(6, start));
  EXPECT_EQ(table->find_passed(6, start)->comm, "quick");
  EXPECT_FALSE(table->find_passed(6, SampledStart::of(exit.start_ns + kNsPerTick)));
  table->end_cycle();
  EXPECT_TRUE(table->find_passed(6, start));
  EXPECT_EQ(table->counts().passed, 1u);
  EXPECT_EQ(table->counts().forks, 1u);
  table->end_cycle();
  EXPECT_FALSE(table->find_passed(6, start));
}

TEST_F(Story, LaterMappingsWinOverAScan) {
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

TEST_F(Story, ScanAcrossAnExecIsThrownAway) {
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

TEST_F(Story, FullTrieEvictsTheLeastRecentlySampled) {
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

TEST_F(Story, ThreadsInheritTheirNameAndKeepItForACycle) {
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

// The same machine with real events, real files and real children; only the BPF maps are containers.
class Live : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = MappingEvents::open({});
    if (!opened) GTEST_SKIP() << opened.error().message();
    events_.emplace(*std::move(opened));
  }
  void turn() {
    pollfd fds[] = {{events_->poll_fd(), POLLIN, 0}, {images.settled_fd(), POLLIN, 0}};
    ::poll(fds, 2, 5);
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    const uint64_t now = static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
    const uint64_t lost = events_->drain(now, [this](const MappingEvent& e) { return table.wants(e); }, [this](const MappingEvent& e) { table.apply(e); });
    if (lost > 0) table.report_lost();
    table.advance(now);
  }
  // Until the kernel side names this address as a file called `name`.
  bool wait_for(Pid pid, uint64_t address, std::string_view name) {
    // By time, not by turns: where others map much, turns do not wait, and a rescan comes once a second.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < deadline) {
      turn();
      const uint32_t image = kernel.image(pid, address);
      const auto info = images.find(image);
      if (info && info->path.ends_with(name)) return true;
    }
    return false;
  }
  FakeKernel kernel;
  ImageRegistry images{{}};
  ThreadNames names;
  ProcessTable table{kernel, images, names, {}};
  std::optional<MappingEvents> events_;
};

TEST_F(Live, AdoptedProcessHasEveryExecutableMappingOfItsMapsFile) {
  ASSERT_TRUE(table.adopt(::getpid()));
  ASSERT_TRUE(wait_for(::getpid(), reinterpret_cast<uint64_t>(&::gnu_get_libc_version), "libc.so.6"));  // sanitizers leave it alone
  EXPECT_TRUE(wait_for(::getpid(), reinterpret_cast<uint64_t>(&parse_maps), "process_tests"));
  const auto maps = read_maps(::getpid(), MapsFilter::kExecutable);
  for (int i = 0; i < 50; ++i) turn();
  for (const MapsEntry& entry : maps->entries) {
    if (entry.path == "[vsyscall]") continue;
    const uint32_t image = kernel.image(::getpid(), entry.range.begin.value);
    ASSERT_NE(image, 0u) << entry.path;
    EXPECT_TRUE(image == 9999 || images.find(image)->path == entry.path) << entry.path;
  }
  EXPECT_EQ(names.find(::getpid(), ~uint64_t{0}), "process_tests");
}

TEST_F(Live, LibraryLoadedLaterAndReplacedAtItsAddress) {
  ASSERT_TRUE(table.adopt(::getpid()));
  const UniqueFd a(::open("/bin/true", O_RDONLY | O_CLOEXEC)), b(::open("/bin/false", O_RDONLY | O_CLOEXEC));
  void* at = ::mmap(nullptr, 16384, PROT_READ | PROT_EXEC, MAP_PRIVATE, a.get(), 0);
  EXPECT_TRUE(wait_for(::getpid(), reinterpret_cast<uint64_t>(at), "/true"));
  ::munmap(at, 16384);
  void* again = ::mmap(at, 16384, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, b.get(), 0);
  ASSERT_EQ(again, at);
  EXPECT_TRUE(wait_for(::getpid(), reinterpret_cast<uint64_t>(at), "/false"));
  // mremap tells nobody; a miss makes a rescan.
  void* moved = ::mremap(at, 16384, 16384, MREMAP_MAYMOVE | MREMAP_FIXED, static_cast<char*>(at) - (64 << 20));
  ASSERT_NE(moved, MAP_FAILED);
  turn();
  EXPECT_EQ(kernel.image(::getpid(), reinterpret_cast<uint64_t>(moved)), 0u);
  table.request_rescan(::getpid());
  EXPECT_TRUE(wait_for(::getpid(), reinterpret_cast<uint64_t>(moved), "/false"));
  EXPECT_EQ(kernel.image(::getpid(), reinterpret_cast<uint64_t>(at)), 0u);
  ::munmap(moved, 16384);
}

TEST_F(Live, ProgramThatRanAndWentIsKnownByFile) {
  // The id comes from the test, as a BPF program would give it; mappings and images are the machine's.
  const char* path = "/tmp/cicada process table test";
  ::unlink(path);
  ASSERT_EQ(::system(fmt::format("cp /bin/sleep '{}'", path).c_str()), 0);
  const Pid child = ::fork();
  if (child == 0) {
    ::execl(path, "x", "1000", nullptr);
    ::_exit(127);
  }
  for (int i = 0; i < 5000; ++i) {
    const auto text = read_proc_file(fmt::format("/proc/{}/maps", child), 1 << 20);
    if (text && text->find("libc.so.6") != std::string::npos && text->find("process table test") != std::string::npos) break;
    ::usleep(1000);
  }
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  ::unlink(path);  // deleted while it runs
  const auto maps = read_maps(child, MapsFilter::kExecutable);
  lifecycle_record exec{};
  exec.kind = RECORD_EXEC;
  exec.pid = child;
  exec.start_ns = 1;
  exec.time_ns = static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
  exec.address_space = kernel.next_id++;
  kernel.processes[child] = {1, 0, exec.address_space, 0, 0};
  table.apply(exec);
  EXPECT_TRUE(wait_for(child, maps->entries.front().range.begin.value, "process table test"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const uint32_t image = kernel.image(child, maps->entries.front().range.begin.value);
  EXPECT_TRUE(images.open(image));  // pinned: the file has no name and no process any more
  EXPECT_TRUE(images.elf(image));
}

}  // namespace
}  // namespace cicada::process
