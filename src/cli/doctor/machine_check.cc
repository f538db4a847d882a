// SPDX-License-Identifier: Apache-2.0
// Every check is one function that returns one MachineCheck. What can be tried is tried (events are opened, maps
// created); the rest is read from /proc and /sys.
#include "cli/doctor/machine_check.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "abi/arch.h"
#include "base/kernel_setting.h"
#include "base/unique_fd.h"
#include "bpf_source/bpf_object.h"
#include "bpf_source/privileges.h"
#include "bpf_source/tracepoints.h"
#include "cli/invoking_user.h"
#include "process/procfs/proc_fs.h"
#include "sandbox/lock_down.h"

namespace cicada::cli {
namespace {

constexpr const char* kUseSudo = "run it with sudo";
constexpr int kOldestMajor = 6, kOldestMinor = 1;  // bpf_loop is 5.17; 6.1 is the oldest that is tested

int open_event(uint32_t type, uint64_t config) {
  perf_event_attr attr = {};
  attr.size = sizeof attr;
  attr.type = type;
  attr.config = config;
  attr.freq = 1;
  attr.sample_freq = 99;
  attr.disabled = 1;
  return static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC));
}

// Zero, or the errno of trying to count on CPU 0 for all processes, as a recording does.
int try_event(uint32_t type, uint64_t config) {
  const UniqueFd fd(open_event(type, config));
  return fd ? 0 : errno;
}

MachineCheck kernel_version() {
  utsname name = {};
  ::uname(&name);
  int major = 0, minor = 0;
  std::sscanf(name.release, "%d.%d", &major, &minor);
  MachineCheck check{"kernel", Verdict::kWorks, fmt::format("{} {}", name.release, name.machine), ""};
  if (std::pair(major, minor) < std::pair(kOldestMajor, kOldestMinor)) {
    check.verdict = Verdict::kMissing;
    check.remedy = fmt::format("cicada's kernel side needs Linux {}.{} or newer", kOldestMajor, kOldestMinor);
  }
  if (std::strcmp(name.machine, ARCH_NAME) != 0) {
    check.verdict = Verdict::kMissing;
    check.remedy = "this cicada was built for " ARCH_NAME;
  }
  return check;
}

MachineCheck type_information() {
  const std::ifstream file("/sys/kernel/btf/vmlinux");
  if (file.good()) return {"BTF", Verdict::kWorks, "/sys/kernel/btf/vmlinux", ""};
  return {"BTF", Verdict::kMissing, "no /sys/kernel/btf/vmlinux",
          "use a kernel with CONFIG_DEBUG_INFO_BTF=y (all of Debian's have it)"};
}

MachineCheck capabilities() {
  const std::vector<bpf_source::Privilege> missing = bpf_source::missing_privileges();
  if (missing.empty()) return {"privileges", Verdict::kWorks, ::geteuid() == 0 ? "root" : "all that are of use", ""};
  MachineCheck check{"privileges", Verdict::kLimited, "", bpf_source::privileges_remedy()};
  for (const bpf_source::Privilege& privilege : missing) {
    check.found += fmt::format("{}no {}: {}", check.found.empty() ? "" : "; ", privilege.name, privilege.gives);
    if (privilege.required) check.verdict = Verdict::kMissing;
  }
  return check;
}

MachineCheck lockdown() {
  const std::string line = first_line_of("/sys/kernel/security/lockdown");
  if (line.empty()) return {"lockdown", Verdict::kWorks, "not in this kernel, or securityfs is not mounted", ""};
  if (line.find("[confidentiality]") != std::string::npos) {
    return {"lockdown", Verdict::kMissing, "confidentiality: BPF may not read kernel memory",
            "boot with lockdown=integrity, or switch Secure Boot's lockdown off"};
  }
  return {"lockdown", Verdict::kWorks, line, ""};
}

MachineCheck pid_namespace() {
  const process::ProcVisibility seen = process::proc_visibility();
  if (!seen.mounted) return {"pid namespace", Verdict::kLimited, "unknown: /proc is not mounted", "mount /proc"};
  if (seen.initial_pid_namespace) return {"pid namespace", Verdict::kWorks, "the initial one", ""};
  return {"pid namespace", Verdict::kMissing, "a container's: pids here are not those of the kernel",
          bpf_source::kPidNamespaceRemedy};
}

MachineCheck tracepoints() {
  const auto found = bpf_source::Tracepoints::open();
  if (found) return {"tracepoints", Verdict::kWorks, "their names can be read", ""};
  const bool refused = found.error().kind() == ErrorKind::kPermission;
  return {"tracepoints", Verdict::kLimited, "their names cannot be read: -e CATEGORY:NAME is refused", refused ? bpf_source::kTracefsRemedy : "use a kernel with CONFIG_FTRACE=y"};
}

MachineCheck bpf_maps() {
  struct Wanted {
    bpf_map_type type;
    uint32_t key, value, entries, flags;
    const char* name;
  };
  constexpr Wanted kWanted[] = {{BPF_MAP_TYPE_RINGBUF, 0, 0, 4096, 0, "ring buffer"},
                                {BPF_MAP_TYPE_LPM_TRIE, 16, 8, 8, BPF_F_NO_PREALLOC, "prefix trie"},
                                {BPF_MAP_TYPE_ARRAY, 4, 4096, 1, BPF_F_MMAPABLE | BPF_F_INNER_MAP, "mappable array"}};
  for (const Wanted& wanted : kWanted) {
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = wanted.flags);
    const UniqueFd map(
        bpf_map_create(wanted.type, "cicada_doctor", wanted.key, wanted.value, wanted.entries, &options));
    if (!map) {
      const int error = errno;
      return {"BPF maps", Verdict::kMissing, fmt::format("{}: {}", wanted.name, std::strerror(error)),
              error == EPERM || error == EACCES ? kUseSudo : "use a kernel with CONFIG_BPF_SYSCALL=y, 6.1 or newer"};
    }
  }
  return {"BPF maps", Verdict::kWorks, "ring buffer, prefix trie and mappable array can be created", ""};
}

MachineCheck bpf_programs() {
  const int type = libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_PERF_EVENT, nullptr);
  if (type <= 0) {
    return {"BPF programs", Verdict::kMissing,
            type == 0 ? "perf_event programs are refused" : fmt::format("cannot be tried: {}", std::strerror(-type)),
            kUseSudo};
  }
  for (const auto& [helper, name] :
       {std::pair(BPF_FUNC_loop, "bpf_loop"), std::pair(BPF_FUNC_get_current_task_btf, "bpf_get_current_task_btf")}) {
    if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, helper, nullptr) <= 0) {
      return {"BPF programs", Verdict::kMissing, fmt::format("the kernel has no {}", name), "use Linux 6.1 or newer"};
    }
  }
  if (find_number_in("/proc/sys/net/core/bpf_jit_enable").value_or(1) == 0) {
    return {"BPF programs", Verdict::kLimited, "load, but are interpreted: samples cost several times more",
            "sysctl net.core.bpf_jit_enable=1"};
  }
  return {"BPF programs", Verdict::kWorks, "load, bpf_loop included, compiled to machine code", ""};
}

MachineCheck paranoia() {
  const int64_t level = find_number_in("/proc/sys/kernel/perf_event_paranoid").value_or(2);
  const char* const meaning = level <= -1  ? "unprivileged users are allowed everything"
                              : level == 0 ? "unprivileged users are allowed whole CPUs"
                              : level == 1 ? "unprivileged users are allowed their own processes, the kernel included"
                              : level == 2 ? "unprivileged users are allowed their own processes, user space only"
                                           : "unprivileged users are allowed nothing";
  return {"perf_event_paranoid", Verdict::kWorks, fmt::format("{}: {}; root may always", level, meaning), ""};
}

MachineCheck hardware_cycles() {
  const int error = try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  if (error == 0) return {"hardware cycles", Verdict::kWorks, "counted", ""};
  if (error == EACCES || error == EPERM) return {"hardware cycles", Verdict::kLimited, "not allowed to try", kUseSudo};
  return {"hardware cycles", Verdict::kLimited,
          fmt::format("not on this machine ({}); virtual machines often have none", std::strerror(error)),
          "nothing to do: cpu-clock is used; give the virtual machine a PMU for cycles"};
}

MachineCheck sampling_event() {
  if (try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES) == 0) {
    return {"sampling uses", Verdict::kWorks,
            "cycles: an NMI, so code that runs with interrupts off is seen where it is", ""};
  }
  const int error = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
  if (error == 0) {
    return {"sampling uses", Verdict::kWorks,
            "cpu-clock: a timer; time with interrupts off is charged to the instruction that enables them", ""};
  }
  return {"sampling uses", Verdict::kMissing,
          fmt::format("neither cycles nor cpu-clock can be opened: {}", std::strerror(error)),
          error == EACCES || error == EPERM
              ? kUseSudo
              : "use a kernel with CONFIG_PERF_EVENTS=y; in a container allow perf_event_open"};
}

constexpr int kPerCpuSymbols = 1000;  // 6.1 has about 250

MachineCheck kernel_names() {
  const int64_t restrict = find_number_in("/proc/sys/kernel/kptr_restrict").value_or(0);
  // Per-CPU symbols come first on older kernels, and lie at 0 for everybody.
  std::ifstream symbols("/proc/kallsyms");
  bool visible = false;
  std::string line;
  for (int i = 0; i < kPerCpuSymbols && !visible && std::getline(symbols, line); ++i) visible = !line.starts_with("0000000000000000");
  if (visible) return {"kernel names", Verdict::kWorks, fmt::format("visible (kptr_restrict {})", restrict), ""};
  return {"kernel names", Verdict::kLimited, fmt::format("hidden from this user (kptr_restrict {})", restrict),
          restrict >= 2 ? "sysctl kernel.kptr_restrict=1" : kUseSudo};
}

MachineCheck process_visibility() {
  size_t readable = 0, all = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
    all++;
    if (std::ifstream(entry.path() / "maps").is_open()) readable++;  // the kernel decides when it is opened
  }
  std::string found = fmt::format("{}; mappings of {} of {} processes can be read",
                                  process::proc_visibility().hidepid != 0 ? "/proc is mounted with hidepid" : "/proc is open", readable, all);
  // A few refuse even root (sandboxes, security modules); their frames get no names, everybody else's do.
  if (readable * 10 >= all * 9) return {"other processes", Verdict::kWorks, std::move(found), ""};
  return {"other processes", Verdict::kLimited, std::move(found),
          ::geteuid() == 0 ? "a security module or a user namespace protects the others" : kUseSudo};
}

MachineCheck probes() {
  std::string found, absent;
  for (const char* kind : {"kprobe", "uprobe"}) {
    const bool there = std::ifstream(fmt::format("/sys/bus/event_source/devices/{}/type", kind)).good();
    std::string& list = there ? found : absent;
    list += fmt::format("{}{}s", list.empty() ? "" : " and ", kind);
  }
  if (absent.empty()) return {"probes", Verdict::kWorks, found, ""};
  return {"probes", Verdict::kLimited,
          fmt::format("no {} in this kernel{}", absent, found.empty() ? "" : "; " + found + " work"),
          "CPU profiles do not need them"};
}

MachineCheck waits() {
  if (bpf_source::can_take_waits_by_tracepoint()) return {"off-cpu", Verdict::kWorks, "by the tracepoint sched_exit_tp", ""};
  if (std::ifstream("/sys/bus/event_source/devices/kprobe/type").good()) return {"off-cpu", Verdict::kWorks, "by a kprobe at finish_task_switch", ""};
  return {"off-cpu", Verdict::kLimited, "no: this kernel has neither the tracepoint sched_exit_tp nor kprobes", "a kernel with CONFIG_KPROBES=y, or a newer one; CPU profiles do not need it"};
}

MachineCheck sample_rate() {
  const int64_t limit = find_number_in("/proc/sys/kernel/perf_event_max_sample_rate").value_or(0);
  if (limit >= 1000 || limit == 0)
    return {"sample rate", Verdict::kWorks, limit == 0 ? "no limit" : fmt::format("up to {} Hz (-F)", limit), ""};
  return {"sample rate", Verdict::kLimited, fmt::format("the kernel has throttled sampling to {} Hz", limit),
          "sysctl kernel.perf_event_max_sample_rate=100000"};
}

MachineCheck open_files() {
  constexpr rlim_t kEnough = 4096;  // a pinned descriptor for each image, events and rings for each CPU
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const std::string found =
      limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{}", limit.rlim_cur);
  if (limit.rlim_cur >= kEnough) return {"open files", Verdict::kWorks, found, ""};
  return {"open files", Verdict::kLimited, found, fmt::format("ulimit -n {}", kEnough)};
}

MachineCheck parsers() {
  const auto rules = sandbox::LockDown::prepare();
  if (!rules) return {"parsers", Verdict::kLimited, rules.error().message() + ": no names and no unwind tables", "a kernel with CONFIG_SECCOMP_FILTER"};
  const std::vector<std::string> means = rules->what();
  return {"parsers", Verdict::kWorks, fmt::format("read files behind {}", fmt::join(means, ", ")), ""};
}

}  // namespace

std::vector<MachineCheck> check_machine() {
  libbpf_set_print(nullptr);  // the answer is the check; the library's own words are for developers
  return {kernel_version(), type_information(),   capabilities(), lockdown(),        pid_namespace(),
          bpf_maps(),       bpf_programs(),       paranoia(),     hardware_cycles(), sampling_event(),
          kernel_names(),   process_visibility(), probes(),       tracepoints(),      waits(),           sample_rate(),
          open_files(),     parsers()};
}

bool can_record(const std::vector<MachineCheck>& checks) {
  return std::none_of(checks.begin(), checks.end(),
                      [](const MachineCheck& check) { return check.verdict == Verdict::kMissing; });
}

}  // namespace cicada::cli
