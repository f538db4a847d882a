// SPDX-License-Identifier: Apache-2.0
// Wires its parts: each event, record and turn says here what it means to whom.
#include "process/tracking/process_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/monotonic_clock.h"
#include "process/procfs/proc_fs.h"

namespace cicada::process {
namespace {

constexpr uint64_t kExecTimeoutNs = 20'000'000;
constexpr size_t kMaxGone = 256;  // pieces of code that a scan did not find any more, and that are remembered

std::string comm_of(const lifecycle_record& record) { return {record.comm, ::strnlen(record.comm, sizeof record.comm)}; }

MapsScanner::Options with_defaults(MapsScanner::Options options) {
  if (!options.read_maps) options.read_maps = MapsScanner::one_by_one([](Pid pid) { return read_maps(pid, MapsFilter::kExecutable); });
  if (!options.now_ns) options.now_ns = monotonic_ns;
  return options;
}

}  // namespace

ProcessTable::ProcessTable(MappingPublisher& publisher, ImageSource& images, ThreadNames& names, Options options)
    : publisher_(publisher),
      images_(images),
      names_(names),
      whole_machine_(options.whole_machine),
      now_ns_(with_defaults(options.scans).now_ns),
      known_([&publisher] { return publisher.allocate_address_space(); }),
      trie_(publisher, now_ns_),
      scanner_(with_defaults(options.scans), [this](Pid pid) -> uint32_t {
        const Process* process = known_.get().find(pid);
        const auto kernel = publisher_.find_process(pid);
        const uint32_t id = known_.get().spaces.find(pid);
        return process != nullptr && !process->exec.is_under_way() && kernel && kernel->address_space == id ? id : 0;
      }) {}

// --- processes

const ProcessTable::Process* ProcessTable::Known::find(Pid pid) const {
  const auto at = processes.find(pid);
  return at == processes.end() ? nullptr : &at->second;
}
ProcessTable::Process* ProcessTable::Known::find(Pid pid) { return const_cast<Process*>(std::as_const(*this).find(pid)); }

ProcessTable::Process& ProcessTable::create(Known& known, const ProcessInfo& info, uint64_t born_ns, uint64_t mapped_since_ns) {
  if (Process* before = known.find(info.pid)) exit(known, *before);
  return known.processes[info.pid] = {info, ExecMatcher(mapped_since_ns), born_ns, 0};
}

void ProcessTable::exit(Known& known, Process& process) {
  const Pid pid = process.info.pid;
  process.info.address_space = known.spaces.find(pid);
  known.spaces.leave(pid);
  scanner_.forget(pid);
  known.exited.add(pid, std::move(process.info));
  known.processes.erase(pid);
}

// Adopted ones know their start in ticks only.
bool ProcessTable::is_same(Process& process, const lifecycle_record& record) const {
  uint64_t& start = process.info.start_ns;
  if (record.start_ns == 0 || start == record.start_ns) return true;
  if (start % kNsPerTick != 0 || to_ticks(start) != to_ticks(record.start_ns)) return false;
  start = record.start_ns;
  return true;
}

Result<void> ProcessTable::adopt(Pid pid) {
  const ProcStat stat = TRY(read_stat(pid));
  names_.scan(pid);
  if (stat.kernel_thread || (stat.state == 'Z' && thread_with_memory(pid) == pid)) return {};
  const process_value value = TRY(publisher_.adopt_process(pid, stat.start_ticks));
  const auto known = known_.change();
  if (known->find(pid) != nullptr && known->spaces.find(pid) == value.address_space) return {};
  const uint64_t start_ns = value.start_ns != 0 ? value.start_ns : stat.start_ticks * kNsPerTick;
  Process& process = create(*known, {pid, stat.parent_pid, start_ns, 0, stat.comm}, now_ns_(), 0);
  if (value.address_space == 0) return {};
  known->spaces.join(pid, value.address_space);
  scanner_.want(pid);
  replay_orphans(*known, process);
  return {};
}

// --- what the two streams tell

bool ProcessTable::wants(const MappingEvent& event) const {
  const auto concerns = [this](Pid pid) { return known_.get().processes.contains(pid) || orphans_.expects(pid); };
  return whole_machine_ || concerns(event.pid) || (event.kind == MappingEventKind::kThreadFork && concerns(event.parent_pid));
}

void ProcessTable::apply(const MappingEvent& event) {
  if (event.kind == MappingEventKind::kThreadFork) return apply_thread_fork(event);
  if (event.kind == MappingEventKind::kThreadExit) return names_.end(event.tid);
  if (event.kind != MappingEventKind::kMap) names_.set(event.pid, event.tid, event.name);
  const auto known = known_.change();
  Process* process = known->find(event.pid);
  if (process != nullptr && (process->reused_ns == 0 || event.time_ns < process->reused_ns)) return apply(*known, *process, event);
  if (event.kind != MappingEventKind::kComm) orphans_.keep(event);
}

void ProcessTable::apply_thread_fork(const MappingEvent& event) {
  names_.inherit(event.pid, event.tid, event.parent_tid, event.time_ns);
  if (event.pid != event.tid || event.pid == event.parent_pid) return;
  // perf tells of a fork before BPF does: a process that was born before this event has ended, and the event is its successor's.
  if (known_.get().find(event.pid) != nullptr) {
    const auto known = known_.change();
    if (Process* before = known->find(event.pid); before->born_ns < event.time_ns) before->reused_ns = event.time_ns;
  } else if (!whole_machine_) {
    orphans_.expect(event.pid, event.time_ns);
  }
}

void ProcessTable::apply(Known& known, Process& process, const MappingEvent& event) {
  if (event.kind == MappingEventKind::kMap) return map(known, process, event);
  if (event.kind == MappingEventKind::kExec && process.exec.begin(event.time_ns)) scanner_.cancel(process.info.pid);
  if (event.kind == MappingEventKind::kExec || event.tid == event.pid) process.info.comm = event.name;
}

void ProcessTable::apply(const lifecycle_record& record) {
  const auto known = known_.change();
  Process* process = known->find(record.pid);
  if (process != nullptr && !is_same(*process, record)) process = nullptr;
  switch (record.kind) {
    case RECORD_FORK:
      ++known->counts.forks;
      if (process == nullptr) forked(*known, record);
      break;
    case RECORD_EXEC:
      if (process == nullptr) {
        process = &create(*known, {record.pid, record.parent_pid, record.start_ns, 0, {}}, record.time_ns, 0);
        replay_orphans(*known, *process);
      }
      execed(*known, *process, record);
      break;
    case RECORD_EXIT:
      if (process == nullptr) break;  // twice, or of an earlier process with this pid
      ++known->counts.exits;
      if (process->reused_ns != 0 && !whole_machine_) orphans_.expect(record.pid, process->reused_ns);
      exit(*known, *process);
      break;
    default: break;
  }
  if (process = known->find(record.pid); process != nullptr && process->info.comm.empty()) process->info.comm = comm_of(record);
}

void ProcessTable::note_short_lived(const lifecycle_record& record) {
  const auto known = known_.change();
  known->counts.forks += record.kind == RECORD_FORK;
  known->counts.execs += record.kind == RECORD_EXEC;
  if (record.kind != RECORD_EXIT) return;
  ++known->counts.exits;
  ++known->counts.short_lived;
  known->exited.add(record.pid, {record.pid, record.parent_pid, record.start_ns, record.address_space, comm_of(record)});
}

void ProcessTable::forked(Known& known, const lifecycle_record& record) {
  const Process* parent = known.find(record.parent_pid);
  const std::string comm = parent == nullptr ? "" : parent->info.comm;
  Process& child = create(known, {record.pid, record.parent_pid, record.start_ns, 0, comm}, record.time_ns, record.time_ns);
  if (record.address_space != 0) {  // else a kernel thread's child
    const bool is_copy = known.spaces.fork(record.parent_pid, record.pid, record.address_space, (record.flags & PROCESS_COW_PENDING) == 0);
    if (!is_copy) scanner_.want(record.pid);
    const uint32_t joined = known.spaces.find(record.pid);
    const uint32_t moves_to = joined == record.address_space ? 0 : joined;
    if (moves_to != 0) trie_.mark_dirty(moves_to);
    known.stale.fork(record.address_space, record.parent_pid, record.pid, record.time_ns, moves_to);
  }
  replay_orphans(known, child);
}

void ProcessTable::execed(Known& known, Process& process, const lifecycle_record& record) {
  const Pid pid = process.info.pid;
  if (const std::string comm = comm_of(record); !comm.empty() && !process.exec.is_under_way()) {  // the event that says so was lost, or comes late
    process.info.comm = comm;
    names_.set(pid, pid, comm);
  }
  const auto mappings = process.exec.end(record.time_ns);
  if (!mappings) return;  // overtaken by a later exec
  ++known.counts.execs;
  scanner_.cancel(pid);
  if (mappings->empty()) scanner_.want(pid, now_ns_() + kExecTimeoutNs);  // what it mapped is to come, or was lost
  if (known.spaces.find(pid) == record.address_space) {  // adopted, and scanned or about to be, under its new id already
    scanner_.want(pid);
  } else {
    known.spaces.join(pid, record.address_space);
    trie_.note_exec(record.address_space, record.time_ns);
  }
  for (const Mapping& mapping : mappings->mappings()) insert(known, pid, mapping, record.time_ns, true);
}

void ProcessTable::map(Known& known, Process& process, const MappingEvent& event) {
  const Pid pid = event.pid;
  const ProgramOf program = process.exec.program_at(event.time_ns);
  if (program == ProgramOf::kEarlier || (program == ProgramOf::kCurrent && known.spaces.find(pid) == 0)) return;
  const auto mapping = resolve_mapping({event.file, pid, event.range, event.offset, event.name, false}, images_);
  if (!mapping) return;
  ++known.counts.maps;
  if (program == ProgramOf::kNext) return process.exec.insert(*mapping);
  if (known.spaces.mappings(known.spaces.find(pid))->size() >= kMaxMappings) return scanner_.want(pid);
  scanner_.note_mapping(pid, *mapping, event.time_ns);
  insert(known, pid, *mapping, event.time_ns, false);
}

void ProcessTable::insert(Known& known, Pid pid, const Mapping& mapping, uint64_t since_ns, bool of_exec) {
  const AddressSpaces::Insertion done = known.spaces.insert(pid, mapping);
  if (!done.changed) return;
  if (!done.before.empty()) known.stale.note(done.id, known.spaces.users(done.id), done.before, mapping, since_ns);
  trie_.mark_dirty(done.id);
  trie_.note_mapping(done.id, mapping.range.begin, since_ns, of_exec);
}

void ProcessTable::replay_orphans(Known& known, Process& process) {
  orphans_.adopt(process.info.pid, [&](const MappingEvent& event) { apply(known, process, event); });
}

void ProcessTable::report_lost() {
  for (const auto& [pid, process] : known_.get().processes) {
    if (known_.get().spaces.find(pid) != 0) scanner_.want(pid);
  }
}

bool ProcessTable::request_rescan(Pid pid) {
  if (known_.get().find(pid) == nullptr) return false;
  const uint32_t id = known_.get().spaces.find(pid);
  const bool about_to_be_shown = id != 0 && trie_.is_first_due(id) && !known_.get().spaces.mappings(id)->empty();
  if (id != 0 && !about_to_be_shown && !scanner_.is_scanning(pid)) scanner_.want(pid);
  return true;
}

// --- a turn: what waits

bool ProcessTable::advance(uint64_t watermark_ns, uint64_t young_ns) {
  re_resolve_ready();
  for (MapsScanner::Found& found : scanner_.take_finished(watermark_ns)) apply(std::move(found));
  publish_due(watermark_ns, young_ns);
  const auto replaced = known_.change()->stale.take_replaced();
  for (const auto& [id, pid] : replaced) publisher_.watch(id, pid);
  publisher_.end_poll(watermark_ns, [this](uint32_t id) { return !known_.get().stale.is_open(id); });
  const bool scans_wait = scanner_.start_due();
  return scans_wait || trie_.waits();
}

void ProcessTable::re_resolve_ready() {
  std::vector<uint32_t> ready = images_.take_ready();
  if (ready.empty()) return;
  std::sort(ready.begin(), ready.end());
  const auto known = known_.change();
  for (const uint32_t id : known->spaces.re_resolve(ready, images_)) trie_.mark_dirty(id);
  known->stale.re_resolve(ready, images_);
  for (auto& [pid, process] : known->processes) process.exec.re_resolve(ready, images_);
}

void ProcessTable::apply(MapsScanner::Found found) {
  AddressSpace mappings;
  for (const MapsEntry& entry : found.entries) {
    if (!entry.executable) continue;
    const auto mapping = resolve_mapping({entry.file, found.pid, entry.range, entry.offset, entry.path, entry.deleted}, images_);
    if (mapping) mappings.insert(*mapping);
  }
  for (Mapping& mapping : found.later) {  // its image may have been opened meanwhile
    if (mapping.binding.state == BindingState::kPending) mapping.binding = images_.re_resolve(mapping.binding.image, mapping.range, mapping.offset);
    mappings.insert(mapping);
  }
  const auto gone = mappings.gone_since(*known_.get().spaces.mappings(known_.get().spaces.find(found.pid)), kMaxGone);
  const auto known = known_.change();
  if (!known->spaces.assign(found.pid, std::move(mappings))) return;
  const uint32_t id = known->spaces.find(found.pid);
  trie_.mark_dirty(id);
  if (!gone.empty()) known->stale.note_gone(id, known->spaces.users(id), gone, found.end_ns);
}

void ProcessTable::publish_due(uint64_t watermark_ns, uint64_t young_ns) {
  for (const uint32_t id : trie_.take_due(watermark_ns, young_ns)) {
    // Whoever has come and gone between two turns needs no blocks: nothing runs there any more, and a finished walk looks here. At 2,000
    // programs a second this is most of them.
    const bool published = !known_.get().spaces.in_use(id) || trie_.publish(id, *known_.get().spaces.mappings(id));
    // All entries first, then the ids: the walk never meets an empty space. Who exec'ed or went meanwhile has another id, and a record of
    // that is on its way.
    const auto moves = known_.change()->spaces.take_moves(id);
    for (const auto& [pid, from] : moves) static_cast<void>(publisher_.replace_address_space(pid, from, id));
    if (!published || !known_.get().stale.open()) continue;
    const auto known = known_.change();
    known->stale.mark_published(id, now_ns_());
  }
}

bool ProcessTable::is_caught_up() const { return !trie_.waits() && !scanner_.is_behind() && !known_.get().spaces.wait_for_images(); }

void ProcessTable::end_cycle() {
  const uint64_t now = now_ns_();
  for (const uint32_t id : known_.get().spaces.unused()) {
    if (!trie_.retire(id)) continue;  // again in the next cycle
    const auto known = known_.change();
    known->stale.forget(id, now);
    known->spaces.erase(id);
  }
  orphans_.expire(now);
  const auto known = known_.change();
  known->stale.expire(now);
  known->exited.end_cycle();
  known->spaces.end_cycle();
}

// --- any thread

std::optional<ProcessInfo> ProcessTable::find_process(Pid pid, std::optional<SampledStart> start) const {
  const auto known = known_.read();
  const auto at = known->processes.find(pid);
  const auto fits = [&](const ProcessInfo& info) { return !start || SampledStart::of(info.start_ns) == *start; };
  if (at == known->processes.end() || !fits(at->second.info)) {
    const ProcessInfo* exited = known->exited.find(pid, &ProcessInfo::start_ns, fits);
    return exited == nullptr ? std::nullopt : std::optional(*exited);
  }
  ProcessInfo info = at->second.info;
  info.address_space = known->spaces.find(pid);
  return info;
}

std::optional<mapping_value> ProcessTable::find_mapping(uint32_t address_space, RuntimeAddr address) const {
  const auto known = known_.read();
  const AddressSpace* mappings = known->spaces.mappings(address_space);
  return mappings == nullptr ? std::nullopt : mappings->find(address);
}

bool ProcessTable::is_being_opened(uint32_t address_space, RuntimeAddr address) const {
  const auto known = known_.read();
  const AddressSpace* mappings = known->spaces.mappings(address_space);
  if (mappings == nullptr || !mappings->waits_for_images()) return false;
  const auto there = mappings->find_in({address, address + 1});
  return !there.empty() && there[0].binding.state == BindingState::kPending;
}

std::vector<StaleMapping> ProcessTable::find_stale(uint32_t address_space, Pid pid, uint64_t time_ns, bool later) const {
  const auto known = known_.read();
  return known->stale.find(address_space, pid, time_ns, later);
}

ProcessTableCounts ProcessTable::counts() const {
  const auto known = known_.read();
  ProcessTableCounts counts = known->counts;
  counts.blocks = trie_.blocks();
  counts.publish_failures = trie_.failures();
  counts.evicted_spaces = trie_.evicted();
  counts.scans = scanner_.scans();
  counts.scans_discarded = scanner_.discarded();
  counts.orphan_events = orphans_.dropped();
  counts.processes = known->processes.size();
  counts.address_spaces = known->spaces.size();
  counts.mappings = known->spaces.count_mappings();
  counts.copies_on_write = known->spaces.copies();
  counts.replaced_mappings = known->stale.replaced_images();
  counts.stale_dropped = known->stale.refused();
  return counts;
}

Pid ProcessTable::find_user(uint32_t address_space) const {
  const auto known = known_.read();
  return known->spaces.in_use(address_space) ? known->spaces.users(address_space).front().pid : 0;
}

std::vector<uint32_t> ProcessTable::find_spaces(uint32_t image) const { return known_.read()->spaces.find_all_with(image); }

std::vector<Pid> ProcessTable::pids() const {
  const auto known = known_.read();
  std::vector<Pid> pids;
  for (const auto& entry : known->processes) pids.push_back(entry.first);
  return pids;
}

}  // namespace cicada::process
