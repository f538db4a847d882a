// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/maps_scanner.h"

#include <algorithm>
#include <utility>

#include "base/diagnostics.h"

namespace cicada::process {
namespace {

constexpr uint64_t kSoonNs = 50'000'000;

}  // namespace

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
  if (job == jobs_.end() || !job->second.scan || time_ns <= job->second.scan->found.begin_ns) return;
  job->second.scan->found.later.push_back(mapping);
}

void MapsScanner::cancel(Pid pid) {
  const auto job = jobs_.find(pid);
  if (job != jobs_.end()) job->second = {job->second.wanted, 0, std::nullopt};
}

void MapsScanner::start(Pid pid, Job& job) {
  const uint64_t begin = options_.now_ns();
  job.wanted = false;
  job.not_before_ns = begin + options_.interval_ns;
  const uint32_t address_space = find_space_(pid);
  if (address_space == 0) return;  // the records of that are on their way
  auto maps = options_.read_maps(pid);
  ++scans_;
  if (maps) {
    job.scan = Scan{{pid, begin, std::move(maps->entries), {}}, options_.now_ns(), address_space};
  } else if (maps.error().kind() != ErrorKind::kGone) {
    diagnostics().warn(fmt::format("process {}", pid), "{}", maps.error().message());
  }
}

std::vector<MapsScanner::Found> MapsScanner::take_finished(uint64_t watermark_ns) {
  std::vector<Found> finished;
  for (auto& [pid, job] : jobs_) {
    if (!job.scan || job.scan->end_ns > watermark_ns) continue;
    Scan scan = *std::exchange(job.scan, std::nullopt);
    if (scan.found.entries.empty() || find_space_(pid) != scan.address_space) {
      ++discarded_;
    } else {
      finished.push_back(std::move(scan.found));
    }
  }
  return finished;
}

bool MapsScanner::start_due() {
  const uint64_t now = options_.now_ns();
  bool more = false;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    auto& [pid, job] = *at;
    if (job.wanted && !job.scan && now >= job.not_before_ns && options_.now_ns() - now < options_.budget_ns) start(pid, job);
    if (job.scan || (job.wanted && job.not_before_ns < now + kSoonNs)) more = true;
    const bool over = !job.scan && !job.wanted && job.not_before_ns <= now;
    at = over ? jobs_.erase(at) : std::next(at);
  }
  return more;
}

bool MapsScanner::is_behind() const {
  return std::any_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job.second.scan || (job.second.wanted && job.second.not_before_ns == 0); });
}

}  // namespace cicada::process
