// SPDX-License-Identifier: Apache-2.0
#include "ingest/waiting_stacks.h"

#include <algorithm>
#include <utility>

namespace cicada::ingest {

bool WaitingStacks::add(UnwindJob job, std::vector<UnwindJob>& dropped) {
  const uint32_t asks = job.owner();
  const size_t wanted = cost(job);
  if (wanted > max_bytes_) return false;
  const auto bytes_of = [&](const auto& owner) { return owner.second.bytes + (owner.first == asks ? wanted : 0); };
  while (bytes_ > max_bytes_ - wanted) {
    const auto most =
        std::max_element(owners_.begin(), owners_.end(), [&](const auto& a, const auto& b) { return bytes_of(a) < bytes_of(b); });
    const bool is_own = most->first == asks;
    if (!is_own && most->second.bytes <= wanted) return false;
    auto lost = drop(most->second, !is_own);
    if (!lost) return false;
    subtract(lost->owner(), cost(*lost));
    dropped.push_back(*std::move(lost));
  }
  Owner& owner = owners_[asks];
  owner.bytes += wanted;
  ++owner.count;
  bytes_ += wanted;
  owner.waiting.emplace(job.arrived_ns, std::move(job));
  return true;
}

// Nothing: it has none that may be dropped.
std::optional<UnwindJob> WaitingStacks::drop(Owner& owner, bool waiting_too) {
  const auto take_newest = [](Jobs& jobs) { return std::optional(std::move(jobs.extract(std::prev(jobs.end())).mapped())); };
  const auto most = std::max_element(owner.parked.begin(), owner.parked.end(),
                                     [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
  if (most == owner.parked.end()) return waiting_too && !owner.waiting.empty() ? take_newest(owner.waiting) : std::nullopt;
  auto job = take_newest(most->second.jobs);
  most->second.bytes -= cost(*job);
  if (most->second.jobs.empty()) owner.parked.erase(most);
  return job;
}

std::vector<UnwindJob> WaitingStacks::take(uint32_t owner, size_t most, size_t most_bytes) {
  std::vector<UnwindJob> jobs;
  const auto of = owners_.find(owner);
  if (of == owners_.end()) return jobs;
  Jobs& waiting = of->second.waiting;
  for (size_t bytes = 0; !waiting.empty() && jobs.size() < most && bytes < most_bytes;) {
    jobs.push_back(std::move(waiting.extract(waiting.begin()).mapped()));
    bytes += cost(jobs.back());
  }
  return jobs;
}

void WaitingStacks::park(Image image, UnwindJob job) {
  Parked& parked = owners_[job.owner()].parked[image];
  parked.bytes += cost(job);
  parked.jobs.emplace(job.arrived_ns, std::move(job));
}

std::vector<uint32_t> WaitingStacks::ready(Image image) {
  std::vector<uint32_t> whose;
  for (auto& [owner, of] : owners_) {
    auto parked = of.parked.extract(image);
    if (!parked) continue;
    of.waiting.merge(parked.mapped().jobs);
    whose.push_back(owner);
  }
  return whose;
}

void WaitingStacks::forget(const UnwindJob& job) { subtract(job.owner(), cost(job)); }

std::vector<UnwindJob> WaitingStacks::take_all(std::optional<uint32_t> owner) {
  std::vector<UnwindJob> all;
  const auto take_from = [&](Jobs& jobs) {
    for (auto& [arrived_ns, job] : jobs) all.push_back(std::move(job));
    jobs.clear();
  };
  for (auto& [each, of] : owners_) {
    if (owner && each != *owner) continue;
    for (auto& [image, parked] : of.parked) of.waiting.merge(parked.jobs);
    of.parked.clear();
    take_from(of.waiting);
  }
  for (const UnwindJob& job : all) forget(job);
  return all;
}

std::vector<UnwindJob> WaitingStacks::take_parked(Image image) {
  std::vector<UnwindJob> all;
  for (auto& [owner, of] : owners_) {
    auto parked = of.parked.extract(image);
    if (!parked) continue;
    for (auto& [arrived_ns, job] : parked.mapped().jobs) all.push_back(std::move(job));
  }
  for (const UnwindJob& job : all) forget(job);
  return all;
}

std::vector<UnwindJob> WaitingStacks::take_parked_before(uint64_t arrived_ns) {
  std::vector<UnwindJob> all;
  for (auto& [owner, of] : owners_) {
    for (auto& [image, parked] : of.parked) {
      for (Jobs& jobs = parked.jobs; !jobs.empty() && jobs.begin()->first < arrived_ns;) {
        all.push_back(std::move(jobs.extract(jobs.begin()).mapped()));
        parked.bytes -= cost(all.back());
      }
    }
    std::erase_if(of.parked, [](const auto& entry) { return entry.second.jobs.empty(); });
  }
  for (const UnwindJob& job : all) forget(job);
  return all;
}

bool WaitingStacks::waits(uint32_t owner) const {
  const auto of = owners_.find(owner);
  return of != owners_.end() && !of->second.waiting.empty();
}

uint64_t WaitingStacks::first_arrival_ns() const {
  uint64_t first = UINT64_MAX;
  for (const auto& [owner, of] : owners_) {
    if (!of.waiting.empty()) first = std::min(first, of.waiting.begin()->first);
    for (const auto& [image, parked] : of.parked) first = std::min(first, parked.jobs.begin()->first);
  }
  return first;
}

void WaitingStacks::subtract(uint32_t owner, size_t cost) {
  const auto of = owners_.find(owner);
  bytes_ -= cost;
  of->second.bytes -= cost;
  if (--of->second.count == 0) owners_.erase(of);
}

}  // namespace cicada::ingest
