// SPDX-License-Identifier: Apache-2.0
// A scan is an event like others: it is applied once everything up to its end has been, and its process' later mappings win.
#include "process/tracking/process_table_state.h"

#include <utility>

#include "base/diagnostics.h"

namespace cicada::process {

void ProcessTable::State::want_scan(Process& process) {
  process.rescan_wanted = true;
  attention.insert(process.info.pid);
}

void ProcessTable::State::start_scan(Pid pid) {
  Process& process = *find(pid);
  process.rescan_wanted = false;
  Scan scan;
  scan.begin_ns = options.now_ns();
  process.next_scan_ns = scan.begin_ns + options.rescan_interval_ns;
  const auto kernel = publisher.find_process(pid);
  if (!kernel || kernel->address_space != process.info.address_space) return;  // exec or exit: their records are on their way
  scan.address_space = kernel->address_space;
  auto maps = options.read_maps(pid);
  ++counts.scans;
  if (!maps) {
    if (maps.error().kind() != ErrorKind::kGone) diagnostics().warn(fmt::format("process {}", pid), "{}", maps.error().message());
    return;
  }
  scan.entries = std::move(maps->entries);
  scan.end_ns = options.now_ns();
  process.scan = std::move(scan);
}

void ProcessTable::State::finish_scan(Process& process) {
  const Scan scan = *std::exchange(process.scan, std::nullopt);
  const auto kernel = publisher.find_process(process.info.pid);
  const bool same = kernel && kernel->address_space == scan.address_space && process.info.address_space == scan.address_space;
  // A live program has executable mappings: none means that exec has taken the old ones away and not said so yet.
  if (!same || !process.pending.empty() || scan.entries.empty()) {
    ++counts.scans_discarded;
    return;
  }
  AddressSpace found;
  for (const MapsEntry& entry : scan.entries) {
    if (!entry.executable) continue;
    if (const auto mapping = to_mapping(process.info.pid, entry.range, entry.offset, entry.file, entry.path, entry.deleted)) {
      found.insert(*mapping);
    }
  }
  for (const Mapping& mapping : scan.later) found.insert(mapping);
  process.scanned_ns = scan.begin_ns;
  process.awaiting_exec_events = false;
  Space& space = space_of(process);
  if (space.evicted) {
    space.evicted = false;
    mark_dirty(process.info.address_space);
  }
  if (found == space.mappings) return;
  if (shared_by_others(process)) split(process);
  space_of(process).mappings = std::move(found);
  mark_dirty(process.info.address_space);
  for (const Mapping& mapping : space_of(process).mappings.mappings()) note_binding(process.info.address_space, mapping);
}

}  // namespace cicada::process
