// SPDX-License-Identifier: Apache-2.0
// Source: proc(5), /proc/stat: "cpuN user nice system idle iowait irq softirq steal …", in clock ticks.
#include "bpf_source/cpu_times.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace cicada::bpf_source {

CpuTime CpuTime::operator-(const CpuTime& before) const {
  const auto since = [](uint64_t now, uint64_t then) { return now - std::min(now, then); };
  return {since(busy, before.busy), since(idle, before.idle), since(stolen, before.stolen)};
}

CpuTimes parse_cpu_times(std::string_view text, uint64_t ticks_per_second) {
  CpuTimes times;
  if (ticks_per_second == 0) return times;
  const uint64_t ns_per_tick = 1'000'000'000 / ticks_per_second;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with("cpu") || line.starts_with("cpu ")) continue;
    const char* at = line.data() + 3;
    const char* const end = line.data() + line.size();
    int cpu = -1;
    uint64_t ns[8] = {};
    bool good = true;
    auto parsed = std::from_chars(at, end, cpu);
    for (uint64_t& field : ns) {
      good = good && parsed.ec == std::errc{} && parsed.ptr != end && *parsed.ptr == ' ';
      if (good) parsed = std::from_chars(parsed.ptr + 1, end, field);
      field *= ns_per_tick;
    }
    if (good && parsed.ec == std::errc{}) times[cpu] = {ns[0] + ns[1] + ns[2] + ns[5] + ns[6], ns[3] + ns[4], ns[7]};
  }
  return times;
}

CpuTimes read_cpu_times() {
  std::ifstream in("/proc/stat");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return parse_cpu_times(text, static_cast<uint64_t>(::sysconf(_SC_CLK_TCK)));
}

}  // namespace cicada::bpf_source
