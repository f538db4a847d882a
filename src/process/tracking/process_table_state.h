// SPDX-License-Identifier: Apache-2.0
// What ProcessTable remembers: its own, split over the files that this names. Included by them alone.
#pragma once
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <unordered_set>

#include "process/tracking/process_table.h"
#include "process/tracking/tracked_process.h"

namespace cicada::process {

inline std::string comm_of(const lifecycle_record& record) { return {record.comm, ::strnlen(record.comm, sizeof record.comm)}; }

struct ProcessTable::State {
  MappingPublisher& publisher;
  ImageSource& images;
  ThreadNames& names;
  Options options;

  // Written by the tracker under the lock, read by it without and by others with it.
  mutable std::shared_mutex mutex;
  std::unordered_map<Pid, Process> processes;
  struct Exited {
    ProcessInfo info;  // the last
    uint32_t cycle;    // of its exit
  };
  std::unordered_multimap<Pid, Exited> exited;
  std::vector<lifecycle_record> short_lived, short_lived_before;  // exits of this cycle and of the one before
  std::unordered_map<uint32_t, Space> spaces;
  StaleMappings stale;
  ProcessTableCounts reported{};  // what counts() gives: a copy of `counts` as of the last advance()

  // The tracker's own.
  std::unordered_map<Pid, std::vector<KeptEvent>> orphans;
  size_t orphan_count = 0;
  std::unordered_map<Pid, uint64_t> expected;  // children of known processes whose fork record has not come: since when
  std::unordered_set<Pid> attention;           // processes with a scan, a wanted rescan, or an exec that waits
  std::unordered_set<uint32_t> dirty;
  std::unordered_set<uint32_t> pending_spaces; // spaces with images that are being opened
  ProcessTableCounts counts{};
  LatencyHistogram exec_latency, map_latency;
  uint64_t next_group = 1;
  uint64_t sampled_turn = 1;
  uint32_t cycle = 1;

  State(MappingPublisher& p, ImageSource& i, ThreadNames& n, Options o) : publisher(p), images(i), names(n), options(std::move(o)) {}

  Space& space_of(const Process& process) { return spaces.at(process.info.address_space); }

  // --- who uses which space: process_spaces.cc
  Process* find(Pid pid);
  void mark_dirty(uint32_t id);
  Space& join(Process& process, uint32_t id);
  void leave(Process& process);
  bool shared_by_others(const Process& process);
  // Copy-on-write: the process and those that share its memory get an id of their own.
  void split(Process& process);
  Process& create(Pid pid, uint64_t start_ns);
  void depart(Process& process);

  // --- what the two streams tell: process_events.cc
  // Nothing: not worth an entry ([vsyscall]).
  std::optional<Mapping> to_mapping(Pid pid, Range<RuntimeAddr> range, FileOffset offset, const FileIdentity& file, std::string_view path,
                                    bool deleted);
  void note_binding(uint32_t space, const Mapping& mapping);
  void map(Process& process, const MappingEvent& event);
  // `time_ns`: of the mapping's event.
  void insert(Process& process, const Mapping& mapping, uint64_t time_ns);
  void note_replaced(const Process& process, uint32_t sampled_as, const Mapping& mapping, uint64_t time_ns);
  void exec_begins(Process& process, const MappingEvent& event);
  void exec_ends(Process& process, const lifecycle_record& record);
  void forked(const lifecycle_record& record);
  void replay_orphans(Pid pid);
  void dispatch(Process& process, const MappingEvent& event);

  // --- /proc/PID/maps: process_scan.cc
  void want_scan(Process& process);
  // Reads /proc without the lock: others may look up meanwhile.
  void start_scan(Pid pid);
  void finish_scan(Process& process);

  // --- a turn: process_turn.cc
  // Gives mappings of images that have been opened since the last turn their places.
  void re_resolve_ready();
  // Scans, and execs whose events do not come. True: some of it is due soon.
  bool attend(uint64_t now, uint64_t horizon_ns);
  // Shows the kernel what has changed. True: some of it waits.
  bool publish_dirty(uint64_t now, uint64_t horizon_ns, uint64_t young_ns);

  // --- what the kernel sees: space_publication.cc
  static void note_unseen(Space& space, const Mapping& mapping, uint64_t since_ns, bool of_exec);
  void note_seen(Space& space);
  void set_published(Space& space, std::vector<PublishedBlock> blocks);
  void report();
  // False: some of it could not be shown.
  bool publish(uint32_t id);
  // Makes room in a full trie. False: nothing left to take.
  bool evict_one(uint32_t keep);
};

}  // namespace cicada::process
