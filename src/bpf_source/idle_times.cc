// SPDX-License-Identifier: Apache-2.0
// Source: proc(5), /proc/stat: "cpuN user nice system idle iowait …", in clock ticks.
#include "bpf_source/idle_times.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace cicada::bpf_source {

IdleTimes parse_idle_times(std::string_view text, uint64_t ticks_per_second) {
  IdleTimes times;
  if (ticks_per_second == 0) return times;
  const uint64_t ns_per_tick = 1'000'000'000 / ticks_per_second;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with("cpu") || line.starts_with("cpu ")) continue;
    const char* at = line.data() + 3;
    const char* const end = line.data() + line.size();
    int cpu = -1;
    uint64_t ticks[5] = {};
    bool good = true;
    auto parsed = std::from_chars(at, end, cpu);
    for (uint64_t& field : ticks) {
      good = good && parsed.ec == std::errc{} && parsed.ptr != end && *parsed.ptr == ' ';
      if (good) parsed = std::from_chars(parsed.ptr + 1, end, field);
    }
    if (good && parsed.ec == std::errc{}) times[cpu] = (ticks[3] + ticks[4]) * ns_per_tick;
  }
  return times;
}

IdleTimes read_idle_times() {
  std::ifstream in("/proc/stat");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return parse_idle_times(text, static_cast<uint64_t>(::sysconf(_SC_CLK_TCK)));
}

}  // namespace cicada::bpf_source
