// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/privileges.h"

#include <linux/capability.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace cicada::bpf_source {
namespace {

constexpr Privilege kPrivileges[] = {
    {CAP_PERFMON, "cap_perfmon", true, true, "sampling events, reading memory from BPF programs"},
    {CAP_BPF, "cap_bpf", true, true, "loading BPF programs"},
    {CAP_SYS_PTRACE, "cap_sys_ptrace", false, false, "mappings of other users' processes: without it their frames have no names"},
    {CAP_CHECKPOINT_RESTORE, "cap_checkpoint_restore", true, false, "files that were deleted or replaced while mapped"},
    {CAP_DAC_READ_SEARCH, "cap_dac_read_search", false, false, "programs and libraries that only their owner may read"},
};

}  // namespace

std::vector<Privilege> missing_privileges(uint64_t held) {
  std::vector<Privilege> missing;
  const auto has = [&](int bit) { return (held >> bit & 1) != 0; };
  std::copy_if(std::begin(kPrivileges), std::end(kPrivileges), std::back_inserter(missing),
               [&](const Privilege& wanted) { return !has(wanted.bit) && !(wanted.of_sys_admin && has(CAP_SYS_ADMIN)); });
  return missing;
}

std::vector<Privilege> missing_privileges() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("CapEff:")) return missing_privileges(std::strtoull(line.c_str() + 7, nullptr, 16));
  }
  return missing_privileges(0);
}

std::string privileges_remedy() {
  std::string names;
  for (const Privilege& privilege : kPrivileges) names += fmt::format("{}{}", names.empty() ? "" : ",", privilege.name);
  return fmt::format("run it with sudo, or: sudo setcap {}=ep \"$(command -v cicada)\"", names);
}

}  // namespace cicada::bpf_source
