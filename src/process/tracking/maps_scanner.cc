// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/maps_scanner.h"

#include <algorithm>
#include <utility>

#include "base/diagnostics.h"
#include "process/procfs/proc_fs.h"

namespace cicada::process {
namespace {

constexpr uint64_t kSoonNs = 50'000'000;
constexpr std::chrono::milliseconds kStopTimeout(500);

}  // namespace

MapsScanner::MapsScanner(Options options, FindSpace find_space) : options_(std::move(options)), find_space_(std::move(find_space)) {
  // Names of mappings may cost the kernel seconds: one core of a user's at most, and nobody else waits for it.
  if (options_.workers != 0)
    queue_.emplace(WorkQueue::Options{.thread_name = "cicada-maps", .workers = options_.workers, .of_one_owner = 1, .stop_timeout = kStopTimeout});
}

void MapsScanner::want(Pid pid, uint64_t not_before_ns) {
  Job& job = jobs_[pid];
  job.wanted = true;
  job.not_before_ns = std::max(job.not_before_ns, not_before_ns);
}

bool MapsScanner::is_scanning(Pid pid) const {
  const auto job = jobs_.find(pid);
  return job != jobs_.end() && job->second.scan;
}

void MapsScanner::note_mapping(Pid pid, const Mapping& mapping, uint64_t time_ns) {
  const auto job = jobs_.find(pid);
  if (job != jobs_.end() && job->second.scan) job->second.scan->later.emplace_back(time_ns, mapping);
}

void MapsScanner::cancel(Pid pid) {
  const auto job = jobs_.find(pid);
  if (job != jobs_.end()) job->second = {job->second.wanted, 0, std::nullopt};
}

void MapsScanner::start(Pid pid, Job& job) {
  job.wanted = false;
  job.not_before_ns = options_.now_ns() + options_.interval_ns;
  const uint32_t address_space = find_space_(pid);
  if (address_space == 0) return;  // the records of that are on their way
  const uint64_t id = ++scans_;
  job.scan = Scan{id, address_space, {}, 0, 0, {}};
  const auto read = [answers = answers_, pid, id, now_ns = options_.now_ns, read_maps = options_.read_maps] {
    const uint64_t begin = now_ns();
    Result<MapsFile> maps = read_maps(pid);
    const uint64_t end = now_ns();
    const std::lock_guard lock(answers->mutex);
    answers->all.push_back({pid, id, begin, end, std::move(maps)});
  };
  if (!queue_) return read();
  if (queue_->submit({.owner = owner_of(pid), .run = [read](WorkQueue::Attempt&) { read(); }}) == 0) job.scan.reset();
}

void MapsScanner::take_answers() {
  std::vector<Answer> answers;
  {
    const std::lock_guard lock(answers_->mutex);
    std::swap(answers, answers_->all);
  }
  for (Answer& answer : answers) {
    const auto job = jobs_.find(answer.pid);
    if (job == jobs_.end() || !job->second.scan || job->second.scan->id != answer.scan) continue;
    Scan& scan = *job->second.scan;
    if (!answer.maps) {
      if (answer.maps.error().kind() != ErrorKind::kGone) diagnostics().warn(fmt::format("process {}", answer.pid), "{}", answer.maps.error().message());
      job->second.scan.reset();
      continue;
    }
    scan.maps = std::move(*answer.maps);
    scan.begin_ns = answer.begin_ns;
    scan.end_ns = answer.end_ns;
  }
}

std::vector<MapsScanner::Found> MapsScanner::take_finished(uint64_t watermark_ns) {
  take_answers();
  std::vector<Found> finished;
  for (auto& [pid, job] : jobs_) {
    if (!job.scan || !job.scan->maps || job.scan->end_ns > watermark_ns) continue;
    Scan scan = *std::exchange(job.scan, std::nullopt);
    if (scan.maps->entries.empty() || find_space_(pid) != scan.address_space) {
      ++discarded_;
      continue;
    }
    Found& found = finished.emplace_back(Found{pid, scan.end_ns, std::move(scan.maps->entries), {}});
    for (const auto& [time_ns, mapping] : scan.later) {
      if (time_ns > scan.begin_ns) found.later.push_back(mapping);
    }
  }
  return finished;
}

bool MapsScanner::start_due() {
  const uint64_t now = options_.now_ns();
  bool more = false;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    auto& [pid, job] = *at;
    if (job.wanted && !job.scan && now >= job.not_before_ns) start(pid, job);
    if (job.scan || (job.wanted && job.not_before_ns < now + kSoonNs)) more = true;
    const bool over = !job.scan && !job.wanted && job.not_before_ns <= now;
    at = over ? jobs_.erase(at) : std::next(at);
  }
  take_answers();
  return more;
}

bool MapsScanner::is_behind() const {
  return std::any_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job.second.scan || (job.second.wanted && job.second.not_before_ns == 0); });
}

}  // namespace cicada::process
