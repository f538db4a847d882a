// SPDX-License-Identifier: Apache-2.0
// An agent in a hundred lines: profiles the machine and says every ten seconds which code ran on whose behalf. "Whose" is the value
// of one environment variable of the process, such as the JOB_ID that a batch system sets.
//
//   sudo agent [-v] [-i SECONDS] [-n TABLES] VARIABLE      -v: what the engine did, at the end
//
//    share  JOB_ID                function
//   61.3 %  nightly-4711          deflate_slow
//
// It shows how a recorder is embedded: recorder::open() and the session's snapshots. Samples are kept until the next table, and so is what they
// refer to, both by the engine: memory grows neither with time nor with code that came and went.
#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/diagnostics.h"
#include "recorder/recorder.h"

namespace {

using namespace cicada;

constexpr uint64_t kNsPerTick = 10'000'000;
constexpr size_t kRows = 20;

class TagTable {
 public:
  TagTable(engine::Session& session, std::string variable) : session_(session), variable_(std::move(variable)) {}

  // Asks on whose behalf the processes of new samples ran. Once a second: whoever exited is remembered for one more.
  void look_up_tags(const profile::ProfileSnapshot& profile) {
    const uint64_t dropped = profile.samples().dropped();
    for (size_t i = static_cast<size_t>(std::max(seen_, dropped) - dropped); i < profile.sample_count(); ++i) tag_of(profile, i);
    seen_ = profile.sizes().samples;
  }

  // What was sampled since the last table.
  void print() {
    session_.symbolize();
    const engine::Session::Taken taken = session_.take();
    const profile::ProfileSnapshot& profile = *taken.profile;
    look_up_tags(profile);
    std::map<std::pair<std::string, std::string>, uint64_t> values;
    uint64_t total = 0;
    for (size_t i = taken.first; i < profile.sample_count(); ++i) {
      const profile::Sample sample = profile.sample(i);
      if (!sample.stack.valid() || sample.idle) continue;
      const auto locations = profile.locations(profile.stacks()[sample.stack.value].frame);
      const std::string_view name = locations.empty() ? "[unknown]" : profile.text(profile.functions()[locations[0].function.value].name);
      values[{tag_of(profile, i), std::string(name)}] += sample.value;
      total += sample.value;
    }
    tags_.clear();
    std::vector<std::pair<std::pair<std::string, std::string>, uint64_t>> rows(values.begin(), values.end());
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    rows.resize(std::min(rows.size(), kRows));
    fmt::print("{:>8}  {:<20}  function ({} samples)\n", "share", variable_, total);
    for (const auto& [key, value] : rows) {
      fmt::print("{:6.1f} %  {:<20}  {}\n", 100.0 * static_cast<double>(value) / static_cast<double>(total), key.first, key.second);
    }
    fmt::print("\n");
    ::fflush(stdout);
  }

 private:
  const std::string& tag_of(const profile::ProfileSnapshot& profile, size_t row) {
    const profile::Process& process = profile.processes()[profile.threads()[profile.samples().thread[row].value].process.value];
    std::string& tag = tags_.try_emplace({process.pid, process.start_ns}, "-").first->second;
    if (tag == "-") tag = session_.metadata().environ_var({process.pid, process.start_ns / kNsPerTick}, variable_).value_or("-");
    return tag;
  }

  engine::Session& session_;
  std::string variable_;
  std::map<std::pair<Pid, uint64_t>, std::string> tags_;  // of the processes since the last table, by pid and start: ids change in a compaction
  uint64_t seen_ = 0;                                     // number of the first sample whose tag was not looked up
};

Result<void> run(const std::string& variable, uint64_t interval_ns, int tables, bool verbose, int stop_fd) {
  const recorder::Readers readers = TRY(recorder::Readers::start());
  recorder::RecorderConfig config;
  config.sampling.read_environments = true;
  config.session.retention.keep_ns = interval_ns + 5'000'000'000;
  config.session.names = {.inlines = false, .lines = false, .demangle = symbolize::Demangle::kShort};
  const auto opened = TRY(recorder::open(readers, std::move(config)));
  engine::Session& session = *opened;
  TRY(session.start());
  TagTable table(session, variable);
  bool stopped = false;
  engine::StopRule rule;
  rule.duration_ns = interval_ns;
  rule.stop_fds = {stop_fd};
  rule.each_second = [&](const profile::ProfileSnapshot& profile) { return table.look_up_tags(profile), false; };
  for (int i = 0; !stopped && (tables == 0 || i < tables); ++i) {
    TRY(session.run(rule));
    table.print();
    signalfd_siginfo signal{};
    stopped = ::read(stop_fd, &signal, sizeof signal) > 0;
  }
  const Result<void> ended = session.stop();
  if (verbose) {
    for (const std::string& line : session.statistics()) fmt::print(stderr, "agent: {}\n", line);
    for (const profile::Count& count : session.snapshot()->header.events[0].counts) fmt::print(stderr, "agent: {} samples: {}\n", count.value, count.name);
  }
  return ended;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = recorder::serve_as_reader(argc, argv)) return *code;
  double seconds = 10;
  int tables = 0, option = 0;
  bool verbose = false;
  while ((option = ::getopt(argc, argv, "vi:n:")) != -1) {
    if (option == 'v') verbose = true;
    if (option == 'i') seconds = std::atof(optarg);
    if (option == 'n') tables = std::atoi(optarg);
    if (option == '?') return 2;
  }
  if (optind + 1 != argc || seconds <= 0 || tables < 0) {
    fmt::print(stderr, "usage: agent [-v] [-i SECONDS] [-n TABLES] VARIABLE\n");
    return 2;
  }
  diagnostics().set_handler([](Severity, const std::string& line) { fmt::print(stderr, "agent: {}\n", line); });
  sigset_t signals;  // before any thread is started
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  const UniqueFd stop_fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  const Result<void> ran = run(argv[optind], static_cast<uint64_t>(seconds * 1e9), tables, verbose, stop_fd.get());
  if (!ran) fmt::print(stderr, "agent: {}\n", ran.error().message());
  return ran ? 0 : 1;
}
