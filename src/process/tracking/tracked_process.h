// SPDX-License-Identifier: Apache-2.0
// What the process table keeps of a process and of an address space. Plain data.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "process/tracking/address_space.h"
#include "process/tracking/process_table.h"

namespace cicada::process {

// A space this large is cut again at most every kLargeSpacePauseNs: cutting 60,000 mappings costs up to 7 ms of CPU time (2026-11-21).
inline constexpr size_t kLargeSpace = 4096;
inline constexpr uint64_t kLargeSpacePauseNs = 200'000'000;

// An event that must outlive its ring.
struct KeptEvent {
  MappingEvent event;
  std::string name;
  explicit KeptEvent(const MappingEvent& from) : event(from), name(from.name) {}
  MappingEvent view() const {
    MappingEvent copy = event;
    copy.name = name;
    return copy;
  }
};

struct PendingExec {
  uint64_t begin_ns = 0;
  AddressSpace mappings;
};

struct Scan {
  uint64_t begin_ns = 0, end_ns = 0;  // the clock before and after reading
  uint32_t address_space = 0;         // the kernel's id before reading
  std::vector<MapsEntry> entries;
  std::vector<Mapping> later;         // mapped after begin_ns
};

struct Process {
  ProcessInfo info;
  uint64_t mm_group = 0;            // processes of one group share their memory, not just its contents (vfork, CLONE_VM)
  uint64_t space_since_ns = 0;      // mapping events before this belong to an earlier program …
  uint64_t exec_begin_ns = 0;       // … unless they are not before this
  uint64_t scanned_ns = 0;          // mapping events up to here are in the scan's result
  bool awaiting_exec_events = false;
  uint64_t awaiting_since_ns = 0;
  std::vector<PendingExec> pending;  // oldest first
  std::optional<Scan> scan;
  bool rescan_wanted = false;
  uint64_t next_scan_ns = 0;
  uint64_t born_ns = 0;             // when it became known: of its fork or exec record, or of its adoption
  uint64_t reused_ns = 0;           // from here on its pid has another process, whose records have not come yet; 0: no
  uint32_t replaced_space = 0;      // the id before the last copy-on-write: forks may still report it
};

// A mapping that the kernel's walk cannot see yet.
struct Unseen {
  RuntimeAddr address;
  uint64_t since_ns = 0;
  bool of_exec = false;
};

struct Space {
  AddressSpace mappings;
  std::vector<Unseen> unseen;
  std::vector<PublishedBlock> published;
  std::vector<Pid> users;          // hardly ever more than one
  bool dirty = false;
  bool evicted = false;
  bool reported = false;
  uint64_t exec_ns = 0;            // when its program began; 0: not by an exec that was seen
  uint64_t publish_not_before_ns = 0;
  uint64_t last_sampled = 0;       // turn of note_sampled
  uint32_t unused_in_cycle = 0;    // 0: in use
};

}  // namespace cicada::process
