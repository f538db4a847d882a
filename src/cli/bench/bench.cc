// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/bench.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <filesystem>

#include "base/cpu_list.h"
#include "base/scoped_file_user.h"
#include "benchmark/attribution.h"
#include "benchmark/comparison.h"
#include "benchmark/machine_state.h"
#include "benchmark/reasons.h"
#include "bpf_source/fifo_writers.h"
#include "bpf_source/privileges.h"
#include "cli/bench/bench_pages.h"
#include "cli/bench/bench_run.h"
#include "cli/bench/bench_table.h"
#include "cli/bench/client_files.h"
#include "cli/exit_code.h"
#include "cli/launch/launched_command.h"
#include "cli/launch/runtime_environment.h"
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
  using Clock = std::chrono::steady_clock;
  static constexpr unsigned kRunsForReason = 8;              // times as many as a verdict takes at most, until it is known what became slower
  static constexpr size_t kMaxProfileBytes = 128 << 20;  // of a benchmark's runs; those of a minute of compilers take 10 MB

 public:
  BenchSession(const BenchOptions& options, InvokingUser user, std::optional<benchmark::FifoPair> fifos, StopSignals signals, sink::FileRights rights)
      : options_(options),
        user_(std::move(user)),
        fifos_(std::move(fifos)),
        signals_(std::move(signals)),
        rights_(std::move(rights)),
        directory_(absolute_path(rights_.below->path())) {
    result_.host = benchmark::machine_fingerprint();
    result_.version = CICADA_VERSION;
    result_.warnings = benchmark::machine_warnings();
    if (!fifos_) return;
    // Only while privileges last.
    auto writers = bpf_source::FifoWriters::watch(fifos_->control());
    if (writers) writers_ = *std::move(writers);
    else warn("clients that announce benchmarks at the same time may be mixed up: " + writers.error().message());
  }

  // For the reader of the results; once.
  void warn(const std::string& text) {
    if (std::find(result_.warnings.begin(), result_.warnings.end(), text) == result_.warnings.end()) result_.warnings.push_back(text);
  }

  Result<int> run() {
    BenchRunOptions base;
    base.events.frequency_hz = options_.frequency_hz;
    if (options_.isolate && !isolate(base)) warn("--isolate: only one CPU may be used, so the command shares it with cicada");
    TRY(run_on(base.own_cpus));  // before any thread is started
    base.readers = TRY(recorder::Readers::start());
    // The commands of later runs start with what is left: root's have all again, but not under no_new_privs.
    base.keep_privileges = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
    if (!base.keep_privileges) bpf_source::keep_needed_privileges();
    signals_.watch();
    base.rights = rights_;
    base.show_output = options_.show_output || runs_once();
    TRY(open_input());
    TRY(run_shell(base, "--setup", options_.setup));
    for (unsigned i = 0; i < options_.warmup; ++i)
      for (size_t command = 0; command < options_.commands.size() && !over_; ++command) TRY(measure(base, command));
    begun_ = Clock::now();
    for (unsigned run = 0; !over_ && goes_on(run); ++run) {
      // Every other round backwards: what drifts hits all alike.
      for (size_t i = 0; i < options_.commands.size() && !over_; ++i)
        TRY(run_once(base, run % 2 == 0 ? i : options_.commands.size() - 1 - i, run));
    }
    end_progress();
    TRY(run_shell(base, "--cleanup", options_.cleanup));
    TRY(write());
    return exit_code_ != 0 ? exit_code_ : slower_ ? kExitGrown : untold_ && options_.strict ? kExitCannotTell : kExitSuccess;
  }

 private:
  // One run of one command, and no warm-up: it may have our standard input.
  bool runs_once() const { return options_.runs.value_or(1) == 1 && options_.commands.size() == 1 && options_.warmup == 0; }

  // Several commands without a number of runs: until it is told whether each is slower than the first, and by what.
  bool goes_on(unsigned runs) {
    if (options_.runs || options_.commands.size() == 1) return runs < options_.runs.value_or(1);
    if (runs != 0 && std::chrono::duration<double>(Clock::now() - begun_).count() >= options_.max_time_s) return false;
    if (runs < benchmark::fewest_values(true, comparing().confidence)) return true;
    const auto pairs = command_pairs();
    bool settled = true;
    for (const auto& [base, now] : pairs) settled &= is_settled(*base, *now, runs);
    return !settled;
  }
  bool is_settled(const benchmark::Benchmark& base, const benchmark::Benchmark& now, unsigned runs) {
    const benchmark::Comparison comparison = benchmark::compare(base, now, comparing());
    const bool is_told = benchmark::is_told(comparison.time, options_.precision_percent / 100, comparing());
    if (is_told) told_at_.try_emplace(now.uri, runs);
    const auto told = told_at_.find(now.uri);
    if (told == told_at_.end()) return false;
    if (runs >= kRunsForReason * told->second) return true;
    if (!is_told) return false;
    if (comparison.time.verdict != benchmark::Verdict::kSlower && comparison.time.verdict != benchmark::Verdict::kFaster) return true;
    if (runs % told->second != 0 || !std::has_single_bit(runs / told->second)) return false;  // each look may name a wrong one: few of them
    const auto reasons = benchmark::find_reasons(functions_[base.uri], functions_[now.uri], comparison);
    return !reasons.empty() && reasons.front().sure;
  }
  benchmark::ComparisonOptions comparing() const {
    benchmark::ComparisonOptions how{.threshold = options_.threshold_percent / 100, .in_turn = true};
    if (!options_.runs) how.confidence = benchmark::kConfidenceOfEachLook;
    return how;
  }

  // What every run reads: a file from where it stands, else nothing.
  Result<void> open_input() {
    if (!options_.input.empty()) {
      std::optional<ScopedFileUser> as;  // whose shell would have opened it
      if (user_.through_sudo()) as.emplace(user_.uid(), user_.gid(), user_.groups());
      input_.reset(::open(options_.input.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
      if (!input_) return errno_error(errno, fmt::format("--input {}", options_.input));
    } else if (!runs_once()) {
      input_.reset(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    }
    struct stat st {};
    if (!input_ || ::fstat(input_.get(), &st) != 0 || S_ISREG(st.st_mode)) return {};
    if (!options_.input.empty()) return make_error(ErrorKind::kInvalid, "--input {}: not a regular file, which each run could read anew", options_.input);
    if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) warn("standard input is a pipe, which one run would empty: each gets none; --input FILE is read by each");
    input_.reset();
    return {};
  }

  // For one run; nothing to own: it inherits ours.
  Result<UniqueFd> next_input() {
    if (runs_once() && !input_) return UniqueFd();
    UniqueFd next(::open(input_ ? fmt::format("/proc/self/fd/{}", input_.get()).c_str() : "/dev/null", O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!next) return errno_error(errno, "open the standard input anew");
    if (input_) ::lseek(next.get(), ::lseek(input_.get(), 0, SEEK_CUR), SEEK_SET);
    return next;
  }

  // A run beside which nothing is recorded.
  Result<MeasuredRun> measure(const BenchRunOptions& base, size_t command) {
    TRY(run_shell(base, "--prepare", options_.prepare));
    if (over_) return MeasuredRun();
    const UniqueFd input = TRY(next_input());
    BenchRunOptions run = base;
    run.command = options_.commands[command];
    run.environment = {"PYTHONHASHSEED=0"};  // as where it is recorded
    run.input = input.get();
    MeasuredRun measured = TRY(run_unrecorded(run, user_, signals_));
    note_end(measured, name_of(command), "that run does not count");
    return measured;
  }

  // A command that was cut off, or failed.
  void note_end(const MeasuredRun& run, const std::string& name, std::string_view cut_off) {
    if (run.signal) {
      over_ = true;
      exit_code_ = LaunchedCommand::kSignalBase + *run.signal;
      warn(fmt::format("{} was cut off{}{}", name, cut_off.empty() ? "" : ": ", cut_off));
    } else if (run.exit_code != 0) {
      over_ |= !options_.ignore_failure;
      if (exit_code_ == 0 && !options_.ignore_failure) exit_code_ = run.exit_code;
      warn(fmt::format("{}: exit code {}{}", name, run.exit_code, options_.ignore_failure ? "" : "; no further runs (--ignore-failure goes on)"));
    }
  }

  Result<void> run_shell(const BenchRunOptions& base, const char* option, const std::string& text) {
    if (text.empty()) return {};
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    BenchRunOptions run = base;
    run.command = {"/bin/sh", "-c", text};
    run.show_output = false;
    run.input = nothing.get();
    const MeasuredRun ran = TRY(run_unrecorded(run, user_, signals_));
    if (!ran.signal && ran.exit_code != 0) return make_error(ErrorKind::kInvalid, "{} {}: exit code {}", option, text, ran.exit_code);
    if (ran.signal) note_end(ran, option, "");
    return {};
  }

  // A command that announces nothing is run twice, recorded and then not: its time is that of the run beside which nothing was recorded. The same went
  // before each of those, whatever the order of the commands.
  Result<void> run_once(const BenchRunOptions& base, size_t command, unsigned number) {
    TRY(run_shell(base, "--prepare", options_.prepare));
    if (over_) return {};
    const UniqueFd input = TRY(next_input());
    const auto index = static_cast<uint32_t>(result_.recordings.size());
    const bool alone = options_.runs.value_or(1) == 1 && options_.commands.size() == 1;
    // A directory for each run: clients of two may have the same pid.
    const std::string inside = fmt::format("run-{}", index + 1);
    const std::string clients = alone ? directory_ : directory_ + "/" + inside;
    if (!alone) TRY(rights_.below->make_inside(inside, rights_));
    BenchRunOptions run = base;
    run.command = options_.commands[command];
    run.input = input.get();
    run.environment = runtime_environment(run.command, user_, options_.quiet || index != 0);
    for (std::string variable : {"CODSPEED_ENV=runner", "CODSPEED_RUNNER_MODE=walltime", "PYTHONPERFSUPPORT=1", "PYTHON_PERF_JIT_SUPPORT=1", "PYTHONHASHSEED=0"})
      run.environment.push_back(std::move(variable));
    run.environment.push_back("CODSPEED_PROFILE_FOLDER=" + clients);
    const std::string file = fmt::format("run-{}.cicada", index + 1);
    run.recording = file;
    if (writers_) run.writer = [this] { return writers_->last(); };
    if (!options_.quiet) print_progress(fmt::format("run {}{}: {}", number + 1, options_.runs ? fmt::format(" of {}", *options_.runs) : "", name_of(command)));
    benchmark::ProcessTree tree;
    BenchRunOutcome outcome = TRY(run_recorded(run, user_, fifos_ ? &*fifos_ : nullptr, tree, signals_));
    result_.recordings.push_back({file, joined(run.command), outcome.exit_code});
    const bool plain = outcome.windows.windows.empty();
    note_end(outcome, name_of(command), plain ? "that run does not count" : "benchmarks that had ended count");
    if (outcome.signal) warn(fmt::format("{} has what was recorded until then", file));
    for (const std::string& warning : outcome.warnings) warn(warning);
    tell(outcome);
    if (!plain) add_announced(command, index, outcome, tree, clients);
    std::optional<MeasuredRun> measured;
    if (plain && !runs_once() && !over_) measured = TRY(measure(base, command));
    // Of one that failed the recorded run is all there is; beside times of others it would be another kind of time.
    if (plain && !outcome.signal && (measured ? !measured->signal : runs_once() || number == 0)) add_plain(command, index, outcome, measured ? *measured : outcome);
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

  void add_plain(size_t command, uint32_t index, BenchRunOutcome& outcome, const MeasuredRun& measured) {
    const std::string uri = name_of(command);
    auto known = std::find_if(result_.benchmarks.begin(), result_.benchmarks.end(), [&](const auto& one) { return one.uri == uri; });
    if (known == result_.benchmarks.end()) {
      known = result_.benchmarks.insert(known, benchmark::Benchmark{});
      known->uri = known->name = uri;
      known->source = benchmark::Source::kRuns;
    }
    benchmark::BenchmarkRun run;
    run.recording = index;
    run.times_ns = {measured.wall_ns};
    run.wall_ns = outcome.wall_ns;
    run.resources = measured.resources;
    benchmark::count_samples(outcome.profile, run);
    known->runs.push_back(std::move(run));
    add_samples(*known, outcome.profile);
  }

  void add_announced(size_t command, uint32_t index, BenchRunOutcome& outcome, const benchmark::ProcessTree& tree, const std::string& clients) {
    if (options_.commands.size() > 1)
      for (benchmark::Window& window : outcome.windows.windows) window.uri += in_command(name_of(command));
    ClientFiles files = read_client_files(clients, user_);
    for (const std::string& warning : files.warnings) warn(warning);
    for (const std::string& text : benchmark::replaced_libraries(files.environment, outcome.profile)) warn(text);
    result_.environment.software.merge(files.environment.software);
    result_.environment.libraries.merge(files.environment.libraries);
    benchmark::add_run({index, outcome.windows, files.benchmarks, tree, outcome.profile, outcome.spans}, result_);
    for (const benchmark::Benchmark& one : result_.benchmarks)
      if (!one.runs.empty() && one.runs.back().recording == index) add_samples(one, outcome.profile);
  }

  // Of its last run, to those of all.
  void add_samples(const benchmark::Benchmark& one, const profile::Profile& profile) {
    profile::Profile part = benchmark::extract(profile, one.runs.back(), options_.harness);
    functions_[one.uri].push_back(benchmark::count_functions(part, one.time_of(one.runs.back())));
    const auto [known, first] = profiles_.try_emplace(one.uri);
    if (first) {
      known->second = std::move(part);
    } else if (known->second.table_bytes() + known->second.sample_bytes() < kMaxProfileBytes) {
      profile::merge(known->second, part);
    } else {
      warn(fmt::format("{}: the flame graph shows the first runs only, which fill {} MiB", one.uri, kMaxProfileBytes >> 20));
    }
  }

  Result<void> write() {
    size_t number = 0;
    for (benchmark::Benchmark& one : result_.benchmarks) {
      one.page = fmt::format("flamegraphs/{:04}.html", ++number);
      TRY(write_flame_graph(one.page, rights_, profiles_[one.uri], one.name));
    }
    std::string compared;
    for (const auto& [base, now] : command_pairs()) compared += TRY(compare(*base, *now));
    TRY(write_text("bench.json", rights_, benchmark::to_json(result_)));
    TRY(write_text("index.html", rights_, index_page(result_, joined(options_.commands[0]))));
    if (!options_.quiet) print_message(format_bench_table(result_, ::isatty(STDERR_FILENO) != 0 ? std::optional<size_t>(terminal_columns()) : std::nullopt) + compared);
    if (!options_.quiet) print_message(fmt::format("results in {}/index.html\n", directory_));
    return {};
  }

  // 'A' 'B': each benchmark, or each command, with that of the first command.
  std::vector<std::pair<const benchmark::Benchmark*, const benchmark::Benchmark*>> command_pairs() const {
    std::vector<std::pair<const benchmark::Benchmark*, const benchmark::Benchmark*>> pairs;
    const std::string first = name_of(0);
    for (const benchmark::Benchmark& base : result_.benchmarks) {
      if (base.uri != first && !base.uri.ends_with(in_command(first))) continue;
      for (size_t command = 1; command < options_.commands.size(); ++command) {
        const std::string other = name_of(command);
        const std::string uri = base.uri == first ? other : base.uri.substr(0, base.uri.size() - in_command(first).size()) + in_command(other);
        const auto now = std::find_if(result_.benchmarks.begin(), result_.benchmarks.end(), [&](const auto& one) { return one.uri == uri; });
        if (now != result_.benchmarks.end() && &*now != &base) pairs.emplace_back(&base, &*now);
      }
    }
    return pairs;
  }

  // As text.
  Result<std::string> compare(const benchmark::Benchmark& base, const benchmark::Benchmark& now) {
    const benchmark::ComparisonOptions how = comparing();
    const benchmark::Comparison comparison = benchmark::compare(base, now, how);
    slower_ |= comparison.time.verdict == benchmark::Verdict::kSlower;
    untold_ |= comparison.time.verdict == benchmark::Verdict::kCannotTell;
    const std::string page = fmt::format("flamegraphs/difference-{}.html", &now - result_.benchmarks.data() + 1);
    TRY(write_difference(page, rights_, profiles_[base.uri], profiles_[now.uri], fmt::format("{} compared with {}", now.uri, base.uri)));
    const auto reasons = benchmark::find_reasons(functions_[base.uri], functions_[now.uri], comparison);
    result_.comparisons.push_back({base.uri, now.uri, verdict_text(comparison, how.threshold), comparison.time.ratio, page});
    TableNames names;
    for (const std::string& uri : {base.uri, now.uri}) names.shorten(profiles_[uri]);
    return format_comparison(now.uri + " ÷ " + base.uri, comparison, how.threshold, reason_texts(reasons, names)) + fmt::format("  difference in {}/{}\n", directory_, page);
  }

  const std::string& name_of(size_t command) const { return options_.names[command]; }
  static std::string absolute_path(const std::string& path) {
    std::error_code error;
    const std::string absolute = std::filesystem::absolute(path, error);
    return error ? path : absolute;
  }
  static std::string in_command(const std::string& command) { return fmt::format(" ({})", command); }

  const BenchOptions& options_;
  const InvokingUser user_;
  std::optional<benchmark::FifoPair> fifos_;  // nothing: another runner has them
  std::unique_ptr<bpf_source::FifoWriters> writers_;
  StopSignals signals_;
  const sink::FileRights rights_;  // below the directory of the results
  const std::string directory_;    // its path, for clients and people
  benchmark::BenchResult result_;
  std::map<std::string, profile::Profile> profiles_;  // by URI
  std::map<std::string, std::vector<benchmark::FunctionSamples>> functions_;  // of each run
  std::map<std::string, unsigned> told_at_;  // runs, by URI of what is compared
  UniqueFd input_;  // a regular file; none: each run has nothing to read, or what we have
  Clock::time_point begun_;
  bool over_ = false, slower_ = false, untold_ = false;
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
