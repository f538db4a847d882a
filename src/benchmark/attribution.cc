// SPDX-License-Identifier: Apache-2.0
#include "benchmark/attribution.h"

#include <algorithm>
#include <map>

#include "profile/completeness.h"
#include "profile/row_copier.h"

namespace cicada::benchmark {
namespace {

constexpr std::string_view kRootFrame = "__codspeed_root_frame__";

std::string last_part(const std::string& uri) {
  const size_t bracket = uri.find('[');  // "::" in parameters is none of ours
  const size_t at = uri.rfind("::", bracket);
  return at == std::string::npos ? uri : uri.substr(at + 2);
}

// The client's own numbers: by URI, else the n-th of this process for the n-th window. Frames and files can name one benchmark differently.
class Told {
 public:
  explicit Told(std::span<const ClientBenchmark> all) : all_(all), taken_(all.size()) {}
  const ClientBenchmark* take(const std::string& uri, Pid pid, size_t index) {
    const ClientBenchmark* found = find([&](const ClientBenchmark& one) { return one.uri == uri; });
    size_t at = 0;
    return found != nullptr ? found : find([&](const ClientBenchmark& one) { return one.pid == pid && at++ == index; });
  }

 private:
  template <typename Is>
  const ClientBenchmark* find(Is is) {
    for (size_t i = 0; i < all_.size(); ++i) {
      if (!is(all_[i]) || taken_[i]) continue;
      taken_[i] = true;
      return &all_[i];
    }
    return nullptr;
  }
  std::span<const ClientBenchmark> all_;
  std::vector<bool> taken_;
};

Benchmark& find_or_add(BenchResult& result, const std::string& uri) {
  const auto known = std::find_if(result.benchmarks.begin(), result.benchmarks.end(), [&](const Benchmark& one) { return one.uri == uri; });
  if (known != result.benchmarks.end()) return *known;
  Benchmark fresh;
  fresh.uri = uri;
  fresh.name = last_part(uri);
  result.benchmarks.push_back(std::move(fresh));
  return result.benchmarks.back();
}

// The processes that were sampled and belong to the window's; of one that nobody knows, all.
std::vector<ProcessId> processes_of(const RunFindings& run, const Window& window) {
  std::vector<ProcessId> out;
  for (const profile::Process& row : run.profile.processes()) {
    const ProcessId process{row.pid, row.start_ns};
    if (window.process.pid == 0 || run.tree.is_in(process, window.process)) out.push_back(process);
  }
  return out;
}

bool shares_processes(const Window& a, const Window& b, const ProcessTree& tree) {
  if (a.process.pid == 0 || b.process.pid == 0) return true;
  return tree.is_in(a.process, b.process) || tree.is_in(b.process, a.process);
}

bool is_ambiguous(const RunFindings& run, const Window& window) {
  return window.overlaps && std::any_of(run.windows.windows.begin(), run.windows.windows.end(), [&](const Window& other) {
           return &other != &window && other.begin_ns < window.end_ns && window.begin_ns < other.end_ns && shares_processes(window, other, run.tree);
         });
}

// Of everybody's samples, ascending.
std::vector<uint64_t> times_of_samples(const profile::ProfileSnapshot& profile) {
  const profile::EventId event = main_event(profile);
  std::vector<uint64_t> times;
  for (size_t i = 0; i < profile.sample_count(); ++i)
    if (profile.samples().event[i] == event && !profile::is_idle(profile.samples().state[i])) times.push_back(profile.samples().time_ns[i]);
  std::sort(times.begin(), times.end());
  return times;
}

// Of windows in which nobody else of the command worked what the scheduler says.
void take_account(const RunFindings& run, const std::vector<uint64_t>& times, const std::string& uri, BenchmarkRun& one) {
  uint64_t cpu_ns = 0, samples = 0;
  for (const Window& window : run.windows.windows) {
    if (window.uri != uri) continue;
    const auto used = find_cpu_time(run.windows.windows, window, run.spans);
    if (!used) return;
    cpu_ns += *used;
    samples += static_cast<uint64_t>(std::lower_bound(times.begin(), times.end(), window.end_ns) - std::lower_bound(times.begin(), times.end(), window.begin_ns));
  }
  if (cpu_ns == 0 || samples != one.samples) return;
  one.cpu_ns = static_cast<double>(cpu_ns);
  one.cpu_by_samples = false;
}

// One source for all runs, the best that each of them has: rounds, the client's summary, the windows.
void choose_source(Benchmark& one) {
  bool rounds = true, told = true;
  for (const BenchmarkRun& run : one.runs) {
    rounds = rounds && run.times_ns.size() > 1;
    told = told && run.told && run.told->count != 0 && run.told->median > 0;
  }
  if (rounds) one.source = Source::kRounds;
  else if (told) one.source = Source::kClient;
  else one.source = std::all_of(one.runs.begin(), one.runs.end(), [](const BenchmarkRun& run) { return !run.times_ns.empty(); }) ? Source::kRounds : Source::kWindows;
  if (one.source != Source::kWindows) return;
  for (BenchmarkRun& run : one.runs) {
    run.times_ns.clear();
    for (const Round& window : run.windows) run.times_ns.push_back(static_cast<double>(window.end_ns - window.begin_ns));
  }
}

// Stacks from the innermost root frame on.
class HarnessCut {
 public:
  explicit HarnessCut(profile::Profile& profile) : profile_(profile) {}

  profile::StackId of(profile::StackId stack) {
    const auto [known, fresh] = cut_.try_emplace(stack.valid() ? stack.value : 0, stack);
    if (!fresh || !stack.valid()) return stack.valid() ? known->second : stack;
    std::vector<profile::FrameId> frames;
    for (profile::StackId at = stack; at.valid(); at = profile_.stacks()[at.value].parent) {
      frames.push_back(profile_.stacks()[at.value].frame);
      if (!is_root(frames.back())) continue;
      std::reverse(frames.begin(), frames.end());
      return cut_[stack.value] = profile_.intern_stack(profile::StackId(), frames);
    }
    return stack;
  }

 private:
  bool is_root(profile::FrameId frame) {
    if (const auto known = roots_.find(frame.value); known != roots_.end()) return known->second;
    const auto locations = profile_.locations(frame);
    return roots_[frame.value] = std::any_of(locations.begin(), locations.end(), [&](const profile::Location& location) {
             return profile_.text(profile_.functions()[location.function.value].name).find(kRootFrame) != std::string_view::npos;
           });
  }

  profile::Profile& profile_;
  std::map<uint32_t, profile::StackId> cut_;
  std::map<uint32_t, bool> roots_;
};

}  // namespace

void add_run(const RunFindings& run, BenchResult& result) {
  Told told(run.told);
  std::map<Pid, size_t> windows_of;  // how many there were of a process
  std::map<std::string, BenchmarkRun> runs;
  std::vector<std::string> order;
  for (const Window& window : run.windows.windows) {
    const auto [at, fresh] = runs.try_emplace(window.uri);
    BenchmarkRun& one = at->second;
    const size_t index = windows_of[window.told_pid]++;
    uint64_t iterations = 1;
    if (const ClientBenchmark* numbers = told.take(window.uri, window.told_pid, fresh ? index : ~size_t{0})) {
      one.told = numbers->per_iteration;
      iterations = numbers->iterations;
      find_or_add(result, window.uri).creator = numbers->creator;
    }
    if (fresh) order.push_back(window.uri);
    one.recording = run.recording;
    one.windows.push_back({window.begin_ns, window.end_ns});
    one.wall_ns += static_cast<double>(window.end_ns - window.begin_ns);
    one.ambiguous |= is_ambiguous(run, window);
    for (const Round& round : window.rounds) one.times_ns.push_back(static_cast<double>(round.end_ns - round.begin_ns) / static_cast<double>(iterations));
    for (const ProcessId& process : processes_of(run, window))
      if (std::find(one.processes.begin(), one.processes.end(), process) == one.processes.end()) one.processes.push_back(process);
    if (one.processes.empty()) one.processes.push_back(window.process);
  }
  const std::vector<uint64_t> times = times_of_samples(run.profile);
  for (const std::string& uri : order) {
    count_samples(run.profile, runs[uri]);
    take_account(run, times, uri, runs[uri]);
    Benchmark& one = find_or_add(result, uri);
    one.runs.push_back(std::move(runs[uri]));
    choose_source(one);
  }
}

std::vector<std::string> replaced_libraries(const ClientEnvironment& told, const profile::ProfileSnapshot& profile) {
  std::map<std::string_view, std::vector<std::string_view>> builds;
  for (const profile::Image& image : profile.images())
    if (const std::string_view id = profile.text(image.build_id); !id.empty()) builds[profile.text(image.path)].push_back(id);
  std::vector<std::string> out;
  for (const auto& [path, build_id] : told.libraries) {
    const auto ran = builds.find(path);
    if (ran != builds.end() && std::find(ran->second.begin(), ran->second.end(), build_id) == ran->second.end())
      out.push_back(fmt::format("{}: the client linked build {}, and build {} ran", path, build_id, ran->second.front()));
  }
  return out;
}

profile::SampleFilter samples_of(const profile::ProfileSnapshot& profile, const BenchmarkRun& run) {
  if (run.processes.empty()) return [](const profile::ProfileSnapshot&, size_t) { return true; };
  std::vector<bool> threads(profile.threads().size());
  for (size_t i = 0; i < threads.size(); ++i) {
    const profile::Process& process = profile.processes()[profile.threads()[i].process.value];
    threads[i] = std::find(run.processes.begin(), run.processes.end(), ProcessId{process.pid, process.start_ns}) != run.processes.end();
  }
  return [threads = std::move(threads), windows = run.windows](const profile::ProfileSnapshot& p, size_t i) {
    const uint64_t at = p.samples().time_ns[i];
    const auto after = std::upper_bound(windows.begin(), windows.end(), at, [](uint64_t time, const Round& window) { return time < window.begin_ns; });
    return after != windows.begin() && at < (after - 1)->end_ns && threads[p.samples().thread[i].value];
  };
}

void count_samples(const profile::ProfileSnapshot& profile, BenchmarkRun& run) {
  const profile::SampleFilter is_own = samples_of(profile, run);
  const profile::EventId event = main_event(profile);
  const double sample_ns = static_cast<double>(profile.event(event).sample_ns);
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    if (profile.samples().event[i] != event || profile::is_idle(profile.samples().state[i]) || !is_own(profile, i)) continue;
    ++run.samples;
    run.cpu_ns += sample_ns;
    const uint8_t reason = profile::end_reason_of(profile.samples().state[i]);
    if (reason == END_NONE || reason == END_EXEC) continue;
    ++run.user_stacks;
    run.whole_stacks += profile::kEndReasons[reason].complete ? 1 : 0;
  }
  if (!run.windows.empty() || profile.header.target_cpu_ns == 0) return;
  run.cpu_ns = static_cast<double>(profile.header.target_cpu_ns);
  run.cpu_by_samples = false;
}

profile::Profile extract(const profile::ProfileSnapshot& profile, const BenchmarkRun& run, bool harness) {
  profile::Profile part;
  part.header = profile.header;
  part.header.end_reasons.clear();
  part.header.warnings.clear();
  part.header.duration_ns = static_cast<uint64_t>(run.wall_ns);
  part.header.target_cpu_ns = run.cpu_by_samples ? 0 : static_cast<uint64_t>(run.cpu_ns);
  if (!run.windows.empty()) part.header.runs = part.header.runs_ns = 0;  // a part of one
  const profile::SampleFilter is_own = samples_of(profile, run);
  profile::RowCopier copier(part, profile);
  HarnessCut cut(part);
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    if (!is_own(profile, i)) continue;
    profile::Sample sample = copier.copy(profile.sample(i));
    if (!harness) sample.stack = cut.of(sample.stack);
    part.append_sample(sample);
  }
  return part;
}

}  // namespace cicada::benchmark
