// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/bench_run.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/catching.h"
#include "base/monotonic_clock.h"
#include "cli/launch/launched_command.h"
#include "cli/launch/runtime_environment.h"
#include "process/procfs/proc_fs.h"
#include "recorder/recorder.h"
#include "sink/sink_registry.h"

namespace cicada::cli {
namespace {

constexpr int kMaxAncestors = 1000;

// While this lives, our standard streams are what a command is to inherit.
class Streams {
 public:
  Streams(int input, bool silent) {
    if (input >= 0) replace(STDIN_FILENO, input);
    if (!silent) return;
    const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) replace(fd, nowhere.get());
  }
  ~Streams() {
    for (int fd = 0; fd <= STDERR_FILENO; ++fd)
      if (kept_[fd]) ::dup2(kept_[fd].get(), fd);
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

 private:
  void replace(int fd, int by) {
    kept_[fd].reset(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    ::dup2(by, fd);
  }
  UniqueFd kept_[STDERR_FILENO + 1];
};

Result<LaunchedCommand> hold(const BenchRunOptions& options, const InvokingUser& user) {
  TRY(run_on(options.command_cpus));  // inherited
  Result<LaunchedCommand> held = [&] {
    const Streams streams(options.input, !options.show_output);
    return LaunchedCommand::hold(options.command, user, options.environment);
  }();
  TRY(run_on(options.own_cpus));
  return held;
}

// What the CPU counts of the command and what it starts, from its exec on.
class Counters {
 public:
  explicit Counters(Pid pid) {
    constexpr std::pair<const char*, uint64_t> kAll[] = {{"cycles", PERF_COUNT_HW_CPU_CYCLES}, {"instructions", PERF_COUNT_HW_INSTRUCTIONS},
                                                         {"cache_misses", PERF_COUNT_HW_CACHE_MISSES}, {"branch_misses", PERF_COUNT_HW_BRANCH_MISSES}};
    for (const auto& [name, config] : kAll) {
      perf_event_attr attr{};
      attr.size = sizeof attr;
      attr.type = PERF_TYPE_HARDWARE;
      attr.config = config;
      attr.disabled = attr.inherit = attr.enable_on_exec = 1;
      UniqueFd fd(static_cast<int>(::syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC)));
      if (fd) counters_.emplace_back(name, std::move(fd));
    }
  }
  void read(std::map<std::string, double>& out) const {
    for (const auto& [name, fd] : counters_) {
      uint64_t value = 0;
      if (::read(fd.get(), &value, sizeof value) == sizeof value) out[name] = static_cast<double>(value);
    }
  }

 private:
  std::vector<std::pair<const char*, UniqueFd>> counters_;
};

// Below us? Orphans are, too: we are their reaper.
bool is_descendant(Pid pid) {
  for (int i = 0; i < kMaxAncestors && pid > 1; ++i) {
    if (pid == ::getpid()) return true;
    const auto stat = process::read_stat(pid);
    if (!stat) return false;
    pid = stat->parent_pid;
  }
  return false;
}

// Its number in the innermost of several pid namespaces; nothing: it is in ours.
std::optional<Pid> inner_pid(Pid pid) {
  const auto status = process::read_proc_file(fmt::format("/proc/{}/status", pid), 16 << 10);
  const auto pids = status ? process::find_status_numbers(*status, "NSpid") : std::nullopt;
  return pids && pids->size() > 1 ? std::optional(static_cast<Pid>(pids->back())) : std::nullopt;
}

benchmark::ProcessId identity_of(Pid pid) {
  const auto stat = process::read_stat(pid);
  return stat ? benchmark::ProcessId{pid, stat->start_ticks * kNsPerTick} : benchmark::ProcessId{};
}

// Whom a client means. It waits for the answer, so it is still there.
benchmark::ProcessId identify(Pid told) {
  if (told > 1 && is_descendant(told) && !inner_pid(told)) return identity_of(told);
  const auto all = process::list_processes();
  for (const Pid pid : all ? *all : std::vector<Pid>{})
    if (inner_pid(pid) == told && is_descendant(pid)) return identity_of(pid);
  return {};
}

double ns_of(const timeval& time) { return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_usec) * 1e3; }

void add_usage(const rusage& usage, std::map<std::string, double>& out) {
  out["user_ns"] = ns_of(usage.ru_utime);
  out["system_ns"] = ns_of(usage.ru_stime);
  out["peak_bytes"] = static_cast<double>(usage.ru_maxrss) * 1024;
  out["page_faults"] = static_cast<double>(usage.ru_minflt + usage.ru_majflt);
  out["context_switches"] = static_cast<double>(usage.ru_nvcsw + usage.ru_nivcsw);
}

bpf_source::SamplingConfig sampling_of(const BenchRunOptions& options, Pid pid) {
  bpf_source::SamplingConfig sampling;
  sampling.targets = bpf_source::TargetKind::kProcesses;
  sampling.pids = {pid};
  sampling.from_exec = true;
  sampling.events = options.events;
  return sampling;
}

}  // namespace

Result<void> run_on(const std::vector<int>& cpus) {
  if (cpus.empty()) return {};
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) return errno_error(errno, "--isolate: choose CPUs");
  return {};
}

Result<MeasuredRun> run_unrecorded(const BenchRunOptions& options, const InvokingUser& user, StopSignals& signals) {
  MeasuredRun run;
  LaunchedCommand command = TRY(hold(options, user));
  const Counters counters(command.pid());
  const uint64_t begun = monotonic_ns();
  TRY(command.release());
  pollfd polled[] = {{command.exit_fd(), POLLIN, 0}, {signals.fd(), POLLIN, 0}};
  while (::poll(polled, 2, -1) < 0 && errno == EINTR) continue;
  run.wall_ns = static_cast<double>(monotonic_ns() - begun);
  run.signal = signals.take();
  run.exit_code = command.end(run.signal ? run.signal : SIGTERM);
  add_usage(command.usage(), run.resources);
  counters.read(run.resources);
  return run;
}

Result<BenchRunOutcome> run_recorded(const BenchRunOptions& options, const InvokingUser& user, benchmark::FifoPair* fifos, benchmark::ProcessTree& tree,
                                     StopSignals& signals) {
  BenchRunOutcome outcome;
  LaunchedCommand command = TRY(hold(options, user));
  const Counters counters(command.pid());
  recorder::RecorderConfig config;
  PerfMaps maps;
  maps.note(command.pid());
  config.lifecycle.on_fork = [&tree, &maps](const process::ProcessInfo& child) {
    tree.add({child.pid, child.start_ns}, child.parent_pid);
    maps.note(child.pid);
  };
  config.sampling = sampling_of(options, command.pid());
  config.session.names.user = user.uid();
  config.session.command_line = {"cicada", "bench", "--"};
  config.session.command_line.insert(config.session.command_line.end(), options.command.begin(), options.command.end());
  config.keep_privileges = options.keep_privileges;
  const auto opened = TRY(recorder::open(*options.readers, std::move(config)));
  engine::Session& session = *opened;
  session.add_sink(TRY(sink::make_sink(options.recording, {.rights = options.rights})));
  TRY(session.start());
  std::unique_ptr<benchmark::ProtocolServer> server;
  const auto gate = [&session, &spans = outcome.spans](bool open) {
    const uint64_t used_ns = session.pause(!open), now_ns = monotonic_ns();
    if (open) spans.push_back({now_ns, now_ns, used_ns});
    else if (!spans.empty()) spans.back() = {spans.back().begin_ns, now_ns, used_ns - std::min(used_ns, spans.back().cpu_ns)};
  };
  if (fifos != nullptr) server = TRY(benchmark::ProtocolServer::start(*fifos, {gate, identify, options.writer}));

  // The end is seen by a thread that does nothing else: the loop may be busy.
  const uint64_t begun = monotonic_ns();
  TRY(command.release());
  std::atomic<uint64_t> ended = 0;
  std::thread end_watch([&ended, fd = command.exit_fd()] {
    pollfd polled{fd, POLLIN, 0};
    while (::poll(&polled, 1, -1) < 0 && errno == EINTR) continue;
    ended = monotonic_ns();
  });
  const Result<void> ran = catching("recording", [&] { return session.run({.stop_fds = {signals.fd(), command.exit_fd()}}); });
  const std::optional<int> signal = signals.take();
  outcome.exit_code = command.end(signal ? signal : SIGTERM);
  end_watch.join();
  const uint64_t end_ns = monotonic_ns();
  if (server) server->stop();
  const Result<void> stopped = session.stop();
  outcome.signal = signal;
  session.header().runs = signal ? 0 : 1;
  session.header().runs_ns = signal ? 0 : ended - begun;
  outcome.wall_ns = static_cast<double>(ended - begun);
  add_usage(command.usage(), outcome.resources);
  counters.read(outcome.resources);
  if (server) {
    if (!outcome.spans.empty() && outcome.spans.back().begin_ns == outcome.spans.back().end_ns) outcome.spans.pop_back();  // never ended
    outcome.windows = benchmark::assign_windows(server->announcements(), end_ns);
    outcome.announced = !server->announcements().empty() || !server->integration().empty();
    outcome.counts = server->counts();
    outcome.integration = server->integration();
    outcome.warnings = server->warnings();
  }
  TRY(ran);
  TRY(stopped);
  for (const engine::SinkOutcome& written : session.finish())
    if (written.error) return *written.error;
  outcome.profile = session.release_profile();
  if (!options.environment.empty()) maps.remove(user, outcome.profile.header.start_realtime_ns);
  return outcome;
}

}  // namespace cicada::cli
