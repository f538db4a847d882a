// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/privileges.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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

// Files are opened as their owner, and outputs are given to theirs; the command is ended; threads get more or less of a claim to the CPU, and
// events buffers; names of the kernel's functions.
constexpr int kAlsoNeeded[] = {CAP_DAC_OVERRIDE, CAP_CHOWN, CAP_FOWNER, CAP_FSETID, CAP_SETUID, CAP_SETGID, CAP_KILL, CAP_SYS_NICE, CAP_SYS_RESOURCE, CAP_IPC_LOCK, CAP_SYSLOG};

// Levels that only distributions' kernels have: there perf_event_open asks for CAP_SYS_ADMIN, whatever CAP_PERFMON says.
bool is_very_paranoid() {
  int level = 0;
  return std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> level && level > 2;
}

}  // namespace

void keep_needed_privileges() {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> held{};
  if (::syscall(SYS_capget, &head, held.data()) != 0) return;
  uint64_t needed = 0;
  bool by_sys_admin = is_very_paranoid();  // an older kernel's way, or a container's
  for (const Privilege& privilege : kPrivileges) {
    needed |= uint64_t{1} << privilege.bit;
    by_sys_admin |= privilege.of_sys_admin && (held[CAP_TO_INDEX(privilege.bit)].permitted & CAP_TO_MASK(privilege.bit)) == 0;
  }
  for (const int bit : kAlsoNeeded) needed |= uint64_t{1} << bit;
  if (by_sys_admin) needed |= uint64_t{1} << CAP_SYS_ADMIN;
  for (size_t i = 0; i < held.size(); ++i) {
    const auto mask = static_cast<uint32_t>(needed >> (32 * i));
    held[i] = {held[i].effective & mask, held[i].permitted & mask, held[i].inheritable & mask};
  }
  ::syscall(SYS_capset, &head, held.data());
}

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
