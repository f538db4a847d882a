// SPDX-License-Identifier: Apache-2.0
// Who runs in which address space, and what is mapped there.
//
//   perf rings ──▶ MappingEvents ──▶ apply(event)   ─┐
//   BPF ring   ──▶ lifecycle records ▶ apply(record) ├─▶ processes, each with an ExecMatcher; OrphanEvents until one is known
//   /proc      ◀── MapsScanner ──▶ its results       ┘      │
//                                                           ▼
//   find_mapping ◀── AddressSpaces ──▶ TriePublisher ──▶ MappingPublisher (BPF maps)
//   find_stale   ◀── StaleMappings ◀──────────┘ published
//   find_process ◀── processes, RecentlyEnded
//
// The tracker's loop, each time something is readable or a few milliseconds passed:
//
//   table.begin_poll();
//   const uint64_t watermark = now();                          // CLOCK_MONOTONIC, before reading anything
//   take the lifecycle records that arrived;
//   if (events.drain(watermark, wants, apply) > 0) table.report_lost();   // before the records: an exit may be among them
//   for (record : those records) table.apply(record);
//   table.advance(watermark);                                  // scans, images that were opened, publishing
//
// Threads: all the tracker's, except where said. What a find_* looks at is Known, the tracker's own state: the tracker reads it without a lock and changes it
// with one (base/owned_state.h), so nobody waits for its system calls. The parts have no locks; counts of the others are atomic. A published view would have
// to be copied a thousand times a second for readers that are rare: finished walks, names at the end.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "abi/records.h"
#include "base/owned_state.h"
#include "process/tracking/address_spaces.h"
#include "process/tracking/exec_matcher.h"
#include "process/tracking/maps_scanner.h"
#include "process/tracking/orphan_events.h"
#include "process/tracking/process_info.h"
#include "process/tracking/recently_ended.h"
#include "process/tracking/stale_mappings.h"
#include "process/tracking/thread_names.h"
#include "process/tracking/trie_publisher.h"

namespace cicada::process {

struct ProcessTableCounts {
  uint64_t processes = 0, address_spaces = 0, mappings = 0, blocks = 0;  // now
  uint64_t execs = 0, forks = 0, exits = 0, maps = 0;                    // ever
  uint64_t copies_on_write = 0, scans = 0, scans_discarded = 0, publish_failures = 0, evicted_spaces = 0;
  uint64_t replaced_mappings = 0;  // a file was mapped where another one's code had been (dlclose, dlopen)
  uint64_t short_lived = 0;        // of the exits: came and went unnoticed
  uint64_t stale_dropped = 0;      // of the replaced, or of their processes' copies, for want of room: samples may have the old names
  uint64_t orphan_events = 0;      // dropped: their process never became known
};

class ProcessTable {
 public:
  // A process that maps more is scanned instead: what it unmaps is told by nobody. Twice the kernel's usual limit.
  static constexpr size_t kMaxMappings = 1 << 17;

  struct Options {
    bool whole_machine = true;  // false: only adopted processes and their descendants
    MapsScanner::Options scans;  // its ports: the machine's, unless given
  };
  // Borrows all but the options.
  ProcessTable(MappingPublisher& publisher, ImageSource& images, ThreadNames& names, Options options);

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
  // RECORD_MISS: a pc outside every known mapping. False: no such process is known.
  bool request_rescan(Pid pid);
  // Every event up to the watermark has been applied. True: more waits, come back soon. Programs younger than `young_ns` are not shown
  // to the kernel yet: in a storm most end before anybody is sampled in them, and whoever is, is finished from the table. (Young: at the
  // watermark.)
  bool advance(uint64_t watermark_ns, uint64_t young_ns = 0);
  // First of all, before the clock is read for the watermark.
  void begin_poll() { publisher_.begin_poll(); }
  // Nothing that was ever told waits: no first scan, no image that is being opened, nothing to be published.
  bool is_caught_up() const;
  // These address spaces were sampled: they are the last to be evicted from a full trie.
  void note_sampled(std::span<const uint32_t> address_spaces) { trie_.note_sampled(address_spaces); }
  // Between collection cycles: forgets what was gone before the previous call.
  void end_cycle();

  // --- any thread
  // `start`: sample_record's proof against pid reuse; nothing: whoever has the pid now, else who had it last.
  std::optional<ProcessInfo> find_process(Pid pid, std::optional<SampledStart> start = std::nullopt) const;
  std::optional<mapping_value> find_mapping(uint32_t address_space, RuntimeAddr address) const;
  // Something is mapped there whose file is being opened.
  bool is_being_opened(uint32_t address_space, RuntimeAddr address) const;
  // Code that was replaced when the sample of this process and time was taken, and that the walk did not know of; `later`: and since.
  std::vector<StaleMapping> find_stale(uint32_t address_space, Pid pid, uint64_t time_ns, bool later) const;
  // No sample of this time or later needs to ask; only for what has been applied (the watermark).
  uint64_t stale_until_ns() const { return known_.get().stale.until_ns(); }
  ProcessTableCounts counts() const;
  std::vector<Pid> pids() const;  // of all that run
  Pid find_user(uint32_t address_space) const;  // somebody who runs in it; 0: nobody
  std::vector<uint32_t> find_spaces(uint32_t image) const;  // address spaces in which it is mapped; looks at all mappings
  uint64_t replaced_mappings() const { return known_.get().stale.replaced_images(); }  // of counts(), without looking at every space
  // From the exec (fork of an unknown parent, adoption: not counted), and from a later mmap, until the kernel walk can see the mapping.
  // Includes the first opening of a file nobody has mapped before.
  const LatencyHistogram& exec_latency() const { return trie_.exec_latency(); }
  const LatencyHistogram& map_latency() const { return trie_.map_latency(); }

 private:
  struct Process {
    ProcessInfo info;
    ExecMatcher exec;
    uint64_t born_ns = 0;    // when it became known: of its fork or exec record, or of its adoption
    uint64_t reused_ns = 0;  // from here on its pid has another process, whose records have not come yet; 0: no
  };
  struct Known {
    explicit Known(std::function<uint32_t()> allocate) : spaces(std::move(allocate)) {}

    std::unordered_map<Pid, Process> processes;
    RecentlyEnded<Pid, ProcessInfo> exited;
    AddressSpaces spaces;
    StaleMappings stale;
    ProcessTableCounts counts;  // of what is applied here

    Process* find(Pid pid);
    const Process* find(Pid pid) const;
  };
  Process& create(Known& known, const ProcessInfo& info, uint64_t born_ns, uint64_t mapped_since_ns);
  void exit(Known& known, Process& process);
  bool is_same(Process& process, const lifecycle_record& record) const;

  void apply_thread_fork(const MappingEvent& event);
  void apply(Known& known, Process& process, const MappingEvent& event);
  void forked(Known& known, const lifecycle_record& record);
  void execed(Known& known, Process& process, const lifecycle_record& record);
  void map(Known& known, Process& process, const MappingEvent& event);
  void insert(Known& known, Pid pid, const Mapping& mapping, uint64_t since_ns, bool of_exec);
  void apply(MapsScanner::Found found);
  void replay_orphans(Known& known, Process& process);

  void re_resolve_ready();
  void publish_due(uint64_t watermark_ns, uint64_t young_ns);

  MappingPublisher& publisher_;
  ImageSource& images_;
  ThreadNames& names_;
  const bool whole_machine_;
  std::function<uint64_t()> now_ns_;

  OwnedState<Known> known_;
  TriePublisher trie_;
  MapsScanner scanner_;
  OrphanEvents orphans_;
};

}  // namespace cicada::process
