// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_list.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>

namespace cicada {
namespace {

constexpr int kMaxCpu = 8191;  // the kernel's largest NR_CPUS
constexpr const char* kOnline = "/sys/devices/system/cpu/online";

}  // namespace

Result<std::vector<int>> parse_cpu_list(std::string_view text, std::string_view what) {
  const auto refuse = [&] { return make_error(ErrorKind::kInvalid, "{} {}: expected a list like 0-3,8", what, text); };
  text = text.substr(0, text.find('\n'));
  std::vector<int> cpus;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at < end) {
    int first = 0;
    auto parsed = std::from_chars(at, end, first);
    if (parsed.ec != std::errc() || first < 0) return refuse();
    int last = first;
    if (parsed.ptr < end && *parsed.ptr == '-') {
      parsed = std::from_chars(parsed.ptr + 1, end, last);
      if (parsed.ec != std::errc()) return refuse();
    }
    if (last < first) return make_error(ErrorKind::kInvalid, "{} {}-{}: the range runs backwards", what, first, last);
    if (last > kMaxCpu) return make_error(ErrorKind::kInvalid, "{} {}: there is no CPU {}", what, text, last);
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    at = parsed.ptr;
    if (at == end) break;
    if (*at != ',' || ++at == end) return refuse();
  }
  if (cpus.empty()) return make_error(ErrorKind::kInvalid, "{}: no CPU named; example: {} 0-3,8", what, what);
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

Result<std::vector<int>> online_cpus() {
  std::string text;
  if (!std::getline(std::ifstream(kOnline), text)) return make_error(ErrorKind::kIo, "{}: cannot be read", kOnline);
  return parse_cpu_list(text, kOnline);
}

}  // namespace cicada
