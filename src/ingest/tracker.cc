// SPDX-License-Identifier: Apache-2.0
#include "ingest/tracker.h"

#include "base/scoped_short_slice.h"

#include <malloc.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/diagnostics.h"
#include "base/monotonic_clock.h"

namespace cicada::ingest {
namespace {

constexpr uint64_t kCycleNs = 1'000'000'000;
constexpr unsigned kScanWorkers = 2;
constexpr unsigned kMaxCyclesKept = 10;  // more would let the table of processes grow without end
// Until they are looked at, what was mapped anew where something else was before has the old one's names: two samples' time.
constexpr int kIdleSamples = 2, kLongestIdleMs = 20;
constexpr int kBusyPollMs = 1;
constexpr uint64_t kBusyAfterNs = 10'000'000;
// A program that maps a library where another one was does so again, and until it is noticed its stacks name the old one (a library that
// nobody knew before is a miss, and a miss wakes): 4.6 ms of wrong names each time without this, 0.6 with it.
constexpr uint64_t kBusyAfterReplacedNs = 1'000'000'000;
// In a storm, events wait this long at most for the samples and lifecycle records of their time.
constexpr uint64_t kPatienceNs = 50'000'000;
// Who has no sample in the ring this long after his end will have none. Memory is torn down after the exit record; with 2 ms, one sample in 700
// of a machine that was full came too late.
constexpr uint64_t kLastSampleNs = 10'000'000;
// See ProcessTable::advance(). Deferred walks are allowed for every sample up to 820 Hz, of small stacks (16 KiB) up to 2,000 Hz.
constexpr uint64_t kYoungNs = 3'000'000;

}  // namespace

Result<std::unique_ptr<Tracker>> Tracker::open(std::unique_ptr<process::MappingEventSource> events, process::MappingPublisher& publisher,
                                               process::ImageSource& images, Options options) {
  process::ProcessTable::Options table;
  table.whole_machine = options.whole_machine;
  table.scans.workers = kScanWorkers;
  table.scans.read_maps = options.read_maps;
  std::unique_ptr<Tracker> tracker(new Tracker(std::move(events), std::move(options)));
  tracker->wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!tracker->wake_) return errno_error(errno, "eventfd");
  tracker->images_ = &images;
  tracker->table_ = std::make_unique<process::ProcessTable>(publisher, images, tracker->names_, table);
  return tracker;
}

Tracker::~Tracker() { stop(); }

void Tracker::start() {
  next_cycle_ns_ = monotonic_ns() + kCycleNs;
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

void Tracker::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  wake();
  thread_.join();
}

void Tracker::wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void Tracker::push(const lifecycle_record& record) {
  {
    const std::lock_guard lock(mutex_);
    inbox_.records.push_back(record);
    if (inbox_.records.size() > 1) return;  // already woken
  }
  wake();
}

void Tracker::note_drained(uint64_t time_ns, std::span<const Pid> sampled) {
  const std::lock_guard lock(mutex_);
  inbox_.drained_until_ns = time_ns;
  inbox_.sampled_processes.insert(inbox_.sampled_processes.end(), sampled.begin(), sampled.end());
}

void Tracker::note_sampled(std::vector<uint32_t> address_spaces) {
  const std::lock_guard lock(mutex_);
  inbox_.sampled.insert(inbox_.sampled.end(), address_spaces.begin(), address_spaces.end());
}

void Tracker::sync(int timeout_ms) {
  const uint64_t now = monotonic_ns();
  const uint64_t deadline = now + static_cast<uint64_t>(timeout_ms) * 1'000'000;
  while (watermark_ns() < now && monotonic_ns() < deadline) {
    wake();
    const timespec pause{0, 200'000};
    ::nanosleep(&pause, nullptr);
  }
}

process::MappingEventCounts Tracker::event_counts() const {
  const std::lock_guard lock(mutex_);
  return event_counts_;
}

void Tracker::run(std::stop_token stop) {
  ::prctl(PR_SET_NAME, "cicada-tracker");
  const ScopedShortSlice prompt(ScopedShortSlice::kAheadOfUsual);
  const int idle_ms = sleep_ms(options_.frequency_hz, kIdleSamples, kLongestIdleMs);
  bool more = true;
  while (!stop.stop_requested()) {
    if (pace_.storm()) {  // it has paused already
      more = poll_once();
      pace_.turn(records_);
      continue;
    }
    pollfd fds[] = {{events_->poll_fd(), POLLIN, 0}, {images_->ready_fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    ::poll(fds, std::size(fds), more ? kBusyPollMs : idle_ms);
    if (fds[2].revents != 0) {
      uint64_t drained = 0;
      [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &drained, sizeof drained);
    }
    more = poll_once();
    pace_.turn(records_);
  }
  note_event_counts();
}

void Tracker::note_event_counts() {
  const std::lock_guard lock(mutex_);
  event_counts_ = events_->counts();
}

bool Tracker::poll_once() {
  table_->begin_poll();
  const uint64_t now = monotonic_ns();
  Inbox inbox;
  {
    const std::lock_guard lock(mutex_);
    std::swap(inbox, inbox_);
  }
  records_ = inbox.records.size();
  waiting_.insert(waiting_.end(), inbox.records.begin(), inbox.records.end());
  constexpr auto earlier = [](const lifecycle_record& a, const lifecycle_record& b) { return a.time_ns < b.time_ns; };
  if (!std::is_sorted(waiting_.begin(), waiting_.end(), earlier)) std::stable_sort(waiting_.begin(), waiting_.end(), earlier);
  drained_until_ns_ = std::max(drained_until_ns_, inbox.drained_until_ns);
  for (const Pid pid : inbox.sampled_processes) sampled_until_[pid] = drained_until_ns_;

  const bool storm = pace_.storm();
  const uint64_t known_until = drained_until_ns_ - std::min(drained_until_ns_, kLastSampleNs);
  const uint64_t limit = storm ? std::clamp(known_until, now - kPatienceNs, now) : now;
  const auto later = !storm ? waiting_.end() : std::find_if(waiting_.begin(), waiting_.end(), [&](const lifecycle_record& record) { return record.time_ns > limit; });
  const std::span<const lifecycle_record> records(waiting_.begin(), later);
  short_lived_.clear();
  if (storm && options_.whole_machine && limit <= known_until) {
    short_lived_.select(records, [this](Pid pid) { return sampled_until_.contains(pid); });
  }
  // Both streams in the order of their clock: what a process mapped before its exit is applied before the exit, and what the next process
  // with that pid maps after it. Otherwise a process that lived between two looks at the records had gone before its mappings came, and
  // none of its stacks could be finished.
  uint64_t lost = 0;
  for (const lifecycle_record& record : records) {
    const bool short_lived = short_lived_.contains(record.pid);
    if (!short_lived) lost += drain_until(std::min<uint64_t>(record.time_ns, now));
    apply(record, short_lived);
  }
  lost += drain_until(limit);
  waiting_.erase(waiting_.begin(), later);
  std::erase_if(sampled_until_, [&](const auto& entry) { return entry.second <= limit; });
  if (lost > 0) table_->report_lost();
  if (!inbox.sampled.empty()) table_->note_sampled(inbox.sampled);
  const bool unfinished = table_->advance(limit, storm ? kYoungNs : 0) || !waiting_.empty();
  if (records_ != 0) busy_until_ns_ = std::max(busy_until_ns_, now + kBusyAfterNs);
  if (const uint64_t replaced = table_->replaced_mappings(); replaced != replaced_mappings_) {
    replaced_mappings_ = replaced;
    busy_until_ns_ = now + kBusyAfterReplacedNs;
  }
  const bool more = unfinished || now < busy_until_ns_;
  if (now >= next_cycle_ns_) end_cycle(now);
  if (caught_up_ns_.load(std::memory_order_relaxed) == 0 && table_->is_caught_up()) {
    caught_up_ns_ = monotonic_ns();
    ::malloc_trim(0);  // of what the files under /proc were read into: 30 MB for 500 processes with 200 mappings
  }
  watermark_ns_.store(limit, std::memory_order_release);
  return more;
}

uint64_t Tracker::drain_until(uint64_t time_ns) {
  return events_->drain(
      time_ns, [this](const process::MappingEvent& event) { return !short_lived_.contains(event.pid, event.time_ns) && table_->wants(event); },
      [this](const process::MappingEvent& event) { table_->apply(event); });
}

void Tracker::apply(const lifecycle_record& record, bool short_lived) {
  if (record.kind == RECORD_EXIT) tell(record);  // while the table still knows it
  if (record.kind == RECORD_MISS) {
    follow_miss(record.pid);
  } else {
    short_lived ? table_->note_short_lived(record) : table_->apply(record);
  }
  if (record.kind == RECORD_EXEC) options_.metadata->on_exec({record.pid, record.start_ns / kNsPerTick});
  if (record.kind == RECORD_EXIT) options_.metadata->on_exit({record.pid, record.start_ns / kNsPerTick});
  if (record.kind != RECORD_EXIT) tell(record);
}

void Tracker::end_cycle(uint64_t now) {
  next_cycle_ns_ = now + kCycleNs;
  const uint64_t waits_since = retain_exited_since_ns_.load(std::memory_order_relaxed);
  const bool keep = waits_since != 0 && waits_since + kCycleNs / 2 < now && ++cycles_kept_ <= kMaxCyclesKept;
  if (!keep) {
    cycles_kept_ = 0;
    table_->end_cycle();
    names_.end_cycle();
    options_.metadata->end_cycle();
  }
  if (const Result<void> followed = events_->follow_cpus(); !followed) {
    diagnostics().warn("mapping events", "{}", followed.error().message());
  }
  note_event_counts();
}

void Tracker::follow_miss(Pid pid) {
  if (table_->request_rescan(pid)) return;
  if (const Result<void> adopted = table_->adopt(pid); !adopted && adopted.error().kind() != ErrorKind::kGone) {
    diagnostics().warn(fmt::format("process {}", pid), "{}", adopted.error().message());
  }
}

void Tracker::tell(const lifecycle_record& record) {
  const auto& callbacks = options_.callbacks;
  const auto& callback = record.kind == RECORD_FORK ? callbacks.on_fork : record.kind == RECORD_EXEC ? callbacks.on_exec : callbacks.on_exit;
  if (!callback || record.kind < RECORD_FORK || record.kind > RECORD_EXIT) return;
  process::ProcessInfo info;
  info.pid = record.pid;
  info.parent_pid = record.parent_pid;
  info.start_ns = record.start_ns;
  info.address_space = record.address_space;
  info.comm.assign(record.comm, ::strnlen(record.comm, sizeof record.comm));
  callback(info);
}

}  // namespace cicada::ingest
