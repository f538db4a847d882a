// SPDX-License-Identifier: Apache-2.0
// Why never `inherit`: one event a CPU sees every task, new ones included, without the kernel copying an event at each fork;
// who is wanted is decided in the kernel program.
#include "bpf_source/perf_events.h"

#include <bpf/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>

#include "abi/event_cookie.h"
#include "base/cpu_list.h"
#include "base/kernel_setting.h"
#include "bpf_source/kernel_arguments.h"
#include "bpf_source/kernel_places.h"
#include "bpf_source/privileges.h"
#include "bpf_source/tracepoints.h"

namespace cicada::bpf_source {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr uint64_t kMaxWaitPeriodNs = 3600 * kNsPerSecond;
// perf_swevent_start_hrtimer() raises shorter periods to this (kernel/events/core.c).
constexpr uint64_t kMinTimerPeriodNs = 10'000;

bool is_opened_once(const EventType& type) { return type.kind == EventKind::kTracepoint || type.kind == EventKind::kKernelFunction; }
// Others are sampled where they happen.
bool is_on_every_cpu(const EventType& type) { return type.kind == EventKind::kTimer || type.kind == EventKind::kClock || type.kind == EventKind::kCounter; }

perf_event_attr attributes(const PerfEvents::Event& event) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = event.type.type;
  attr.config = event.type.config;
  attr.disabled = 1;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
  if (event.period != 0) {
    attr.sample_period = event.period;
  } else {
    attr.freq = 1;
    attr.sample_freq = event.frequency_hz;
  }
  return attr;
}

// `at_return`: of a function of the kernel.
UniqueFd open_event(const PerfEvents::Event& event, int cpu, bool at_return = false) {
  perf_event_attr attr = attributes(event);
  if (event.type.kind == EventKind::kKernelFunction) {
    attr.type = static_cast<uint32_t>(find_number_in("/sys/bus/event_source/devices/kprobe/type").value_or(0));
    attr.config = at_return ? 1 : 0;
    attr.config1 = reinterpret_cast<uintptr_t>(event.place.function.c_str());
    attr.config2 = event.place.offset;
    if (attr.type == 0) errno = ENODEV;
    if (attr.type == 0) return UniqueFd();
  }
  return UniqueFd(static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

// What an event's read() gives.
struct Counter {
  uint64_t count = 0, enabled_ns = 0;
};

std::optional<Counter> read_counter(const UniqueFd& fd) {
  Counter counter;
  if (::read(fd.get(), &counter, sizeof counter) != sizeof counter) return std::nullopt;
  return counter;
}

Error open_error(int error, int cpu, std::string_view name) {
  const std::string what = fmt::format("open event {} on CPU {}", name, cpu);
  if (error == EACCES || error == EPERM) {
    return make_error(ErrorKind::kPermission,
                      "{}: not permitted; {}; `cicada doctor` tells more", what, privileges_remedy());
  }
  if (error == ENODEV) return make_error(ErrorKind::kInvalid, "{}: the CPU is offline", what);
  if (error == ENOENT || error == EOPNOTSUPP || error == EINVAL) {
    return make_error(ErrorKind::kUnsupported, "{}: this machine has no such counter (virtual ones often have none); clocks, faults, switches and migrations work everywhere",
                      what);
  }
  return errno_error(error, what);
}

Error open_error_of_probe(int error, int cpu, const PerfEvents::Event& event) {
  if (event.type.kind != EventKind::kKernelFunction || error == EACCES || error == EPERM) return open_error(error, cpu, event.type.name);
  if (error == ENODEV) return make_error(ErrorKind::kUnsupported, "{}: this kernel has no kprobes (CONFIG_KPROBE_EVENTS)", event.type.name);
  if (error == EILSEQ) return make_error(ErrorKind::kInvalid, "{}: no instruction of {} begins there", event.type.name, event.place.function);
  if (error == EADDRNOTAVAIL) return make_error(ErrorKind::kInvalid, "{}: the kernel has several functions of that name", event.type.name);
  if (error == ENOENT || error == EINVAL) return make_error(ErrorKind::kNotFound, "{}: the kernel has no function {} that can be probed; /proc/kallsyms lists what it has", event.type.name, event.place.function);
  return errno_error(error, event.type.name);
}

}  // namespace

PerfEvents::Event PerfEvents::plan(const EventSpec& spec, const PerfEventOptions& options, uint64_t max_hz, std::string& warning) {
  Event event;
  event.type = spec.type;
  event.stop_after = spec.stop_after;
  if (is_probe(spec.type.kind)) {  // -F and -c are for clocks and counters
    event.period = spec.period.value_or(1);
    event.value = spec.value.empty() && !spec.times_calls ? event.period : 0;
    event.unit = spec.unit;
    event.fields = spec.fields;
    event.arguments = spec.arguments;
    event.place = spec.place;
    event.times_calls = spec.times_calls;
    event.argument_count = spec.argument_count;
    return event;
  }
  event.period = spec.period.value_or(spec.frequency_hz ? 0 : options.period);
  if (event.period == 0) {
    event.frequency_hz = spec.frequency_hz.value_or(options.frequency_hz);
    if (event.frequency_hz > max_hz && is_on_every_cpu(spec.type)) {
      warning = fmt::format("{}: {} Hz lowered to {}, the kernel's limit; raise it with `sysctl kernel.perf_event_max_sample_rate={}`", spec.type.name,
                            event.frequency_hz, max_hz, event.frequency_hz);
      event.frequency_hz = max_hz;
    }
  }
  if (spec.type.kind == EventKind::kTimer) {
    // The period is made explicit, so that count ÷ period is exact; the kernel would compute the same from a frequency.
    if (event.period == 0) event.period = kNsPerSecond / event.frequency_hz;
    if (event.period < kMinTimerPeriodNs) {
      warning = fmt::format("{}: a period of {} ns raised to {}, the shortest that the kernel's timers have", spec.type.name, event.period, kMinTimerPeriodNs);
      event.period = kMinTimerPeriodNs;
    }
  }
  if (!is_on_every_cpu(spec.type)) {
    if (event.period == 0) event.period = std::max<uint64_t>(1, kNsPerSecond / event.frequency_hz);
    if (event.period > kMaxWaitPeriodNs) {
      warning = fmt::format("{}: a period of {} ns lowered to {}, an hour", spec.type.name, event.period, kMaxWaitPeriodNs);
      event.period = kMaxWaitPeriodNs;
    }
  }
  event.value = spec.type.kind == EventKind::kCounter || !is_on_every_cpu(spec.type) ? event.period : 1;
  return event;
}

Result<PerfEvents> PerfEvents::plan(const PerfEventOptions& options) {
  PerfEvents all;
  all.all_cpus_ = options.cpus.empty();
  const std::vector<int> online = TRY(online_cpus());
  const std::vector<int>& cpus = all.all_cpus_ ? online : options.cpus;
  for (const int cpu : cpus) {
    if (!std::binary_search(online.begin(), online.end(), cpu)) {
      return make_error(ErrorKind::kInvalid, "CPU {} is not online (online: {})", cpu, first_line_of("/sys/devices/system/cpu/online"));
    }
  }
  if (options.frequency_hz == 0 && options.period == 0) return make_error(ErrorKind::kInvalid, "a rate of 0 Hz: nothing would be sampled");
  const auto max_hz = static_cast<uint64_t>(find_number_in("/proc/sys/kernel/perf_event_max_sample_rate").value_or(100'000));
  const auto add = [&](const EventSpec& spec) {
    std::string warning;
    all.events_.push_back(plan(spec, options, max_hz, warning));
    if (!warning.empty()) all.warnings_.push_back(std::move(warning));
  };
  std::vector<EventSpec> specs = options.events;
  TRY(find_tracepoints(specs));
  TRY(find_kernel_places(specs));
  TRY(find_kernel_arguments(specs));
  for (const EventSpec& spec : specs) add(spec);
  if (options.events.empty()) {
    add(EventSpec{.type = *find_event_type("cycles")});
    if (!open_event(all.events_.front(), cpus.front())) {
      all.events_.clear();
      all.warnings_.clear();
      add(EventSpec{.type = *find_event_type("cpu-clock")});
    }
  }
  // A wakeup is worth the wait that it ends.
  const auto find = [&](EventKind kind) { return std::find_if(all.events_.begin(), all.events_.end(), [&](const Event& event) { return event.type.kind == kind; }); };
  if (const auto waits = find(EventKind::kWait), wakes = find(EventKind::kWake); waits != all.events_.end() && wakes != all.events_.end())
    *wakes = {wakes->type, waits->period, waits->frequency_hz, waits->value, {}, {}, {}};
  all.planned_cpus_ = cpus;
  return all;
}

Result<void> PerfEvents::open(const Programs& programs) {
  programs_ = programs;
  for (const int cpu : planned_cpus_) cpus_.push_back(TRY(open_on(cpu)));
  for (size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    if (event.type.kind == EventKind::kKernelPlace) probes_.push_back({i, ROLE_HIT, {}, {}});
    if (!is_opened_once(event.type)) continue;
    // Returns first: of each call whose begin is seen the return is seen, too.
    const std::vector<uint32_t> roles = event.times_calls ? std::vector<uint32_t>{ROLE_RETURNED, ROLE_BEGIN} : std::vector<uint32_t>{ROLE_HIT};
    for (const uint32_t role : roles) {
      UniqueFd fd = open_event(event, planned_cpus_.front(), event.place.at_return || role == ROLE_RETURNED);  // on one CPU, but its program runs on all of them
      if (!fd) return open_error_of_probe(errno, planned_cpus_.front(), event);
      probes_.push_back({i, role, std::move(fd), {}});
    }
  }
  return {};
}

Result<PerfEvents::OnCpu> PerfEvents::open_on(int cpu) const {
  OnCpu opened{cpu, {}, {}};
  for (size_t i = 0; i < events_.size(); ++i) {
    if (!is_on_every_cpu(events_[i].type)) {
      opened.fds.emplace_back();
      opened.links.emplace_back();
      continue;
    }
    const std::string_view name = events_[i].type.name;
    UniqueFd fd = open_event(events_[i], cpu);
    if (!fd) return open_error(errno, cpu, name);
    LIBBPF_OPTS(bpf_link_create_opts, link_options,
                .perf_event = {.bpf_cookie = event_cookie(static_cast<uint32_t>(i), events_[i].type.kind == EventKind::kCounter ? 0 : 1)});
    UniqueFd link(::bpf_link_create(programs_.perf_event, fd.get(), BPF_PERF_EVENT, &link_options));
    if (!link) return errno_error(errno, fmt::format("attach the sampling program to {} on CPU {}", name, cpu));
    opened.fds.push_back(std::move(fd));
    opened.links.push_back(std::move(link));
  }
  return opened;
}

Result<void> PerfEvents::enable(OnCpu& cpu, const CpuTimes& now) const {
  if (const auto found = now.find(cpu.cpu); found != now.end()) cpu.before = found->second;
  for (size_t i = 0; i < events_.size(); ++i) {
    if (cpu.fds[i] && ::ioctl(cpu.fds[i].get(), PERF_EVENT_IOC_ENABLE, 0) != 0)
      return errno_error(errno, fmt::format("enable {} on CPU {}", events_[i].type.name, cpu.cpu));
  }
  return {};
}

Result<void> PerfEvents::enable() {
  const CpuTimes now = read_cpu_times();
  for (OnCpu& cpu : cpus_) TRY(enable(cpu, now));
  for (Probe& one : probes_) {
    const Event& event = events_[one.event];
    if (const int program = program_of_place(one.event); program >= 0) {
      one.link.reset(::bpf_raw_tracepoint_open(nullptr, program));
      if (!one.link) return errno_error(errno, fmt::format("attach the sampling program to {}", event.type.name));
      continue;
    }
    const int program_fd = event.type.kind == EventKind::kTracepoint ? programs_.tracepoint : programs_.kernel_function;
    const uint64_t cookie = place_cookie(event_cookie(static_cast<uint32_t>(one.event), static_cast<uint32_t>(event.period)), one.role, 0);
    LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event = {.bpf_cookie = cookie});
    one.link.reset(::bpf_link_create(program_fd, one.fd.get(), BPF_PERF_EVENT, &options));
    if (!one.link) return errno_error(errno, fmt::format("attach the sampling program to {}", event.type.name));
  }
  enabled_ = true;
  return {};
}

int PerfEvents::program_of_place(size_t event) const {
  if (events_[event].type.kind != EventKind::kKernelPlace) return -1;
  const auto before = std::count_if(events_.begin(), events_.begin() + static_cast<ptrdiff_t>(event), [](const Event& other) { return other.type.kind == EventKind::kKernelPlace; });
  return programs_.kernel_places[static_cast<size_t>(before)];
}

void PerfEvents::disable() {
  control(PERF_EVENT_IOC_DISABLE);
  std::for_each(probes_.rbegin(), probes_.rend(), [](Probe& one) { one.link.reset(); });  // no call begins any more whose return is not seen
  enabled_ = false;
}

void PerfEvents::pause(bool paused) {
  if (!enabled_ || paused == paused_) return;
  paused_ = paused;
  control(paused ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE);
}

void PerfEvents::control(unsigned long request) const {
  for (const OnCpu& cpu : cpus_)
    for (const UniqueFd& fd : cpu.fds)
      if (fd) ::ioctl(fd.get(), request, 0);
}

int PerfEvents::follow_hotplug() {
  if (!all_cpus_ || !enabled_ || paused_) return 0;
  const Result<std::vector<int>> online = online_cpus();
  if (!online) return 0;
  const auto first = std::find_if(events_.begin(), events_.end(), [](const Event& event) { return is_on_every_cpu(event.type); });
  if (first == events_.end()) return 0;
  int added = 0;
  for (OnCpu& known : cpus_) {
    const uint64_t enabled_ns = read_counter(known.fds[static_cast<size_t>(first - events_.begin())]).value_or(Counter{}).enabled_ns;
    known.gone = known.gone || enabled_ns == known.seen_enabled_ns;  // its time stands still
    known.seen_enabled_ns = enabled_ns;
  }
  for (const int cpu : *online) {
    if (std::any_of(cpus_.begin(), cpus_.end(), [&](const OnCpu& known) { return known.cpu == cpu && !known.gone; })) continue;
    Result<OnCpu> opened = open_on(cpu);
    if (!opened || !enable(*opened, read_cpu_times())) continue;
    cpus_.push_back(std::move(*opened));
    ++added;
  }
  return added;
}

std::vector<CpuCount> PerfEvents::counts(size_t event) const {
  std::vector<CpuCount> counts;
  if (!is_on_every_cpu(events_[event].type)) return counts;
  CpuTimes now = read_cpu_times();
  for (const OnCpu& cpu : cpus_) {
    const std::optional<Counter> value = read_counter(cpu.fds[event]);
    if (!value) continue;
    const auto before = std::find_if(counts.begin(), counts.end(), [&](const CpuCount& count) { return count.cpu == cpu.cpu; });
    if (before != counts.end()) {  // the CPU went away and came back
      before->count += value->count;
      before->enabled_ns += value->enabled_ns;
      continue;
    }
    counts.push_back({cpu.cpu, value->count, value->enabled_ns, now[cpu.cpu] - cpu.before});
  }
  return counts;
}

}  // namespace cicada::bpf_source
