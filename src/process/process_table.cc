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
//
// A scan is an event like others: it is applied once everything up to its end has been, and its process' later mappings win.
#include "process/process_table.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <unordered_set>

#include "base/diagnostics.h"
#include "process/address_space.h"
#include "process/proc_fs.h"

namespace cicada::process {
namespace {

constexpr uint64_t kTickNs = 10'000'000;
constexpr uint64_t kExecPatienceNs = 20'000'000;
constexpr uint64_t kOrphanPatienceNs = 2'000'000'000;
constexpr size_t kMaxOrphanEvents = 65536;
constexpr uint64_t kSoonNs = 50'000'000;
constexpr size_t kMaxUnseen = 256;  // of one space: a statistic
// A space this large is cut again at most every kLargeSpacePauseNs: cutting 60,000 mappings costs up to 7 ms of CPU time (2026-11-21).
constexpr size_t kLargeSpace = 4096;
constexpr uint64_t kLargeSpacePauseNs = 200'000'000;

uint64_t monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

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
  std::unordered_set<Pid> users;
  bool dirty = false;
  bool evicted = false;
  bool reported = false;
  uint64_t publish_not_before_ns = 0;
  uint64_t last_sampled = 0;       // turn of note_sampled
  uint32_t unused_in_cycle = 0;    // 0: in use
};

}  // namespace

struct ProcessTable::State {
  MappingPublisher& publisher;
  ImageSource& images;
  ThreadNames& names;
  Options options;

  // Written by the tracker under the lock, read by it without and by others with it.
  mutable std::shared_mutex mutex;
  std::unordered_map<Pid, Process> processes;
  std::map<std::pair<Pid, uint64_t>, std::pair<ProcessInfo, uint32_t>> departed;  // (pid, start) -> last info, cycle of exit
  std::unordered_map<uint32_t, Space> spaces;
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

  Process* find(Pid pid) {
    const auto at = processes.find(pid);
    return at == processes.end() ? nullptr : &at->second;
  }
  Space& space_of(const Process& process) { return spaces.at(process.info.address_space); }

  void mark_dirty(uint32_t id) {
    spaces.at(id).dirty = true;
    dirty.insert(id);
  }

  // --- who uses which space

  Space& join(Process& process, uint32_t id) {
    auto [at, fresh] = spaces.try_emplace(id);
    at->second.users.insert(process.info.pid);
    at->second.unused_in_cycle = 0;
    process.info.address_space = id;
    return at->second;
  }

  void leave(Process& process) {
    const auto at = spaces.find(process.info.address_space);
    if (at == spaces.end()) return;
    at->second.users.erase(process.info.pid);
    if (at->second.users.empty()) at->second.unused_in_cycle = cycle;
  }

  bool shared_by_others(const Process& process) {
    for (const Pid pid : space_of(process).users) {
      const Process* other = find(pid);
      if (other != nullptr && other->mm_group != process.mm_group) return true;
    }
    return false;
  }

  // Copy-on-write: the process and those that share its memory get an id of their own.
  void split(Process& process) {
    const uint32_t from = process.info.address_space;
    const uint32_t to = publisher.allocate_address_space();
    AddressSpace copy = space_of(process).mappings;
    std::vector<Pid> movers;
    for (const Pid pid : space_of(process).users) {
      const Process* other = find(pid);
      if (other != nullptr && other->mm_group == process.mm_group) movers.push_back(pid);
    }
    for (const Pid pid : movers) {
      Process& mover = *find(pid);
      leave(mover);
      join(mover, to);
      mover.replaced_space = from;
    }
    spaces.at(to).mappings = std::move(copy);
    if (pending_spaces.contains(from)) pending_spaces.insert(to);
    publish(to);  // all entries first, then the ids: the walk never meets an empty space
    for (const Pid pid : movers) {
      // False: it exec'ed or went meanwhile; the record of that is on its way and says where it belongs.
      static_cast<void>(publisher.replace_address_space(pid, from, to));
    }
    ++counts.copies_on_write;
  }

  Process& create(Pid pid, uint64_t start_ns) {
    if (Process* known = find(pid)) depart(*known);
    Process& process = processes[pid];
    process.info.pid = pid;
    process.info.start_ns = start_ns;
    process.mm_group = next_group++;
    return process;
  }

  void depart(Process& process) {
    leave(process);
    departed[{process.info.pid, process.info.start_ns}] = {process.info, cycle};
    attention.erase(process.info.pid);
    processes.erase(process.info.pid);
  }

  // --- mappings

  // Nothing: not worth an entry ([vsyscall]).
  std::optional<Mapping> to_mapping(Pid pid, Range<RuntimeAddr> range, FileOffset offset, const FileIdentity& file, std::string_view path,
                                    bool deleted) {
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
      mapping.placement.state = PlacementState::kJit;
    } else {
      mapping.placement = images.place({file, pid, range, offset, path, deleted});
    }
    return mapping;
  }

  void note_placement(uint32_t space, const Mapping& mapping) {
    if (mapping.placement.state == PlacementState::kPending) pending_spaces.insert(space);
  }

  void map(Process& process, const MappingEvent& event) {
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
    insert(process, *mapping);
    note_unseen(space_of(process), *mapping, time, false);
  }

  static void note_unseen(Space& space, const Mapping& mapping, uint64_t since_ns, bool of_exec) {
    if (space.dirty && space.unseen.size() < kMaxUnseen) space.unseen.push_back({mapping.range.begin, since_ns, of_exec});
  }

  void note_seen(Space& space) {
    const uint64_t now = options.now_ns();
    std::erase_if(space.unseen, [&](const Unseen& unseen) {
      if (!space.mappings.find(unseen.address)) return false;
      (unseen.of_exec ? exec_latency : map_latency).add(now - std::min(now, unseen.since_ns));
      return true;
    });
  }

  void insert(Process& process, const Mapping& mapping) {
    if (shared_by_others(process)) {
      AddressSpace changed = space_of(process).mappings;
      if (!changed.insert(mapping)) return;
      split(process);
    }
    if (space_of(process).mappings.insert(mapping)) mark_dirty(process.info.address_space);
    note_placement(process.info.address_space, mapping);
  }

  // --- events

  void exec_begins(Process& process, const MappingEvent& event) {
    if (process.awaiting_exec_events && event.time_ns <= process.space_since_ns) {
      process.awaiting_exec_events = false;
      process.exec_begin_ns = event.time_ns;
      return;
    }
    if (event.time_ns <= process.space_since_ns) return;  // of a program that is gone already
    process.pending.push_back({event.time_ns, {}});
    process.scan.reset();  // what it read may be of either program
  }

  void exec_ends(Process& process, const lifecycle_record& record) {
    ++counts.execs;
    if (process.info.address_space == record.address_space) {  // adopted, and scanned or about to be, under its new id already
      process.space_since_ns = std::max<uint64_t>(process.space_since_ns, record.time_ns);
      const auto newer = std::find_if(process.pending.begin(), process.pending.end(), [&](const PendingExec& p) { return p.begin_ns > record.time_ns; });
      for (auto at = process.pending.begin(); at != newer; ++at) {
        process.exec_begin_ns = at->begin_ns;
        for (const Mapping& mapping : at->mappings.mappings()) insert(process, mapping);
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
        note_placement(record.address_space, mapping);
        note_unseen(space, mapping, record.time_ns, true);
      }
    }
    mark_dirty(record.address_space);
  }

  void forked(const lifecycle_record& record) {
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
    if (parent != nullptr && (record.flags & PROCESS_SHARED_SPACE) == 0 && parent_info.address_space == record.address_space) {
      child.mm_group = parent_group;
    }
    if (record.address_space == 0) return;  // a kernel thread's child
    if (parent != nullptr && parent_info.address_space != record.address_space && replaced == record.address_space) {
      // The parent got its own id while this fork was under way: the child has the parent's memory, so it gets the parent's id.
      join(child, parent_info.address_space);
      if ((record.flags & PROCESS_SHARED_SPACE) == 0) child.mm_group = parent_group;
      static_cast<void>(publisher.replace_address_space(record.pid, record.address_space, parent_info.address_space));
    } else {
      const bool known_space = spaces.contains(record.address_space);
      join(child, record.address_space);
      if (!known_space) want_scan(child);
    }
  }

  void replay_orphans(Pid pid) {
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

  void dispatch(Process& process, const MappingEvent& event) {
    if (event.kind == MappingEventKind::kMap) map(process, event);
    if (event.kind == MappingEventKind::kExec) exec_begins(process, event);
    if (event.kind == MappingEventKind::kExec || (event.kind == MappingEventKind::kComm && event.tid == event.pid)) process.info.comm = event.name;
  }

  // --- scans

  void want_scan(Process& process) {
    process.rescan_wanted = true;
    attention.insert(process.info.pid);
  }

  // Reads /proc without the lock: others may look up meanwhile.
  void start_scan(Pid pid) {
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

  void finish_scan(Process& process) {
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
    for (const Mapping& mapping : space_of(process).mappings.mappings()) note_placement(process.info.address_space, mapping);
  }

  // --- publishing

  void set_published(Space& space, std::vector<PublishedBlock> blocks) {
    counts.blocks += blocks.size();
    counts.blocks -= space.published.size();
    space.published = std::move(blocks);
  }

  void report() {
    const std::unique_lock lock(mutex);
    reported = counts;
  }

  void publish(uint32_t id) {
    Space& space = spaces.at(id);
    space.dirty = false;
    const std::vector<PublishedBlock> want = space.evicted ? std::vector<PublishedBlock>() : space.mappings.blocks();
    for (;;) {
      const auto operations = block_difference(space.published, want);
      if (operations.empty()) return;
      const std::vector<Pid> users(space.users.begin(), space.users.end());
      const PublishOutcome outcome = publisher.publish(id, operations, users);
      ++counts.publishes;
      set_published(space, outcome.applied == operations.size() ? want : after_operations(space.published, operations, outcome.applied));
      if (outcome.applied == operations.size()) return note_seen(space);
      if (outcome.error && outcome.error->kind() == ErrorKind::kLimit && evict_one(id)) continue;
      ++counts.publish_failures;
      const BlockOperation& failed = operations[outcome.applied];
      diagnostics().warn(fmt::format("address space {} (process {})", id, users.empty() ? 0 : users.front()),
                         "mapping {:x}-{:x} not shown to the kernel: {}", failed.value.begin, failed.value.end,
                         outcome.error ? outcome.error->message() : "no reason given");
      return;
    }
  }

  // Makes room in a full trie. False: nothing left to take.
  bool evict_one(uint32_t keep) {
    uint32_t oldest = 0;
    for (const auto& [id, space] : spaces) {
      if (id == keep || space.published.empty()) continue;
      if (oldest == 0 || space.last_sampled < spaces.at(oldest).last_sampled) oldest = id;
    }
    if (oldest == 0) return false;
    Space& space = spaces.at(oldest);
    space.evicted = true;
    const std::vector<Pid> users(space.users.begin(), space.users.end());
    const auto operations = block_difference(space.published, {});
    const PublishOutcome outcome = publisher.publish(oldest, operations, users);
    set_published(space, after_operations(space.published, operations, outcome.applied));
    if (outcome.applied == 0) return false;
    ++counts.evicted_spaces;
    diagnostics().warn("mapping table", "full: the least recently sampled processes leave it until they are sampled again");
    return true;
  }
};

ProcessTable::ProcessTable(MappingPublisher& publisher, ImageSource& images, ThreadNames& names, Options options)
    : state_(std::make_unique<State>(publisher, images, names, std::move(options))) {
  if (!state_->options.read_maps) state_->options.read_maps = [](Pid pid) { return process::read_maps(pid, MapsFilter::kExecutable); };
  if (!state_->options.now_ns) state_->options.now_ns = monotonic_now;
}
ProcessTable::~ProcessTable() = default;

Result<void> ProcessTable::adopt(Pid pid) {
  const ProcStat stat = TRY(read_stat(pid));
  state_->names.scan(pid);
  if (stat.kernel_thread || (stat.state == 'Z' && thread_with_memory(pid) == pid)) return {};
  const process_value value = TRY(state_->publisher.adopt_process(pid, stat.start_ticks));
  const std::unique_lock lock(state_->mutex);
  const Process* known = state_->find(pid);
  if (known != nullptr && known->info.address_space == value.address_space) return {};
  Process& process = state_->create(pid, value.start_ns != 0 ? value.start_ns : stat.start_ticks * 10'000'000);
  process.info.parent_pid = stat.parent_pid;
  process.info.comm = stat.comm;
  process.born_ns = state_->options.now_ns();
  if (value.address_space == 0) return {};
  state_->join(process, value.address_space);
  state_->want_scan(process);
  state_->replay_orphans(pid);
  return {};
}

bool ProcessTable::wants(const MappingEvent& event) const {
  if (state_->options.whole_machine) return true;
  if (state_->processes.contains(event.pid) || state_->expected.contains(event.pid)) return true;
  return event.kind == MappingEventKind::kThreadFork &&
         (state_->processes.contains(event.parent_pid) || state_->expected.contains(event.parent_pid));
}

void ProcessTable::apply(const MappingEvent& event) {
  State& s = *state_;
  switch (event.kind) {
    case MappingEventKind::kThreadFork:
      s.names.inherit(event.pid, event.tid, event.parent_tid, event.time_ns);
      // perf tells of a fork before BPF does: a process that was born before this event has ended, and the event is its successor's.
      if (Process* known = event.pid == event.tid && event.pid != event.parent_pid ? s.find(event.pid) : nullptr;
          known != nullptr && known->born_ns < event.time_ns) {
        known->reused_ns = event.time_ns;
      }
      // A process seen first here: its fork record comes through the other ring. Until then, keep what it maps.
      if (event.pid == event.tid && event.pid != event.parent_pid && s.find(event.pid) == nullptr && s.expected.size() < kMaxOrphanEvents) {
        s.expected.emplace(event.pid, event.time_ns);
      }
      return;
    case MappingEventKind::kThreadExit: s.names.end(event.tid); return;
    case MappingEventKind::kComm:
    case MappingEventKind::kExec: s.names.set(event.pid, event.tid, event.name); break;
    case MappingEventKind::kMap: break;
  }
  const std::unique_lock lock(s.mutex);
  Process* process = s.find(event.pid);
  if (process != nullptr && (process->reused_ns == 0 || event.time_ns < process->reused_ns)) return s.dispatch(*process, event);
  if (event.kind == MappingEventKind::kComm) return;
  if (s.orphan_count >= kMaxOrphanEvents) {
    ++s.counts.orphan_events;
    return;
  }
  s.orphans[event.pid].emplace_back(event);
  ++s.orphan_count;
}

void ProcessTable::apply(const lifecycle_record& record) {
  State& s = *state_;
  const std::unique_lock lock(s.mutex);
  Process* process = s.find(record.pid);
  const bool in_ticks = process != nullptr && process->info.start_ns % kTickNs == 0;  // an adopted one's
  const bool same = process != nullptr && (process->info.start_ns == record.start_ns || record.start_ns == 0 ||
                                           (in_ticks && to_ticks(process->info.start_ns) == to_ticks(record.start_ns)));
  if (same && record.start_ns != 0) process->info.start_ns = record.start_ns;  // adopted ones know theirs in ticks only
  switch (record.kind) {
    case RECORD_FORK:
      s.forked(record);
      s.replay_orphans(record.pid);
      break;
    case RECORD_EXEC:
      if (same && record.time_ns < process->space_since_ns) break;  // overtaken by a later exec
      if (!same) {
        process = &s.create(record.pid, record.start_ns);
        process->info.parent_pid = record.parent_pid;
        process->born_ns = record.time_ns;
        s.replay_orphans(record.pid);
      }
      s.exec_ends(*process, record);
      break;
    case RECORD_EXIT:
      if (!same) break;  // twice, or of an earlier process with this pid
      if (process->reused_ns == 0) s.expected.erase(record.pid);
      else s.expected.emplace(record.pid, process->reused_ns);
      ++s.counts.exits;
      s.depart(*process);
      break;
    case RECORD_MISS:
      if (same) s.want_scan(*process);
      break;
    default: break;
  }
  if (process = s.find(record.pid); process != nullptr && record.comm[0] != 0 && process->info.comm.empty()) {
    process->info.comm.assign(record.comm, ::strnlen(record.comm, sizeof record.comm));
  }
}

void ProcessTable::report_lost() {
  for (auto& [pid, process] : state_->processes) {
    if (process.info.address_space != 0) state_->want_scan(process);
  }
}

void ProcessTable::request_rescan(Pid pid) {
  if (Process* process = state_->find(pid); process != nullptr && process->info.address_space != 0) state_->want_scan(*process);
}

bool ProcessTable::advance(uint64_t horizon_ns) {
  State& s = *state_;
  const uint64_t now = s.options.now_ns();
  bool more = false;
  for (const uint32_t image : s.images.take_settled()) {
    const std::unique_lock lock(s.mutex);
    for (const uint32_t id : s.pending_spaces) {
      const auto space = s.spaces.find(id);
      if (space != s.spaces.end() && space->second.mappings.place_again(image, s.images)) s.mark_dirty(id);
    }
    for (auto& [pid, process] : s.processes) {
      for (PendingExec& pending : process.pending) pending.mappings.place_again(image, s.images);
    }
  }
  std::erase_if(s.pending_spaces, [&](uint32_t id) {
    const auto space = s.spaces.find(id);
    if (space == s.spaces.end()) return true;
    const auto mappings = space->second.mappings.mappings();
    return std::none_of(mappings.begin(), mappings.end(),
                        [](const Mapping& mapping) { return mapping.placement.state == PlacementState::kPending; });
  });

  const std::vector<Pid> attention(s.attention.begin(), s.attention.end());
  for (const Pid pid : attention) {
    Process* const found = s.find(pid);
    if (found == nullptr) {
      s.attention.erase(pid);
      continue;
    }
    Process& process = *found;
    if (process.scan && process.scan->end_ns <= horizon_ns) {
      const std::unique_lock lock(s.mutex);
      s.finish_scan(process);
    }
    if (process.awaiting_exec_events && now - std::min(now, process.awaiting_since_ns) > kExecPatienceNs) {
      process.awaiting_exec_events = false;
      process.rescan_wanted = true;
    }
    if (process.rescan_wanted && !process.scan && now >= process.next_scan_ns) {
      if (s.options.now_ns() - now < s.options.scan_budget_ns) s.start_scan(pid);
    }
    if (process.scan || process.awaiting_exec_events || (process.rescan_wanted && process.next_scan_ns < now + kSoonNs)) more = true;
    if (!process.scan && !process.awaiting_exec_events && !process.rescan_wanted) s.attention.erase(pid);
  }

  for (auto at = s.dirty.begin(); at != s.dirty.end();) {
    const auto space = s.spaces.find(*at);
    if (space != s.spaces.end() && space->second.dirty) {
      if (now < space->second.publish_not_before_ns) {
        more = true;
        ++at;
        continue;
      }
      if (space->second.mappings.size() > kLargeSpace) space->second.publish_not_before_ns = now + kLargeSpacePauseNs;
      s.publish(*at);
    }
    at = s.dirty.erase(at);
  }
  s.report();
  return more;
}

void ProcessTable::note_sampled(std::span<const uint32_t> address_spaces) {
  State& s = *state_;
  ++s.sampled_turn;
  for (const uint32_t id : address_spaces) {
    const auto at = s.spaces.find(id);
    if (at == s.spaces.end()) continue;
    at->second.last_sampled = s.sampled_turn;
    if (!at->second.evicted) continue;
    at->second.evicted = false;  // it is wanted again
    s.mark_dirty(id);
  }
}

void ProcessTable::end_cycle() {
  State& s = *state_;
  const uint64_t now = s.options.now_ns();
  std::vector<uint32_t> unused;
  for (const auto& [id, space] : s.spaces) {
    if (space.unused_in_cycle != 0 && space.unused_in_cycle < s.cycle) unused.push_back(id);
  }
  for (const uint32_t id : unused) {
    Space& space = s.spaces.at(id);
    const auto operations = block_difference(space.published, {});
    if (!operations.empty()) {
      const PublishOutcome outcome = s.publisher.publish(id, operations, {});
      s.set_published(space, after_operations(space.published, operations, outcome.applied));
      if (outcome.applied != operations.size()) {
        ++s.counts.publish_failures;
        continue;  // again in the next cycle
      }
    }
    s.publisher.forget(id);
    const std::unique_lock lock(s.mutex);
    s.spaces.erase(id);
    s.dirty.erase(id);
    s.pending_spaces.erase(id);
  }
  const std::unique_lock lock(s.mutex);
  std::erase_if(s.departed, [&](const auto& entry) { return entry.second.second < s.cycle; });
  std::erase_if(s.expected, [&](const auto& entry) { return entry.second + kOrphanPatienceNs < now; });
  std::erase_if(s.orphans, [&](const auto& entry) {
    if (entry.second.back().event.time_ns + kOrphanPatienceNs >= now) return false;
    s.orphan_count -= entry.second.size();
    s.counts.orphan_events += entry.second.size();
    return true;
  });
  ++s.cycle;
  s.reported = s.counts;
}

std::optional<ProcessInfo> ProcessTable::find_process(Pid pid, std::optional<uint32_t> start_ticks_low) const {
  const State& s = *state_;
  const auto fits = [&](uint64_t start_ns) { return !start_ticks_low || static_cast<uint32_t>(to_ticks(start_ns)) == *start_ticks_low; };
  const std::shared_lock lock(s.mutex);
  if (const auto at = s.processes.find(pid); at != s.processes.end() && fits(at->second.info.start_ns)) return at->second.info;
  // Newest first: with no proof asked for, the last who had the pid.
  for (auto at = s.departed.upper_bound({pid, ~uint64_t{0}}); at != s.departed.begin();) {
    --at;
    if (at->first.first != pid) break;
    if (fits(at->first.second)) return at->second.first;
  }
  return std::nullopt;
}

std::optional<mapping_value> ProcessTable::find_mapping(uint32_t address_space, RuntimeAddr address) const {
  const State& s = *state_;
  const std::shared_lock lock(s.mutex);
  const auto at = s.spaces.find(address_space);
  return at == s.spaces.end() ? std::nullopt : at->second.mappings.find(address);
}

const LatencyHistogram& ProcessTable::exec_latency() const { return state_->exec_latency; }
const LatencyHistogram& ProcessTable::map_latency() const { return state_->map_latency; }

ProcessTableCounts ProcessTable::counts() const {
  const State& s = *state_;
  const std::shared_lock lock(s.mutex);
  ProcessTableCounts counts = s.reported;
  counts.processes = s.processes.size();
  counts.address_spaces = s.spaces.size();
  for (const auto& [id, space] : s.spaces) counts.mappings += space.mappings.size();
  return counts;
}

}  // namespace cicada::process
