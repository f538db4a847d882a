// SPDX-License-Identifier: Apache-2.0
// Why never `inherit`: one event a CPU sees every task, new ones included, without the kernel copying an event at each fork;
// who is wanted is decided in the kernel program.
#include "collect/cpu_events.h"

#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <string>

#include "abi/event_cookie.h"
#include "base/cpu_list.h"
#include "collect/idle_times.h"

namespace cicada::collect {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
// perf_swevent_start_hrtimer() raises shorter cpu-clock periods to this (kernel/events/core.c).
constexpr uint64_t kMinCpuClockPeriodNs = 10'000;

perf_event_attr attributes(bool cpu_clock, uint64_t period, uint64_t frequency_hz) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = cpu_clock ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE;
  attr.config = cpu_clock ? uint64_t{PERF_COUNT_SW_CPU_CLOCK} : uint64_t{PERF_COUNT_HW_CPU_CYCLES};
  attr.disabled = 1;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
  if (period != 0) {
    attr.sample_period = period;
  } else {
    attr.freq = 1;
    attr.sample_freq = frequency_hz;
  }
  return attr;
}

int perf_event_open(perf_event_attr& attr, int cpu) {
  return static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

std::string first_line(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

uint64_t number_in(const char* path, uint64_t otherwise) {
  const std::string line = first_line(path);
  uint64_t value = otherwise;
  std::from_chars(line.data(), line.data() + line.size(), value);
  return value;
}

uint64_t idle_of(const IdleTimes& times, int cpu) {
  const auto found = times.find(cpu);
  return found == times.end() ? 0 : found->second;
}

Error open_error(int error, int cpu, const std::string& name) {
  const std::string what = fmt::format("open sampling event {} on CPU {}", name, cpu);
  if (error == EACCES || error == EPERM) {
    return make_error(ErrorKind::kPermission,
                      "{}: not permitted (run as root, or give cicada CAP_BPF and CAP_PERFMON; `cicada doctor` tells more)", what);
  }
  if (error == ENODEV) return make_error(ErrorKind::kInvalid, "{}: the CPU is offline", what);
  return errno_error(error, what);
}

}  // namespace

Result<CpuEvents> CpuEvents::open(const CpuEventOptions& options, int program_fd) {
  CpuEvents all;
  all.program_fd_ = program_fd;
  all.all_cpus_ = options.cpus.empty();
  const std::vector<int> online = TRY(online_cpus());
  const std::vector<int>& cpus = all.all_cpus_ ? online : options.cpus;
  for (const int cpu : cpus) {
    if (!std::binary_search(online.begin(), online.end(), cpu)) {
      return make_error(ErrorKind::kInvalid, "CPU {} is not online (online: {})", cpu, first_line("/sys/devices/system/cpu/online"));
    }
  }

  uint64_t hz = options.frequency_hz;
  const uint64_t max_hz = number_in("/proc/sys/kernel/perf_event_max_sample_rate", 100'000);
  if (options.period == 0 && hz > max_hz) {
    all.warning_ = fmt::format("{} Hz is above this kernel's limit: sampling at {} Hz (kernel.perf_event_max_sample_rate)", hz, max_hz);
    hz = max_hz;
  }

  if (options.event == EventChoice::kCpuClock) {
    all.cpu_clock_ = true;
  } else {
    perf_event_attr probe = attributes(false, options.period, hz);
    const UniqueFd fd(perf_event_open(probe, cpus.front()));
    if (!fd && options.event == EventChoice::kCycles) return open_error(errno, cpus.front(), "cycles");
    all.cpu_clock_ = !fd;
  }
  all.name_ = all.cpu_clock_ ? "cpu-clock" : "cycles";
  all.frequency_hz_ = options.period == 0 ? hz : 0;
  all.period_ = options.period;
  if (all.cpu_clock_) {
    // The period is made explicit, so that count ÷ period is exact; the kernel would compute the same from a frequency.
    if (all.period_ == 0) all.period_ = kNsPerSecond / hz;
    if (all.period_ < kMinCpuClockPeriodNs) {
      all.warning_ = fmt::format("a period of {} ns is below what cpu-clock can do: sampling every {} ns", all.period_, kMinCpuClockPeriodNs);
      all.period_ = kMinCpuClockPeriodNs;
    }
  }
  for (const int cpu : cpus) all.events_.push_back(TRY(all.open_one(cpu)));
  return all;
}

Result<CpuEvents::CpuEvent> CpuEvents::open_one(int cpu) const {
  perf_event_attr attr = attributes(cpu_clock_, period_, frequency_hz_);
  UniqueFd fd(perf_event_open(attr, cpu));
  if (!fd) return open_error(errno, cpu, name_);
  LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event = {.bpf_cookie = event_cookie(0, cpu_clock_ ? 1 : 0)});
  UniqueFd link(::bpf_link_create(program_fd_, fd.get(), BPF_PERF_EVENT, &options));
  if (!link) return errno_error(errno, fmt::format("attach the sampling program to {} on CPU {}", name_, cpu));
  return CpuEvent{cpu, std::move(fd), std::move(link)};
}

Result<void> CpuEvents::enable() {
  const IdleTimes idle = read_idle_times();
  for (CpuEvent& event : events_) {
    event.idle_ns_before = idle_of(idle, event.cpu);
    if (::ioctl(event.fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) return errno_error(errno, fmt::format("enable {} on CPU {}", name_, event.cpu));
  }
  enabled_ = true;
  return {};
}

void CpuEvents::disable() {
  for (const CpuEvent& event : events_) ::ioctl(event.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
  enabled_ = false;
}

int CpuEvents::follow_hotplug() {
  if (!all_cpus_ || !enabled_) return 0;
  const Result<std::vector<int>> online = online_cpus();
  if (!online) return 0;
  int added = 0;
  for (const int cpu : *online) {
    const bool known = std::any_of(events_.begin(), events_.end(), [&](const CpuEvent& e) { return e.cpu == cpu; });
    if (known) continue;
    Result<CpuEvent> event = open_one(cpu);
    if (!event || ::ioctl(event->fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) continue;
    event->idle_ns_before = idle_of(read_idle_times(), cpu);
    events_.push_back(std::move(*event));
    ++added;
  }
  return added;
}

std::vector<CpuCount> CpuEvents::counts() const {
  std::vector<CpuCount> counts;
  const IdleTimes idle = read_idle_times();
  for (const CpuEvent& event : events_) {
    struct {
      uint64_t count, enabled_ns;
    } value{};
    if (::read(event.fd.get(), &value, sizeof value) == sizeof value) {
      const uint64_t idle_ns = idle_of(idle, event.cpu);
      counts.push_back({event.cpu, value.count, value.enabled_ns, idle_ns - std::min(idle_ns, event.idle_ns_before)});
    }
  }
  return counts;
}

}  // namespace cicada::collect
