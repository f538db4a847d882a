// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/maps_scanner.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/diagnostics.h"
#include "process/procfs/proc_fs.h"

namespace cicada::process {
namespace {

constexpr uint64_t kSoonNs = 50'000'000;

}  // namespace

MapsScanner::MapsScanner(Options options, FindSpace find_space) : options_(std::move(options)), find_space_(std::move(find_space)) {
  // Names of mappings may cost the kernel seconds: one core of a user's at most, and nobody else waits for it.
  if (options_.workers != 0)
    queue_.emplace(WorkQueue::Options{.thread_name = "cicada-maps", .workers = options_.workers, .of_one_owner = 1});
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

MapsScanner::ReadMaps MapsScanner::one_by_one(std::function<Result<MapsFile>(Pid)> read) {
  return [read = std::move(read)](uint32_t, std::span<const Pid> pids, const std::stop_token&) {
    std::vector<Result<MapsFile>> all;
    for (const Pid pid : pids) all.push_back(read(pid));
    return all;
  };
}

std::optional<MapsScanner::Question> MapsScanner::start(Pid pid, Job& job) {
  job.wanted = false;
  job.not_before_ns = options_.now_ns() + options_.interval_ns;
  const uint32_t address_space = find_space_(pid);
  if (address_space == 0) return std::nullopt;  // the records of that are on their way
  job.scan = Scan{++scans_, address_space, {}, 0, 0, {}};
  return Question{pid, job.scan->id};
}

void MapsScanner::read(uint32_t owner, std::span<const Question> questions, const std::stop_token& stop) {
  std::vector<Pid> pids;
  for (const Question& question : questions) pids.push_back(question.pid);
  const uint64_t begin = options_.now_ns();
  std::vector<Result<MapsFile>> maps = options_.read_maps(owner, pids, stop);
  const uint64_t end = options_.now_ns();
  const std::lock_guard lock(answers_mutex_);
  for (size_t i = 0; i < maps.size(); ++i) answers_.push_back({pids[i], questions[i].scan, begin, end, std::move(maps[i])});
}

void MapsScanner::submit(uint32_t owner, std::vector<Question> questions) {
  if (!queue_) return read(owner, questions, {});
  const bool taken = queue_->submit({.owner = owner, .run = [this, owner, questions](WorkQueue::Attempt& attempt) {
                                       read(owner, questions, attempt.stop_token());
                                     }}) != 0;
  if (taken) return;
  for (const Question& question : questions) jobs_[question.pid].scan.reset();
}

void MapsScanner::take_answers() {
  std::vector<Answer> answers;
  {
    const std::lock_guard lock(answers_mutex_);
    std::swap(answers, answers_);
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
  std::map<uint32_t, std::vector<Question>> due;  // by owner
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    auto& [pid, job] = *at;
    if (const auto question = job.wanted && !job.scan && now >= job.not_before_ns ? start(pid, job) : std::nullopt) {
      const uint32_t owner = owner_of(pid);
      std::vector<Question>& together = due[owner];
      together.push_back(*question);
      if (together.size() == kMaxAtOnce || !queue_) submit(owner, std::exchange(together, {}));
    }
    if (job.scan || (job.wanted && job.not_before_ns < now + kSoonNs)) more = true;
    const bool over = !job.scan && !job.wanted && job.not_before_ns <= now;
    at = over ? jobs_.erase(at) : std::next(at);
  }
  for (auto& [owner, questions] : due)
    if (!questions.empty()) submit(owner, std::move(questions));
  take_answers();
  return more;
}

bool MapsScanner::is_behind() const {
  return std::any_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job.second.scan || (job.second.wanted && job.second.not_before_ns == 0); });
}

}  // namespace cicada::process
