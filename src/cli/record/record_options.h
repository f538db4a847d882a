// SPDX-License-Identifier: Apache-2.0
// Everything `cicada record` was asked to do, checked: a plain struct that knows neither the parser nor the session.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "abi/settings.h"
#include "base/process_key.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "bpf_source/perf_events.h"
#include "cli/record/asked_tasks.h"
#include "engine/retention.h"
#include "profile/call_tree.h"
#include "symbolize/symbolizer.h"

namespace cicada::cli {

// Exactly one kind of target is set.
struct RecordTarget {
  bool whole_machine = false;        // -a
  std::vector<Pid> pids;             // -p, names already resolved; each existed when the options were checked
  std::string named;                 // -p, as typed: what people know it by
  std::vector<Tid> tids;             // -t
  std::vector<std::string> command;  // after --: argv, held until sampling runs
  asked_tasks asked{};               // of these only …
  std::string asked_for;             // … in words; empty: all
};

enum class Verbosity : uint8_t { kQuiet, kNormal, kVerbose };

struct RawRecordOptions;

struct RecordOptions {
  RecordTarget target;

  bpf_source::PerfEventOptions events;  // -e, -F, -c, --cpu
  uint64_t min_wait_ns = 0, max_wait_ns = ~uint64_t{0};  // off-cpu: others are left out
  bool kernel_threads = false;                            // off-cpu: theirs, too
  unsigned wakers = 0;                                    // off-cpu: how many of them pictures follow, one behind the other
  std::optional<uint64_t> duration_ns;  // -d; none: until the command ends or Ctrl-C

  // --- what is kept
  bool kernel_frames = true, stacks = true;
  bool include_idle = false;
  unwind_mode unwind = UNWIND_AUTO;
  uint64_t max_map_memory_bytes = uint64_t{64} << 20;
  engine::Retention retention;  // --last

  // --- names
  std::optional<bool> inlines;  // none: where debug information is at hand
  std::optional<bool> lines;    // none: where the format has a place for them
  symbolize::Demangle demangle = symbolize::Demangle::kFull;
  bool fold_clones = true;  // "f.cold" and "f.part.0" are shown as "f"
  bool debuginfod = false;
  std::vector<profile::GroupBy> group_by;  // outermost first

  // --- where it goes
  std::vector<std::string> outputs;  // as given; "-": folded stacks on standard output
  bool force = false;                // they may replace recordings
  std::optional<std::string> open;   // the output to show in a browser
  Verbosity verbosity = Verbosity::kNormal;
  bool stats = false;
  bool attachable = false;  // others may look at it meanwhile
  std::shared_ptr<UniqueFd> viewer = {};  // serve, top: who shows it. Then there may be no outputs, and what was recorded is shown until the viewer or Ctrl-C ends that
  std::shared_ptr<UniqueFd> viewer_process = {};  // and its process, a child: when that ends, the recording does
  bool summary = true;        // at the end; false: of outputs only
  std::string end_note = {};  // what is said when the recording has ended and is still shown
  std::shared_ptr<UniqueFd> command_terminal = {};  // top: where the command writes to and reads from, and the terminal that controls it
  std::shared_ptr<const RawRecordOptions> changeable = {};  // serve, top: viewers may ask for other events and processes than these
  bool as_root = false;  // run the command as root even under sudo
  bool jit_options = true;  // tell it to write the names of its JIT code
  bool with_arguments = false;  // of commands, in the recording

  std::vector<std::string> command_line;  // cicada's own, for the profile's header
};

// What the command line said, before anything was looked up on this machine.
struct RawRecordOptions {
  std::vector<std::string> processes;  // -p, comma lists allowed: pids or names
  std::vector<std::string> threads;    // -t
  bool children = false;               // with -p: those they have started already, too
  bool whole_machine = false;
  RawAskedTasks asked;
  std::vector<std::string> command;
  std::vector<std::string> events;     // -e
  unsigned wakers = 0;                 // --wakers
  std::string frequency = "99", period, duration, max_map_memory = "64M", last, min_wait, max_wait;
  std::vector<std::string> cpus, outputs, group_by;
  std::string unwind = "auto", demangle = "full", clones = "fold";
  bool kernel = false, no_kernel = false, no_stacks = false, include_idle = false, kernel_threads = false, as_root = false, stats = false, with_arguments = false,
       no_jit_options = false, attachable = false, shown = false;  // shown: by serve, top
  bool inlines = false, no_inlines = false, lines = false, no_lines = false, debuginfod = false;
  bool open = false, force = false, quiet = false, verbose = false;
};

// Fails (kInvalid, kNotFound, kGone, kPermission) with one line that names the option's object and the remedy.
Result<RecordOptions> check_record_options(const RawRecordOptions& raw);

}  // namespace cicada::cli
