// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/event_types.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <vector>

#include "base/near_names.h"

namespace cicada::bpf_source {
namespace {

constexpr uint32_t kSoftware = PERF_TYPE_SOFTWARE, kHardware = PERF_TYPE_HARDWARE, kCache = PERF_TYPE_HW_CACHE;
constexpr EventKind kTimer = EventKind::kTimer, kClock = EventKind::kClock, kCounter = EventKind::kCounter, kWait = EventKind::kWait, kWake = EventKind::kWake;

constexpr uint64_t load_misses(uint64_t cache) { return cache | uint64_t{PERF_COUNT_HW_CACHE_OP_READ} << 8 | uint64_t{PERF_COUNT_HW_CACHE_RESULT_MISS} << 16; }

const std::vector<EventType>& types() {
  static const std::vector<EventType> all{
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
  return all;
}

}  // namespace

std::span<const EventType> event_types() { return types(); }

const EventType* find_event_type(std::string_view name) {
  const auto found = std::find_if(types().begin(), types().end(), [&](const EventType& type) { return type.name == name || (!type.alias.empty() && type.alias == name); });
  return found == types().end() ? nullptr : &*found;
}

std::string near_event_types(std::string_view name) {
  std::vector<std::string> names;
  for (const EventType& type : types()) names.push_back(type.name);
  for (const EventType& type : types())
    if (!type.alias.empty()) names.push_back(type.alias);
  return near_names(name, names);
}

}  // namespace cicada::bpf_source
