// SPDX-License-Identifier: Apache-2.0
// Who runs in which address space, and what is mapped there: the tracker's state machine.
//
//   perf rings ──▶ MappingEvents ──▶ apply(event)  ─┐                         ┌─▶ MappingPublisher (BPF maps)
//   BPF ring   ──▶ lifecycle records ▶ apply(record) ├─▶ processes, spaces ────┤
//   /proc      ──▶ adopt, rescans ──▶ (scan as event)┘                         └─▶ find_process, find_mapping (any thread)
//
// The tracker's loop, each time something is readable or a few milliseconds passed:
//
//   const uint64_t horizon = now();                           // CLOCK_MONOTONIC, before reading anything
//   take the lifecycle records that arrived;
//   if (events.drain(horizon, wants, apply) > 0) table.report_lost();   // before the records: an exit may be among them
//   for (record : those records) table.apply(record);
//   table.advance(horizon);                                   // scans, images that were opened, publishing
//
// exec     COMM with the exec flag opens a pending set; mappings gather there; the BPF exec record brings the id they are published
//          under. Either may come first.
// fork     shares the parent's id. Copy-on-write: whoever maps first gets a new id, all entries cloned, then one pid -> id write.
//          vfork and CLONE_VM (no PROCESS_COW_PENDING in the record) stay one address space.
// exit     the space goes when its last process is gone, one collection cycle later (end_cycle).
// scan     subscribe, note the clock, read the id, read /proc/PID/maps; once every event up to then is applied: read the id again,
//          discard if it or the program changed, let later mappings win.
// Threads: all the tracker's, except the find_* (any).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "abi/mapping.h"
#include "abi/records.h"
#include "base/latency_histogram.h"
#include "process/images/image_source.h"
#include "process/procfs/maps_file.h"
#include "process/tracking/mapping_event.h"
#include "process/tracking/mapping_publisher.h"
#include "process/tracking/stale_mappings.h"
#include "process/tracking/thread_names.h"

namespace cicada::process {

struct ProcessInfo {
  Pid pid = 0;
  Pid parent_pid = 0;
  uint64_t start_ns = 0;  // since boot
  uint32_t address_space = 0;
  std::string comm;
};

struct ProcessTableCounts {
  uint64_t processes = 0, address_spaces = 0, mappings = 0, blocks = 0;  // now
  uint64_t execs = 0, forks = 0, exits = 0, maps = 0;                    // ever
  uint64_t copies_on_write = 0, scans = 0, scans_discarded = 0, publish_failures = 0, evicted_spaces = 0;
  uint64_t replaced_mappings = 0;  // a file was mapped where another one's code had been (dlclose, dlopen)
  uint64_t short_lived = 0;         // of the exits: came and went unnoticed
  uint64_t stale_dropped = 0;  // of these, or of their processes' copies, for want of room: samples may have the old names
  uint64_t orphan_events = 0;  // dropped: their process never became known
  uint64_t pending = 0;      // now: processes to be scanned, spaces to be published or with files that are being opened
};

class ProcessTable {
 public:
  struct Options {
    uint64_t rescan_interval_ns = 1'000'000'000;  // per process
    uint64_t scan_budget_ns = 20'000'000;         // of one advance(); the rest waits for the next
    bool whole_machine = true;                    // false: only adopted processes and their descendants
    // Ports to /proc and the clock; replaced in tests.
    std::function<Result<MapsFile>(Pid)> read_maps;
    std::function<uint64_t()> now_ns;
  };
  ProcessTable(MappingPublisher& publisher, ImageSource& images, ThreadNames& names, Options options);
  ~ProcessTable();

  // A process that was there before: made known to the kernel, scanned by one of the next advance() calls.
  // Fails: kGone, kPermission, kLimit. Kernel threads have no mappings and are only named.
  Result<void> adopt(Pid pid);
  bool wants(const MappingEvent& event) const;
  void apply(const MappingEvent& event);
  void apply(const lifecycle_record& record);
  // Instead of apply(), for the records of a process that came and went unnoticed (ShortLivedProcesses): who asks late learns its name.
  void note_short_lived(const lifecycle_record& record);
  // Events were lost: rescans everything, spread by the rate limit.
  void report_lost();
  // RECORD_MISS: a pc outside every known mapping.
  void request_rescan(Pid pid);
  // Every event up to `horizon_ns` has been applied. True: more scans wait, come back soon. Programs younger than `young_ns` are not shown
  // to the kernel yet: in a storm most end before anybody is sampled in them, and whoever is, is finished from the table. (Young: at the horizon.)
  bool advance(uint64_t horizon_ns, uint64_t young_ns = 0);
  // These address spaces were sampled: they are the last to be evicted from a full trie.
  void note_sampled(std::span<const uint32_t> address_spaces);
  // Between collection cycles: forgets what was gone before the previous call.
  void end_cycle();

  // --- any thread
  // `start`: sample_record's proof against pid reuse; nothing: whoever has the pid now.
  std::optional<ProcessInfo> find_process(Pid pid, std::optional<SampledStart> start = std::nullopt) const;
  // Among those that note_short_lived() was told of: linear, for who has a sample nevertheless (taken while its memory was torn down).
  std::optional<ProcessInfo> find_short_lived(Pid pid, SampledStart start) const;
  std::optional<mapping_value> find_mapping(uint32_t address_space, RuntimeAddr address) const;
  // Code that was replaced when the sample of this process and time was taken, and that the walk did not know of; `later`: and since.
  std::vector<StaleMapping> find_stale(uint32_t address_space, Pid pid, uint64_t time_ns, bool later) const;
  // No sample of this time or later needs to ask; only for what has been applied (Tracker::horizon).
  uint64_t stale_until_ns() const;
  ProcessTableCounts counts() const;
  uint64_t replaced_mappings() const;  // of counts(), without looking at every space
  // From the exec (fork of an unknown parent, adoption: not counted), and from a later mmap, until the kernel walk can see the mapping.
  // Includes the first opening of a file nobody has mapped before.
  const LatencyHistogram& exec_latency() const;
  const LatencyHistogram& map_latency() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cicada::process
