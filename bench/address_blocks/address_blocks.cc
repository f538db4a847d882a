// SPDX-License-Identifier: Apache-2.0
// Trie entries per executable mapping, exact cutting beside the minimal cover, over every process of this machine; and what
// cutting costs for one process with 60,000 mappings.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "process/tracking/address_blocks.h"
#include "process/procfs/maps_file.h"
#include "process/procfs/proc_fs.h"

using namespace cicada;
using namespace cicada::process;

namespace {

using Ranges = std::vector<Range<RuntimeAddr>>;

struct Totals {
  size_t processes = 0, mappings = 0, exact = 0, minimal = 0;
  void add(const Ranges& ranges) {
    if (ranges.empty()) return;
    ++processes;
    mappings += ranges.size();
    exact += exact_blocks(ranges).size();
    minimal += minimal_blocks(ranges).size();
  }
  void print(const char* what) const {
    const auto each = [&](size_t blocks) { return mappings == 0 ? 0.0 : static_cast<double>(blocks) / static_cast<double>(mappings); };
    fmt::print("{:<34}{:>10}{:>10}{:>10.2f}{:>10.2f}{:>9.1f}x\n", what, processes, mappings, each(exact), each(minimal),
               minimal == 0 ? 0.0 : static_cast<double>(exact) / static_cast<double>(minimal));
  }
};

// 60,000 mappings the way a program with very many plugins has them: 1 to 64 pages, some touching, some apart.
Ranges synthetic() {
  std::mt19937_64 random(1);
  Ranges ranges;
  uint64_t at = 0x7f0000000000;
  for (int i = 0; i < 60000; ++i) {
    const uint64_t begin = at + (random() % 4) * 0x1000;
    at = begin + (1 + random() % 64) * 0x1000;
    ranges.push_back({RuntimeAddr(begin), RuntimeAddr(at)});
  }
  return ranges;
}

double median_ms(const Ranges& ranges, std::vector<AddressBlock> (*cut)(std::span<const Range<RuntimeAddr>>)) {
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (cut(ranges).empty()) return 0;
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main() {
  Totals machine;
  const auto pids = list_processes();
  for (const Pid pid : pids ? *pids : std::vector<Pid>()) {
    const auto maps = read_maps(pid, MapsFilter::kExecutable);
    if (!maps) continue;
    Ranges ranges;
    for (const MapsEntry& entry : maps->entries) {
      if (entry.path != "[vsyscall]") ranges.push_back(entry.range);
    }
    machine.add(ranges);
  }
  fmt::print("{:<34}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "entries per executable mapping", "processes", "mappings", "exact", "minimal", "ratio");
  machine.print("this machine");
  const Ranges many = synthetic();
  Totals large;
  large.add(many);
  large.print("synthetic, 60,000 mappings");
  const double exact = median_ms(many, exact_blocks), minimal = median_ms(many, minimal_blocks);
  fmt::print("cutting 60,000 mappings (median of 9): exact {:.1f} ms, minimal {:.1f} ms\n", exact, minimal);
  return 0;
}
