// SPDX-License-Identifier: Apache-2.0
// An agent in a hundred lines: profiles the machine and says every ten seconds which code ran on whose behalf. "Whose" is the value
// of one environment variable of the process, such as the JOB_ID that a batch system sets.
//
//   sudo agent [-i SECONDS] [-n TABLES] VARIABLE
//
//    share  JOB_ID                function
//   61.3 %  nightly-4711          deflate_slow
//
// It shows how the engine is embedded: a source, engine::Session and its snapshots. What it keeps between two tables is a count per (tag,
// leaf frame); samples are kept for some seconds by the engine, so memory grows with the code that runs, not with time.
#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/diagnostics.h"
#include "bpf_source/bpf_source.h"
#include "engine/session.h"

namespace {

using namespace cicada;

constexpr uint64_t kNsPerTick = 10'000'000;
constexpr size_t kRows = 20;

class TagTable {
 public:
  TagTable(engine::Session& session, std::string variable) : session_(session), variable_(std::move(variable)) {}

  // Counts what is new. Once a second: whoever exited is remembered for one more.
  void take_samples(const profile::ProfileSnapshot& profile) {
    const uint64_t dropped = profile.samples().dropped();
    for (size_t i = static_cast<size_t>(std::max(counted_, dropped) - dropped); i < profile.sample_count(); ++i) {
      const profile::Sample sample = profile.sample(i);
      if (!sample.stack.valid() || sample.idle) continue;
      const profile::FrameId leaf = profile.stacks()[sample.stack.value].frame;
      counts_[{tag_of(profile, profile.threads()[sample.thread.value].process), leaf.value}] += sample.value;
      total_ += sample.value;
    }
    counted_ = profile.sizes().samples;
  }

  void print() {
    session_.symbolize();
    std::map<std::pair<std::string, std::string>, uint64_t> by_name;
    for (const auto& [key, count] : counts_) by_name[{key.first, name_of(profile::FrameId{key.second})}] += count;
    std::vector<std::pair<std::pair<std::string, std::string>, uint64_t>> rows(by_name.begin(), by_name.end());
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    rows.resize(std::min(rows.size(), kRows));
    fmt::print("{:>8}  {:<20}  function ({} samples)\n", "share", variable_, total_);
    for (const auto& [key, count] : rows) {
      fmt::print("{:6.1f} %  {:<20}  {}\n", 100.0 * static_cast<double>(count) / static_cast<double>(total_), key.first, key.second);
    }
    fmt::print("\n");
    ::fflush(stdout);
    counts_.clear();
    total_ = 0;
  }

 private:
  const std::string& tag_of(const profile::ProfileSnapshot& profile, profile::ProcessId id) {
    const auto [at, added] = tags_.try_emplace(id.value, "-");
    const profile::Process& process = profile.processes()[id.value];
    if (at->second == "-") at->second = session_.metadata().environ_var({process.pid, process.start_ns / kNsPerTick}, variable_).value_or("-");
    return at->second;
  }
  std::string name_of(profile::FrameId frame) const {
    const profile::ProfileSnapshot& profile = session_.profile();
    const auto locations = profile.locations(frame);
    return locations.empty() ? "[unknown]" : std::string(profile.text(profile.functions()[locations[0].function.value].name));
  }

  engine::Session& session_;
  std::string variable_;
  std::map<uint32_t, std::string> tags_;  // by process of the profile
  std::map<std::pair<std::string, uint32_t>, uint64_t> counts_;
  uint64_t total_ = 0, counted_ = 0;
};

Result<void> run(const std::string& variable, uint64_t interval_ns, int tables, int stop_fd) {
  bpf_source::SamplingConfig sampling;
  sampling.read_environments = true;
  engine::SessionConfig config;
  config.retention.keep_ns = 5'000'000'000;
  config.names = {.inlines = false, .lines = false, .demangle = symbolize::Demangle::kShort};
  engine::Session session(TRY(bpf_source::BpfSource::open(sampling)), config);
  TRY(session.start());
  TagTable table(session, variable);
  bool stopped = false;
  engine::StopRule rule;
  rule.duration_ns = interval_ns;
  rule.stop_fds = {stop_fd};
  rule.each_second = [&](const profile::ProfileSnapshot& profile) { return table.take_samples(profile), false; };
  for (int i = 0; !stopped && (tables == 0 || i < tables); ++i) {
    TRY(session.run(rule));
    table.take_samples(session.profile());
    table.print();
    signalfd_siginfo signal{};
    stopped = ::read(stop_fd, &signal, sizeof signal) > 0;
  }
  return session.stop();
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 10;
  int tables = 0, option = 0;
  while ((option = ::getopt(argc, argv, "i:n:")) != -1) {
    if (option == 'i') seconds = std::atof(optarg);
    if (option == 'n') tables = std::atoi(optarg);
    if (option == '?') return 2;
  }
  if (optind + 1 != argc || seconds <= 0 || tables < 0) {
    fmt::print(stderr, "usage: agent [-i SECONDS] [-n TABLES] VARIABLE\n");
    return 2;
  }
  diagnostics().set_handler([](Severity, const std::string& line) { fmt::print(stderr, "agent: {}\n", line); });
  sigset_t signals;  // before any thread is started
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  const UniqueFd stop_fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  const Result<void> ran = run(argv[optind], static_cast<uint64_t>(seconds * 1e9), tables, stop_fd.get());
  if (!ran) fmt::print(stderr, "agent: {}\n", ran.error().message());
  return ran ? 0 : 1;
}
