// SPDX-License-Identifier: Apache-2.0
// Two streams tell one story: perf's records (what was mapped) and BPF's lifecycle records (which id). Both carry CLOCK_MONOTONIC,
// but either may arrive first, so nothing here waits for order:
//
//   COMM(exec) t1   MMAP2 t2 …   BPF exec t3, id N          t1 < t2 < t3 (155 µs on 6.18)
//
//  * perf first: t1 opens a pending set, t2 fills it, t3 closes it: the set becomes space N.
//  * BPF first: the process has N and waits for the COMM of t1 <= t3; what follows goes straight into N. If none comes within
//    kExecPatienceNs it was lost: rescan.
//  * records of a process nobody has announced yet (its fork record is late) are kept, bounded, until it is.
#include "process/tracking/process_table_state.h"

#include <algorithm>

namespace cicada::process {

std::optional<Mapping> ProcessTable::State::to_mapping(Pid pid, Range<RuntimeAddr> range, FileOffset offset,
                                                        const FileIdentity& file, std::string_view path, bool deleted) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) {
    deleted = true;
    path.remove_suffix(kDeleted.size());
  }
  Mapping mapping;
  mapping.range = range;
  mapping.offset = offset;
  if (path == "[vsyscall]" || range.begin.value >> 63 != 0) return std::nullopt;
  if (file.anonymous() && path != "[vdso]") {
    mapping.binding.state = BindingState::kJit;
  } else {
    mapping.binding = images.resolve({file, pid, range, offset, path, deleted});
  }
  return mapping;
}

void ProcessTable::State::note_binding(uint32_t space, const Mapping& mapping) {
  if (mapping.binding.state == BindingState::kPending) pending_spaces.insert(space);
}

void ProcessTable::State::map(Process& process, const MappingEvent& event) {
  const uint64_t time = event.time_ns;
  if (process.pending.empty() && process.info.address_space == 0) return;
  const bool old_program = time < process.space_since_ns && (process.exec_begin_ns == 0 || time < process.exec_begin_ns);
  const bool into_pending = !process.pending.empty() && time >= process.pending.back().begin_ns;
  if (!into_pending && (old_program || time <= process.scanned_ns)) return;
  const auto mapping = to_mapping(event.pid, event.range, event.offset, event.file, event.name, false);
  if (!mapping) return;
  ++counts.maps;
  if (into_pending) {
    process.pending.back().mappings.insert(*mapping);
    return;
  }
  if (process.scan && time > process.scan->begin_ns) process.scan->later.push_back(*mapping);
  insert(process, *mapping, time);
  note_unseen(space_of(process), *mapping, time, false);
}

// Whatever was there, published or not: of several in a row, the walk may still show the first.
void ProcessTable::State::note_replaced(const Process& process, uint32_t sampled_as, const Mapping& mapping, uint64_t time_ns) {
  const uint32_t id = process.info.address_space;
  const Space& space = spaces.at(id);
  for (const Mapping& before : space.mappings.find_in(mapping.range)) {
    const ImageBinding &was = before.binding, &now = mapping.binding;
    if (was.state == now.state && was.image == now.image && was.bias == now.bias) continue;
    const StaleMapping replacement{before.range, was, now, before.offset, mapping.offset + (before.range.begin - mapping.range.begin), time_ns,
                                  StaleMapping::kNotYet};
    for (const Pid pid : space.users) {
      stale.note(id, pid, id, replacement);
      if (sampled_as != id) stale.note(sampled_as, pid, id, replacement);
    }
  }
}

void ProcessTable::State::insert(Process& process, const Mapping& mapping, uint64_t time_ns) {
  const uint32_t sampled_as = process.info.address_space;
  if (shared_by_others(process)) {
    AddressSpace changed = space_of(process).mappings;
    if (!changed.insert(mapping)) return;
    split(process);
  }
  const auto before = space_of(process).mappings.find(mapping.range.begin);
  if (before && before->image != 0 && before->image != mapping.binding.image) ++counts.replaced_mappings;
  note_replaced(process, sampled_as, mapping, time_ns);
  if (space_of(process).mappings.insert(mapping)) mark_dirty(process.info.address_space);
  note_binding(process.info.address_space, mapping);
}

void ProcessTable::State::exec_begins(Process& process, const MappingEvent& event) {
  if (process.awaiting_exec_events && event.time_ns <= process.space_since_ns) {
    process.awaiting_exec_events = false;
    process.exec_begin_ns = event.time_ns;
    return;
  }
  if (event.time_ns <= process.space_since_ns) return;  // of a program that is gone already
  process.pending.push_back({event.time_ns, {}});
  process.scan.reset();  // what it read may be of either program
}

void ProcessTable::State::exec_ends(Process& process, const lifecycle_record& record) {
  ++counts.execs;
  if (process.info.address_space == record.address_space) {  // adopted, and scanned or about to be, under its new id already
    process.space_since_ns = std::max<uint64_t>(process.space_since_ns, record.time_ns);
    const auto newer = std::find_if(process.pending.begin(), process.pending.end(), [&](const PendingExec& p) { return p.begin_ns > record.time_ns; });
    for (auto at = process.pending.begin(); at != newer; ++at) {
      process.exec_begin_ns = at->begin_ns;
      for (const Mapping& mapping : at->mappings.mappings()) insert(process, mapping, at->begin_ns);
    }
    process.pending.erase(process.pending.begin(), newer);
    return want_scan(process);
  }
  leave(process);
  process.mm_group = next_group++;
  process.replaced_space = 0;
  process.space_since_ns = record.time_ns;
  process.exec_begin_ns = 0;
  process.scanned_ns = 0;
  process.next_scan_ns = 0;
  process.scan.reset();
  Space& space = join(process, record.address_space);
  space.mappings.clear();
  space.exec_ns = record.time_ns;
  auto last = process.pending.end();
  for (auto at = process.pending.begin(); at != process.pending.end(); ++at) {
    if (at->begin_ns <= record.time_ns) last = at;
  }
  if (last == process.pending.end()) {
    process.awaiting_exec_events = true;
    process.awaiting_since_ns = options.now_ns();
    attention.insert(process.info.pid);
  } else {
    process.awaiting_exec_events = false;
    process.exec_begin_ns = last->begin_ns;
    space.mappings = std::move(last->mappings);
    process.pending.erase(process.pending.begin(), last + 1);
    space.dirty = true;
    for (const Mapping& mapping : space.mappings.mappings()) {
      note_binding(record.address_space, mapping);
      note_unseen(space, mapping, record.time_ns, true);
    }
  }
  mark_dirty(record.address_space);
}

void ProcessTable::State::forked(const lifecycle_record& record) {
  ++counts.forks;
  if (const Process* known = find(record.pid); known != nullptr && known->info.start_ns == record.start_ns) return;
  const Process* parent = find(record.parent_pid);
  const ProcessInfo parent_info = parent == nullptr ? ProcessInfo{} : parent->info;
  const uint64_t parent_group = parent == nullptr ? 0 : parent->mm_group;
  const uint32_t replaced = parent == nullptr ? 0 : parent->replaced_space;
  Process& child = create(record.pid, record.start_ns);
  child.info.parent_pid = record.parent_pid;
  child.info.comm = parent_info.comm;
  child.born_ns = record.time_ns;
  child.space_since_ns = record.time_ns;
  child.exec_begin_ns = 0;
  if (parent != nullptr && (record.flags & PROCESS_COW_PENDING) == 0 && parent_info.address_space == record.address_space) {
    child.mm_group = parent_group;
  }
  if (record.address_space == 0) return;  // a kernel thread's child
  if (parent != nullptr && parent_info.address_space != record.address_space && replaced == record.address_space) {
    // The parent got its own id while this fork was under way: the child has the parent's memory, so it gets the parent's id.
    join(child, parent_info.address_space);
    if ((record.flags & PROCESS_COW_PENDING) == 0) child.mm_group = parent_group;
    static_cast<void>(publisher.replace_address_space(record.pid, record.address_space, parent_info.address_space));
    stale.fork(record.address_space, record.parent_pid, record.pid, record.time_ns, options.now_ns());
  } else {
    const bool known_space = spaces.contains(record.address_space);
    join(child, record.address_space);
    if (!known_space) want_scan(child);
  }
  stale.fork(child.info.address_space, record.parent_pid, record.pid, record.time_ns, 0);
}

void ProcessTable::State::replay_orphans(Pid pid) {
  expected.erase(pid);
  auto node = orphans.extract(pid);
  if (node.empty()) return;
  orphan_count -= node.mapped().size();
  for (const KeptEvent& kept : node.mapped()) {
    Process* process = find(pid);
    if (process == nullptr) return;
    dispatch(*process, kept.view());
  }
}

void ProcessTable::State::dispatch(Process& process, const MappingEvent& event) {
  if (event.kind == MappingEventKind::kMap) map(process, event);
  if (event.kind == MappingEventKind::kExec) exec_begins(process, event);
  if (event.kind == MappingEventKind::kExec || (event.kind == MappingEventKind::kComm && event.tid == event.pid)) process.info.comm = event.name;
}

}  // namespace cicada::process
