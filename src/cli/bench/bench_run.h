// SPDX-License-Identifier: Apache-2.0
// One run of a command under `cicada bench`: launched, served if it announces benchmarks, recorded, measured.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "benchmark/fifo_pair.h"
#include "benchmark/process_tree.h"
#include "benchmark/protocol_server.h"
#include "bpf_source/perf_events.h"
#include "cli/invoking_user.h"
#include "cli/stop_signals.h"
#include "profile/profile.h"
#include "recorder/recorder.h"
#include "sink/output_file.h"

namespace cicada::cli {

struct BenchRunOptions {
  std::vector<std::string> command;
  std::vector<std::string> environment;  // beside the user's
  std::string recording;                 // .cicada to write, with these rights
  sink::FileRights rights;
  bpf_source::PerfEventOptions events;
  std::vector<int> command_cpus, own_cpus;  // --isolate; empty: any
  bool show_output = true;
  int input = -1;                            // to be the command's standard input; -1: ours
  std::optional<recorder::Readers> readers;  // for run_recorded
  bool keep_privileges = false;              // likewise
  std::function<uint64_t()> writer;          // likewise: benchmark::ServerHost's
};

// What a command was measured by.
struct MeasuredRun {
  int exit_code = 0;
  std::optional<int> signal;  // that cut it off
  double wall_ns = 0;         // from exec to exit
  std::map<std::string, double> resources;  // user_ns, system_ns, peak_bytes, page_faults, context_switches, and what the CPU counts
};

struct BenchRunOutcome : MeasuredRun {
  profile::Profile profile;  // with names
  benchmark::Windows windows;
  std::vector<benchmark::Span> spans;  // in which it was sampled, if a client spoke
  bool announced = false;    // a client spoke
  benchmark::ServerCounts counts;
  std::string integration;
  std::vector<std::string> warnings;
};

// This thread, and what it starts. Of none: as it is.
Result<void> run_on(const std::vector<int>& cpus);
// A run that is not recorded, and so not slowed down by it. Fails as LaunchedCommand.
Result<MeasuredRun> run_unrecorded(const BenchRunOptions& options, const InvokingUser& user, StopSignals& signals);
// `fifos` null: clients are not served. Fails: as LaunchedCommand and BpfSource; the recording that cannot be written. Threads: none may run.
Result<BenchRunOutcome> run_recorded(const BenchRunOptions& options, const InvokingUser& user, benchmark::FifoPair* fifos, benchmark::ProcessTree& tree,
                                     StopSignals& signals);

}  // namespace cicada::cli
