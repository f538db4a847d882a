// SPDX-License-Identifier: Apache-2.0
// A process table between a kernel of containers and files that open when a test says so, driven with invented events.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "process/tracking/process_table.h"

namespace cicada::process {

// The kernel's maps as plain containers: lookups answer as the walk would see them at this moment.
class FakeKernel : public MappingPublisher {
 public:
  std::map<Pid, process_value> processes;
  std::map<uint32_t, std::vector<PublishedBlock>> spaces;
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
    at->second.flags &= ~static_cast<uint32_t>(PROCESS_COW_PENDING);
    return true;
  }
  PublishOutcome publish(uint32_t address_space, std::span<const BlockOperation> operations) override {
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

  std::map<uint32_t, uint64_t> watched;  // space -> up to when everything is published there
  void watch(uint32_t address_space, Pid) override { watched.try_emplace(address_space); }
  void end_poll(uint64_t watermark_ns, const std::function<bool(uint32_t)>& is_published) override {
    for (auto& [space, published_ns] : watched) {
      if (is_published(space)) published_ns = watermark_ns;
    }
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
  std::vector<uint32_t> ready;  // to be told of
  ImageBinding resolve(const MappedFile& mapped) override {
    if (mapped.file.anonymous()) return {BindingState::kJit, 0, 0};
    const auto id = static_cast<uint32_t>(mapped.file.inode);
    if (slow) return {BindingState::kPending, id, 0};
    return re_resolve(id, mapped.range, mapped.offset);
  }
  ImageBinding re_resolve(uint32_t image, Range<RuntimeAddr> range, FileOffset offset) override {
    return {BindingState::kImage, image, range.begin.value - offset.value};
  }
  std::vector<uint32_t> take_ready() override { return std::exchange(ready, {}); }
};

inline constexpr uint64_t kMs = 1'000'000;

// Drives a table with invented events. Time is the test's.
class ProcessTableFixture : public testing::Test {
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
    options.scans.now_ns = [this] { return now; };
    options.scans.read_maps = MapsScanner::one_by_one([this](Pid pid) -> Result<MapsFile> {
      ++maps_reads;
      if (!maps.contains(pid)) return make_error(ErrorKind::kGone, "gone");
      return maps[pid];
    });
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
    if (!shares_memory) value.flags |= PROCESS_COW_PENDING;
    kernel.processes[child] = value;
    return record(RECORD_FORK, child, ++now, value.address_space, parent, shares_memory ? 0 : PROCESS_COW_PENDING);
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

}  // namespace cicada::process
