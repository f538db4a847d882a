// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/event_types.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace cicada::bpf_source {
namespace {

constexpr uint32_t kSoftware = PERF_TYPE_SOFTWARE, kHardware = PERF_TYPE_HARDWARE, kCache = PERF_TYPE_HW_CACHE;
constexpr EventKind kTimer = EventKind::kTimer, kClock = EventKind::kClock, kCounter = EventKind::kCounter, kWait = EventKind::kWait, kWake = EventKind::kWake;

constexpr uint64_t load_misses(uint64_t cache) { return cache | uint64_t{PERF_COUNT_HW_CACHE_OP_READ} << 8 | uint64_t{PERF_COUNT_HW_CACHE_RESULT_MISS} << 16; }

constexpr EventType kTypes[] = {
    {"cpu-clock", "", kTimer, kSoftware, PERF_COUNT_SW_CPU_CLOCK},
    {"task-clock", "", kTimer, kSoftware, PERF_COUNT_SW_TASK_CLOCK},
    {"off-cpu", "", kWait},
    {"wakeups", "", kWake},
    {"page-faults", "faults", kCounter, kSoftware, PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", "", kCounter, kSoftware, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", "", kCounter, kSoftware, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches", "cs", kCounter, kSoftware, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", "migrations", kCounter, kSoftware, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"alignment-faults", "", kCounter, kSoftware, PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"emulation-faults", "", kCounter, kSoftware, PERF_COUNT_SW_EMULATION_FAULTS},
    {"cycles", "cpu-cycles", kClock, kHardware, PERF_COUNT_HW_CPU_CYCLES},
    {"ref-cycles", "", kClock, kHardware, PERF_COUNT_HW_REF_CPU_CYCLES},
    {"instructions", "", kCounter, kHardware, PERF_COUNT_HW_INSTRUCTIONS},
    {"branches", "branch-instructions", kCounter, kHardware, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", "", kCounter, kHardware, PERF_COUNT_HW_BRANCH_MISSES},
    {"cache-references", "", kCounter, kHardware, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", "", kCounter, kHardware, PERF_COUNT_HW_CACHE_MISSES},
    {"bus-cycles", "", kCounter, kHardware, PERF_COUNT_HW_BUS_CYCLES},
    {"stalled-cycles-frontend", "idle-cycles-frontend", kCounter, kHardware, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled-cycles-backend", "idle-cycles-backend", kCounter, kHardware, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"L1-dcache-load-misses", "", kCounter, kCache, load_misses(PERF_COUNT_HW_CACHE_L1D)},
    {"LLC-load-misses", "", kCounter, kCache, load_misses(PERF_COUNT_HW_CACHE_LL)},
    {"dTLB-load-misses", "", kCounter, kCache, load_misses(PERF_COUNT_HW_CACHE_DTLB)},
    {"iTLB-load-misses", "", kCounter, kCache, load_misses(PERF_COUNT_HW_CACHE_ITLB)},
};

// Letters to put in, take out or change (Levenshtein).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::span<const EventType> event_types() { return kTypes; }

const EventType* find_event_type(std::string_view name) {
  const auto found = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const EventType& type) {
    return type.name == name || (!type.alias.empty() && type.alias == name);
  });
  return found == std::end(kTypes) ? nullptr : found;
}

std::string near_event_types(std::string_view name) {
  constexpr size_t kMost = 3, kLongest = 64;
  if (name.empty() || name.size() > kLongest) return {};
  std::vector<std::pair<size_t, std::string_view>> near;
  for (const EventType& type : kTypes) {
    const size_t letters = std::min(distance(name, type.name), type.alias.empty() ? kLongest : distance(name, type.alias));
    const bool part = name.size() > 2 && type.name.find(name) != std::string_view::npos;
    if (letters <= std::max<size_t>(1, name.size() / 3) || part) near.emplace_back(letters, type.name);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (near.size() > kMost) near.resize(kMost);
  std::string text;
  for (const auto& [letters, type] : near) text.append(text.empty() ? "" : ", ").append(type);
  return text;
}

}  // namespace cicada::bpf_source
