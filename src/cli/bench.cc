// SPDX-License-Identifier: Apache-2.0
#include "cli/bench.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/cpu_list.h"
#include "benchmark/attribution.h"
#include "benchmark/comparison.h"
#include "benchmark/machine_state.h"
#include "benchmark/reasons.h"
#include "bpf_source/privileges.h"
#include "cli/bench_pages.h"
#include "cli/bench_run.h"
#include "cli/bench_table.h"
#include "cli/client_files.h"
#include "cli/runtime_environment.h"
#include "cli/terminal.h"
#include "process/procfs/proc_fs.h"
#include "sink/output_directory.h"

namespace cicada::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// Where results go. Clients write theirs below it, so it is the user's.
Result<std::shared_ptr<const sink::OutputDirectory>> result_directory(const BenchOptions& options, const sink::FileRights& rights) {
  std::string path = options.directory.empty() ? "cicada-bench" : options.directory;
  if (options.directory.empty())
    for (int i = 2; std::filesystem::exists(std::filesystem::symlink_status(path)); ++i) path = fmt::format("cicada-bench-{}", i);
  auto directory = TRY(sink::OutputDirectory::open(path, rights));
  if (!options.force && directory->contains("bench.json"))
    return make_error(ErrorKind::kInvalid, "-o {}: has results already; --force replaces them", path);
  TRY(directory->make_inside("flamegraphs", rights));
  return directory;
}

sink::FileRights rights_of(const BenchOptions& options, const InvokingUser& user) {
  sink::FileRights rights;
  if (user.through_sudo()) rights.owner = sink::FileOwner{user.uid(), user.gid()};
  rights.replace_recordings = options.force;
  return rights;
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<size_t>(cpu), &set)) cpus.push_back(cpu);
  return cpus;
}

// Of the CPUs that we may use, those for the command and those for cicada: one, with its siblings where enough are left. False: there is one only.
bool isolate(BenchRunOptions& run) {
  const std::vector<int> allowed = allowed_cpus();
  if (allowed.size() < 2) return false;
  const auto text = process::read_proc_file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", allowed.front()), 4096);
  const auto siblings = text ? parse_cpu_list(*text, "siblings") : Result<std::vector<int>>(text.error());
  if (siblings) std::set_intersection(allowed.begin(), allowed.end(), siblings->begin(), siblings->end(), std::back_inserter(run.own_cpus));
  if (run.own_cpus.empty() || run.own_cpus.size() == allowed.size()) run.own_cpus = {allowed.front()};
  std::set_difference(allowed.begin(), allowed.end(), run.own_cpus.begin(), run.own_cpus.end(), std::back_inserter(run.command_cpus));
  return true;
}

class BenchSession {
 public:
  BenchSession(const BenchOptions& options, InvokingUser user, std::optional<benchmark::FifoPair> fifos, StopSignals signals,
               sink::FileRights rights)
      : options_(options),
        user_(std::move(user)),
        fifos_(std::move(fifos)),
        signals_(std::move(signals)),
        rights_(std::move(rights)),
        directory_(absolute_path(rights_.below->path())) {
    result_.host = benchmark::machine_fingerprint();
    result_.version = CICADA_VERSION;
    result_.warnings = benchmark::machine_warnings();
  }

  // For the reader of the results; once.
  void warn(const std::string& text) {
    if (std::find(result_.warnings.begin(), result_.warnings.end(), text) == result_.warnings.end()) result_.warnings.push_back(text);
  }

  Result<int> run() {
    BenchRunOptions base;
    TRY(read_frequency(base));
    if (options_.isolate && !isolate(base)) warn("--isolate: only one CPU may be used, so the command shares it with cicada");
    TRY(run_on(base.own_cpus));  // before any thread is started
    base.readers = TRY(recorder::Readers::start());
    // The commands of later runs start with what is left: root's have all again, but not under no_new_privs.
    base.keep_privileges = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
    if (!base.keep_privileges) bpf_source::keep_needed_privileges();
    signals_.watch();
    base.rights = rights_;
    base.show_output = options_.show_output || options_.runs * options_.commands.size() == 1;
    for (unsigned i = 0; i < options_.warmup; ++i)
      for (const auto& command : options_.commands) TRY(prepared_warmup(base, command));
    for (unsigned run = 0; run < options_.runs && !interrupted_; ++run) {
      // Every other round backwards: what drifts hits all alike.
      for (size_t i = 0; i < options_.commands.size() && !interrupted_; ++i)
        TRY(run_once(base, run % 2 == 0 ? i : options_.commands.size() - 1 - i, run));
    }
    end_progress();
    TRY(write());
    return exit_code_;
  }

 private:
  Result<void> read_frequency(BenchRunOptions& base) const {
    const std::string& text = options_.frequency;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), base.events.frequency_hz);
    if (error != std::errc() || end != text.data() + text.size() || base.events.frequency_hz == 0) return make_error(ErrorKind::kInvalid, "-F {}: expected samples a second", text);
    return {};
  }

  Result<void> prepared_warmup(const BenchRunOptions& base, const std::vector<std::string>& command) {
    TRY(prepare(base));
    BenchRunOptions run = base;
    run.command = command;
    run.show_output = false;
    TRY(run_unrecorded(run, user_));
    return {};
  }

  Result<void> prepare(const BenchRunOptions& base) {
    if (options_.prepare.empty()) return {};
    BenchRunOptions run = base;
    run.command = {"/bin/sh", "-c", options_.prepare};
    run.show_output = false;
    if (const int code = TRY(run_unrecorded(run, user_)); code != 0) return make_error(ErrorKind::kInvalid, "--prepare {}: exit code {}", options_.prepare, code);
    return {};
  }

  Result<void> run_once(const BenchRunOptions& base, size_t command, unsigned number) {
    TRY(prepare(base));
    const auto index = static_cast<uint32_t>(result_.recordings.size());
    const bool alone = options_.runs == 1 && options_.commands.size() == 1;
    // A directory for each run: clients of two may have the same pid.
    const std::string inside = fmt::format("run-{}", index + 1);
    const std::string clients = alone ? directory_ : directory_ + "/" + inside;
    if (!alone) TRY(rights_.below->make_inside(inside, rights_));
    BenchRunOptions run = base;
    run.command = options_.commands[command];
    run.environment = runtime_environment(run.command, user_, options_.quiet);
    for (std::string variable : {"CODSPEED_ENV=runner", "CODSPEED_RUNNER_MODE=walltime", "PYTHONPERFSUPPORT=1", "PYTHON_PERF_JIT_SUPPORT=1", "PYTHONHASHSEED=0"})
      run.environment.push_back(std::move(variable));
    run.environment.push_back("CODSPEED_PROFILE_FOLDER=" + clients);
    const std::string file = fmt::format("run-{}.cicada", index + 1);
    run.recording = file;
    if (!options_.quiet) print_progress(fmt::format("run {} of {}: {}", number + 1, options_.runs, joined(run.command)));
    benchmark::ProcessTree tree;
    BenchRunOutcome outcome = TRY(run_recorded(run, user_, fifos_ ? &*fifos_ : nullptr, tree, signals_));
    interrupted_ = outcome.interrupted;
    result_.recordings.push_back({file, joined(run.command), outcome.exit_code});
    if (outcome.exit_code != 0 && exit_code_ == 0 && !options_.ignore_failure) {
      exit_code_ = outcome.exit_code;
      interrupted_ = true;
      warn(fmt::format("{}: exit code {}; no further runs (--ignore-failure goes on)", joined(run.command), outcome.exit_code));
    }
    for (const std::string& warning : outcome.warnings) warn(warning);
    tell(outcome);
    if (outcome.windows.windows.empty()) add_plain(command, index, outcome);
    else add_announced(command, index, outcome, tree, clients);
    if (!alone) rights_.below->remove_inside(inside);
    return {};
  }

  void tell(const BenchRunOutcome& outcome) {
    const benchmark::Windows& windows = outcome.windows;
    const auto say = [&](uint64_t count, const char* what) {
      if (count != 0) warn(fmt::format("{} {}", count, what));
    };
    say(outcome.counts.mixed, "messages of several clients came mixed; all were understood");
    say(outcome.counts.skipped_bytes, "bytes of clients' messages could not be understood");
    say(outcome.counts.simultaneous, "times two clients waited for an answer at once: the protocol does not say whose it is");
    say(windows.unnamed, "benchmarks were never named");
    say(windows.abandoned, "benchmarks never ended");
    say(windows.stray_rounds, "rounds lie outside every benchmark");
    if (outcome.announced && windows.windows.empty()) warn("clients came, and announced no benchmark; the whole run is shown");
  }

  void add_plain(size_t command, uint32_t index, BenchRunOutcome& outcome) {
    const std::string uri = joined(options_.commands[command]);
    auto known = std::find_if(result_.benchmarks.begin(), result_.benchmarks.end(), [&](const auto& one) { return one.uri == uri; });
    if (known == result_.benchmarks.end()) {
      known = result_.benchmarks.insert(known, benchmark::Benchmark{});
      known->uri = known->name = uri;
      known->source = benchmark::Source::kRuns;
    }
    benchmark::BenchmarkRun run;
    run.recording = index;
    run.times_ns = {outcome.wall_ns};
    run.wall_ns = outcome.wall_ns;
    run.resources = outcome.resources;
    benchmark::count_samples(outcome.profile, run);
    known->runs.push_back(std::move(run));
    add_samples(uri, outcome.profile, known->runs.back());
  }

  void add_announced(size_t command, uint32_t index, BenchRunOutcome& outcome, const benchmark::ProcessTree& tree, const std::string& clients) {
    if (options_.commands.size() > 1)
      for (benchmark::Window& window : outcome.windows.windows) window.uri += in_command(joined(options_.commands[command]));
    ClientFiles files = read_client_files(clients, user_);
    for (const std::string& warning : files.warnings) warn(warning);
    for (const std::string& text : benchmark::replaced_libraries(files.environment, outcome.profile)) warn(text);
    result_.environment.software.merge(files.environment.software);
    result_.environment.libraries.merge(files.environment.libraries);
    benchmark::add_run({index, outcome.windows, files.benchmarks, tree, outcome.profile}, result_);
    for (const benchmark::Benchmark& one : result_.benchmarks)
      if (!one.runs.empty() && one.runs.back().recording == index) add_samples(one.uri, outcome.profile, one.runs.back());
  }

  // Of all runs together.
  void add_samples(const std::string& uri, const profile::Profile& profile, const benchmark::BenchmarkRun& run) {
    const profile::Profile part = benchmark::extract(profile, run, options_.harness);
    functions_[uri].push_back(benchmark::count_functions(part));
    profile::merge(profiles_[uri], part);
  }

  Result<void> write() {
    if (result_.recordings.empty()) return make_error(ErrorKind::kInvalid, "no run");
    size_t number = 0;
    for (benchmark::Benchmark& one : result_.benchmarks) {
      one.page = fmt::format("flamegraphs/{:04}.html", ++number);
      TRY(write_flame_graph(one.page, rights_, profiles_[one.uri], one.name));
    }
    TRY(write_text("bench.json", rights_, benchmark::to_json(result_)));
    TRY(write_text("index.html", rights_, index_page(result_, joined(options_.commands[0]))));
    if (!options_.quiet) print_message(format_bench_table(result_, terminal_columns()));
    TRY(compare_commands());
    if (!options_.quiet) print_message(fmt::format("results in {}/index.html\n", directory_));
    return {};
  }

  // 'A' 'B': each benchmark, or each command, with that of the first command.
  Result<void> compare_commands() {
    const std::string first = joined(options_.commands[0]);
    for (size_t i = 0; i < result_.benchmarks.size(); ++i) {
      const benchmark::Benchmark& base = result_.benchmarks[i];
      if (!base.uri.ends_with(first) && !base.uri.ends_with(in_command(first))) continue;
      for (size_t command = 1; command < options_.commands.size(); ++command) {
        const std::string other = joined(options_.commands[command]);
        const std::string uri = base.uri == first ? other : base.uri.substr(0, base.uri.size() - in_command(first).size()) + in_command(other);
        const auto now = std::find_if(result_.benchmarks.begin(), result_.benchmarks.end(), [&](const auto& one) { return one.uri == uri; });
        if (now == result_.benchmarks.end() || &*now == &base) continue;
        TRY(compare(base, *now));
      }
    }
    return {};
  }

  Result<void> compare(const benchmark::Benchmark& base, const benchmark::Benchmark& now) {
    const benchmark::ComparisonOptions how{.in_turn = true};
    const benchmark::Comparison comparison = benchmark::compare(base, now, how);
    const std::string page = fmt::format("flamegraphs/difference-{}.html", &now - result_.benchmarks.data() + 1);
    TRY(write_difference(page, rights_, profiles_[base.uri], profiles_[now.uri], fmt::format("{} compared with {}", now.uri, base.uri)));
    const auto reasons = benchmark::find_reasons(functions_[base.uri], functions_[now.uri], comparison, how.confidence);
    if (!options_.quiet) print_message(format_comparison(now.uri + " ÷ " + base.uri, comparison, reasons) + fmt::format("  difference in {}/{}\n", directory_, page));
    return {};
  }

  static std::string absolute_path(const std::string& path) {
    std::error_code error;
    const std::string absolute = std::filesystem::absolute(path, error);
    return error ? path : absolute;
  }
  static std::string in_command(const std::string& command) { return fmt::format(" ({})", command); }

  const BenchOptions& options_;
  const InvokingUser user_;
  std::optional<benchmark::FifoPair> fifos_;  // nothing: another runner has them
  StopSignals signals_;
  const sink::FileRights rights_;  // below the directory of the results
  const std::string directory_;    // its path, for clients and people
  benchmark::BenchResult result_;
  std::map<std::string, profile::Profile> profiles_;  // by URI
  std::map<std::string, std::vector<benchmark::FunctionSamples>> functions_;  // of each run
  bool interrupted_ = false;
  int exit_code_ = 0;
};

}  // namespace

Result<int> run_bench(const BenchOptions& options) {
  const InvokingUser user = options.as_root ? InvokingUser::effective() : InvokingUser::detect();
  StopSignals signals = TRY(StopSignals::open());
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // so that whose parent has ended is known to be the command's still
  Result<benchmark::FifoPair> fifos = benchmark::FifoPair::create(user.uid(), user.gid());
  if (!fifos && fifos.error().kind() != ErrorKind::kLimit) return fifos.error();
  sink::FileRights rights = rights_of(options, user);
  rights.below = TRY(result_directory(options, rights));
  BenchSession session(options, user, fifos ? std::optional(*std::move(fifos)) : std::nullopt, std::move(signals), std::move(rights));
  if (!fifos) session.warn(fifos.error().message() + "; until then commands are measured as a whole, and benchmarks that announce themselves are not told apart");
  return session.run();
}

}  // namespace cicada::cli
