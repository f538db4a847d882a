// SPDX-License-Identifier: Apache-2.0
#include "cli/record/record_options.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/cpu_list.h"
#include "bpf_source/kernel_places.h"
#include "bpf_source/tracepoints.h"
#include "cli/input/report_input.h"
#include "cli/quantity.h"
#include "cli/running_process.h"
#include "sink/sink_registry.h"

namespace cicada::cli {
namespace {

constexpr const char* kDefaultPage = "cicada.html";      // beside it when a browser shall show something
constexpr uint64_t kMinMapMemory = 1 << 20;  // less than one slab holds no table at all

// A word of a closed list, or an error that shows the list.
template <typename T>
struct Choice {
  std::string_view name;
  T value;
};

template <typename T, size_t N>
Result<T> parse_choice(std::string_view text, std::string_view what, const Choice<T> (&choices)[N]) {
  std::string known;
  for (const Choice<T>& choice : choices) {
    if (choice.name == text) return choice.value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", choice.name);
  }
  return make_error(ErrorKind::kInvalid, "{} {}: use one of {}", what, text, known);
}

constexpr Choice<unwind_mode> kUnwindModes[] = {
#define X(name, text) {text, name},
    UNWIND_MODES(X)
#undef X
};
constexpr Choice<bool> kClones[] = {{"fold", true}, {"show", false}};

Result<RecordTarget> check_target(const RawRecordOptions& raw) {
  RecordTarget target;
  target.asked = TRY(find_asked_tasks(raw.asked));
  target.asked_for = describe(raw.asked);
  // An optional number: CLI11 takes it for the command.
  if (raw.wakers != 0 && !raw.command.empty() && raw.command.front().find_first_not_of("0123456789") == std::string::npos)
    return make_error(ErrorKind::kInvalid, "--wakers {0}: write --wakers={0}", raw.command.front());
  const int kinds = (raw.processes.empty() ? 0 : 1) + (raw.threads.empty() ? 0 : 1) + (raw.whole_machine ? 1 : 0) +
                    (raw.command.empty() ? 0 : 1);
  if (kinds == 0 && !raw.asked.empty()) {
    target.whole_machine = true;
    return target;
  }
  if (kinds == 0) {
    return make_error(
        ErrorKind::kInvalid,
        "what shall be recorded? Give a command (-- CMD…), processes (-p PID|NAME), a thread (-t TID) or -a for "
        "the whole machine");
  }
  if (kinds > 1)
    return make_error(ErrorKind::kInvalid, "-p, -t, -a and a command after -- exclude each other; choose one");
  if (raw.children && raw.processes.empty()) return make_error(ErrorKind::kInvalid, "--children: of which processes? It goes with -p");
  target.whole_machine = raw.whole_machine;
  target.command = raw.command;
  for (const std::string& list : raw.processes) {
    for (const std::string& part : split_list(list)) {
      const std::vector<Pid> pids = TRY(find_processes(part));
      target.named += (target.named.empty() ? "" : ", ") + part;
      target.pids.insert(target.pids.end(), pids.begin(), pids.end());
    }
  }
  if (!raw.processes.empty() && target.pids.empty())
    return make_error(ErrorKind::kInvalid, "-p: no process named; give a pid or a name");
  if (raw.children) target.pids = TRY(with_descendants(std::move(target.pids)));
  std::sort(target.pids.begin(), target.pids.end());
  target.pids.erase(std::unique(target.pids.begin(), target.pids.end()), target.pids.end());
  for (const std::string& list : raw.threads) {
    for (const std::string& part : split_list(list)) target.tids.push_back(TRY(find_thread(part)));
  }
  if (!raw.threads.empty() && target.tids.empty())
    return make_error(ErrorKind::kInvalid, "-t: no thread named; give a thread id");
  return target;
}

Result<void> check_rate(const RawRecordOptions& raw, RecordOptions& options) {
  bpf_source::PerfEventOptions& events = options.events;
  events.frequency_hz = TRY(parse_frequency_hz(raw.frequency));
  if (!raw.period.empty()) {
    events.period = TRY(parse_number(raw.period, "-c"));
    if (events.period == 0) return make_error(ErrorKind::kInvalid, "-c 0: the period must be more than zero");
  }
  for (const std::string& text : raw.events) {
    for (const bpf_source::EventSpec& spec : TRY(bpf_source::parse_event_specs(text))) {
      const auto same = [&](const auto& known) { return known.type == spec.type; };
      if (std::any_of(events.events.begin(), events.events.end(), same)) return make_error(ErrorKind::kInvalid, "-e {}: {} is asked for twice", text, spec.type.name);
      events.events.push_back(spec);
    }
  }
  TRY(bpf_source::find_tracepoints(events.events));
  TRY(bpf_source::find_kernel_places(events.events));
  if (!raw.duration.empty()) options.duration_ns = TRY(parse_duration_ns(raw.duration, "-d"));
  return {};
}

Result<void> check_waits(const RawRecordOptions& raw, RecordOptions& options) {
  const auto& events = options.events.events;
  const bool waits = std::any_of(events.begin(), events.end(), [](const bpf_source::EventSpec& spec) { return spec.type.kind == bpf_source::EventKind::kWait; });
  const auto wakes = [](const bpf_source::EventSpec& spec) { return spec.type.kind == bpf_source::EventKind::kWake; };
  if (raw.wakers > kMostWakers) return make_error(ErrorKind::kInvalid, "--wakers={}: {} at most", raw.wakers, kMostWakers);
  options.wakers = raw.wakers;
  if (waits && raw.wakers != 0 && std::none_of(events.begin(), events.end(), wakes)) options.events.events.push_back(bpf_source::EventSpec{.type = *bpf_source::find_event_type("wakeups")});
  if (!waits && std::any_of(events.begin(), events.end(), wakes)) return make_error(ErrorKind::kInvalid, "-e wakeups: it goes with -e off-cpu, whose waits they end");
  for (const auto& [given, option] : {std::pair(!raw.min_wait.empty(), "--min-wait"), {!raw.max_wait.empty(), "--max-wait"}, {raw.kernel_threads, "--kernel-threads"}, {raw.wakers != 0, "--wakers"}})
    if (given && !waits) return make_error(ErrorKind::kInvalid, "{}: it goes with -e off-cpu, or `cicada offcpu`", option);
  if (!raw.min_wait.empty()) options.min_wait_ns = TRY(parse_duration_ns(raw.min_wait, "--min-wait"));
  if (!raw.max_wait.empty()) options.max_wait_ns = TRY(parse_duration_ns(raw.max_wait, "--max-wait"));
  if (options.min_wait_ns > options.max_wait_ns) return make_error(ErrorKind::kInvalid, "--min-wait {} is longer than --max-wait {}", raw.min_wait, raw.max_wait);
  if (!raw.cpus.empty() && std::any_of(events.begin(), events.end(), wakes)) return make_error(ErrorKind::kInvalid, "--cpu: who wakes a thread may be on another CPU than the one where it goes on; leave out --cpu, or --wakers (-e wakeups)");
  if (waits && raw.no_stacks) return make_error(ErrorKind::kInvalid, "--no-stacks: it does not go with off-cpu, which tells by its stacks what is waited for; `cicada report --states` has the table without them");
  options.kernel_threads = raw.kernel_threads;
  return {};
}

Result<void> check_cpus(const RawRecordOptions& raw, RecordOptions& options) {
  if (raw.cpus.empty()) return {};
  std::string list;
  for (const std::string& part : raw.cpus) list += (list.empty() ? "" : ",") + part;
  const std::vector<int> cpus = TRY(parse_cpu_list(list, "--cpu"));
  options.events.cpus.assign(cpus.begin(), cpus.end());
  const auto online = online_cpus();
  if (!online) return {};  // no sysfs: the kernel will say
  for (const int cpu : cpus) {
    if (!std::binary_search(online->begin(), online->end(), cpu)) return make_error(ErrorKind::kInvalid, "--cpu {}: this CPU is not online; online are {}", cpu, fmt::join(*online, ", "));
  }
  return {};
}

// cicada.cicada, from which everything else can be made; cicada.2.cicada and so on beside earlier ones.
std::string default_output() {
  std::string name = "cicada.cicada";
  for (int i = 2; ::access(name.c_str(), F_OK) == 0; ++i) name = fmt::format("cicada.{}.cicada", i);
  return name;
}

Result<void> check_outputs(const RawRecordOptions& raw, RecordOptions& options) {
  options.outputs = raw.outputs;
  options.force = raw.force;
  if (options.outputs.empty() && !raw.shown) {
    options.outputs.push_back(raw.force ? "cicada.cicada" : default_output());
    if (raw.open) options.outputs.emplace_back(kDefaultPage);
  }
  sink::SinkOptions sink_options;
  sink_options.rights.replace_recordings = raw.force;
  if (const auto sinks = sink::make_sinks(options.outputs, sink_options); !sinks) return sinks.error().within("-o");  // writes nothing
  const auto opens = [](const std::string& path) { return sink::find_format(path)->opens_in_browser; };
  const auto page = std::find_if(options.outputs.begin(), options.outputs.end(), opens);
  if (raw.open && page == options.outputs.end())
    return make_error(ErrorKind::kInvalid, "--open: no output that a browser shows; add -o cicada.svg or -o cicada.html");
  if (raw.open) options.open = *page;
  return {};
}

}  // namespace

Result<RecordOptions> check_record_options(const RawRecordOptions& raw) {
  RecordOptions options;
  TRY(check_rate(raw, options));
  TRY(check_cpus(raw, options));
  TRY(check_waits(raw, options));
  options.unwind = TRY(parse_choice(raw.unwind, "--unwind", kUnwindModes));
  options.demangle = TRY(parse_demangle(raw.demangle)).value_or(symbolize::Demangle::kFull);
  options.fold_clones = TRY(parse_choice(raw.clones, "--clones", kClones));
  options.group_by = TRY(parse_grouping(raw.group_by));
  const auto& events = options.events.events;
  const bool all_are_grouped = !events.empty() && std::all_of(events.begin(), events.end(), [](const bpf_source::EventSpec& spec) { return !spec.group.empty(); });
  if (raw.group_by.empty() && raw.no_stacks) options.group_by = {profile::GroupBy::kProcess};
  if (raw.group_by.empty() && all_are_grouped) options.group_by = {profile::GroupBy::kGroup};
  options.max_map_memory_bytes = TRY(parse_bytes(raw.max_map_memory, "--max-map-memory"));
  if (options.max_map_memory_bytes < kMinMapMemory) {
    return make_error(ErrorKind::kInvalid, "--max-map-memory {}: at least 1M is needed", raw.max_map_memory);
  }
  if (!raw.last.empty()) options.retention.keep_ns = TRY(parse_duration_ns(raw.last, "--last"));
  if (raw.quiet && raw.verbose) return make_error(ErrorKind::kInvalid, "-q and -v exclude each other");
  if (raw.inlines || raw.no_inlines) options.inlines = raw.inlines;
  if (raw.lines || raw.no_lines) options.lines = raw.lines;
  options.kernel_frames = !raw.no_kernel;
  options.stacks = !raw.no_stacks;
  options.include_idle = raw.include_idle;
  options.debuginfod = raw.debuginfod;
  options.stats = raw.stats;
  options.attachable = raw.attachable;
  options.as_root = raw.as_root;
  options.jit_options = !raw.no_jit_options;
  options.with_arguments = raw.with_arguments;
  if (raw.quiet) options.verbosity = Verbosity::kQuiet;
  if (raw.verbose) options.verbosity = Verbosity::kVerbose;
  // What touches the machine comes last: a typing error is not hidden behind a process that has gone.
  TRY(check_outputs(raw, options));
  options.target = TRY(check_target(raw));
  if (options.kernel_threads && !options.target.whole_machine) return make_error(ErrorKind::kInvalid, "--kernel-threads: they belong to no process; it goes with -a");
  if (options.include_idle && !options.target.whole_machine)
    return make_error(ErrorKind::kInvalid, "--include-idle: an idle CPU belongs to no process; it goes with -a. Where a process waits: -e off-cpu");
  return options;
}

}  // namespace cicada::cli
