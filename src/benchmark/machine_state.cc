// SPDX-License-Identifier: Apache-2.0
#include "benchmark/machine_state.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "base/kernel_setting.h"

namespace cicada::benchmark {
namespace {

constexpr const char* kGovernor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";

// "key : value" of a file like cpuinfo.
std::string field_of(const std::string& path, const std::string& key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (line.starts_with(key) && colon != std::string::npos) return line.substr(std::min(line.size(), line.find_first_not_of(" \t", colon + 1)));
  }
  return {};
}

double number_in(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

}  // namespace

std::map<std::string, std::string> machine_fingerprint(const std::string& root) {
  std::map<std::string, std::string> out = {{"host", first_line_of(root + "/proc/sys/kernel/hostname")},
                                            {"kernel", first_line_of(root + "/proc/sys/kernel/osrelease")},
                                            {"cpu", field_of(root + "/proc/cpuinfo", "model name")},
                                            {"cpus", first_line_of(root + "/sys/devices/system/cpu/online")},
                                            {"governor", first_line_of(root + kGovernor)}};
  std::erase_if(out, [](const auto& entry) { return entry.second.empty(); });
  return out;
}

std::vector<std::string> machine_warnings(const std::string& root) {
  std::vector<std::string> out;
  const std::string governor = first_line_of(root + kGovernor);
  if (!governor.empty() && governor != "performance")
    out.push_back(fmt::format("CPU frequency governor {}: times depend on what ran before; `cpupower frequency-set -g performance`", governor));
  if (first_line_of(root + "/sys/devices/system/cpu/intel_pstate/no_turbo") == "0")
    out.push_back("turbo is on: times depend on heat and on other CPUs; `echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo`");
  else if (first_line_of(root + "/sys/devices/system/cpu/cpufreq/boost") == "1")
    out.push_back("boost is on: times depend on heat and on other CPUs; `echo 0 > /sys/devices/system/cpu/cpufreq/boost`");
  if (first_line_of(root + "/sys/devices/system/cpu/smt/active") == "1")
    out.push_back("SMT is on: two threads share a core; --isolate keeps a core's siblings free of cicada, `echo off > /sys/devices/system/cpu/smt/control` of everybody");
  if (const double load = number_in(first_line_of(root + "/proc/loadavg")); load > 0.5)
    out.push_back(fmt::format("load {:.2f}: other programs run; wait until they end", load));
  const double swap_kib = number_in(field_of(root + "/proc/meminfo", "SwapTotal")), free_kib = number_in(field_of(root + "/proc/meminfo", "SwapFree"));
  if (swap_kib - free_kib > 1024) out.push_back(fmt::format("{:.0f} MB are swapped out: pages may have to come back; `swapoff -a`", (swap_kib - free_kib) / 1024));
  if (const std::string aslr = first_line_of(root + "/proc/sys/kernel/randomize_va_space"); !aslr.empty() && aslr != "0")
    out.push_back("addresses are random in each process, and with them what shares a cache line; more runs average it out (--runs), `setarch -R` before the command turns it off");
  return out;
}

}  // namespace cicada::benchmark
