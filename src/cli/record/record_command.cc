// SPDX-License-Identifier: Apache-2.0
#include "cli/record/record_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/exit_code.h"
#include "cli/help_formatter.h"
#include "cli/input/report_input.h"
#include "cli/record/record.h"
#include "cli/terminal.h"
#include "sink/sink_registry.h"

namespace cicada::cli {
namespace {

std::string footer(std::string_view name) {
  std::string text = "Output formats, by extension:\n";
  for (const sink::Format& format : sink::known_formats())
    text += fmt::format("  {:<18} {}\n", format.extension, format.description);
  text += "  -                  folded stacks on standard output\n";
  const auto example = [&](std::string_view arguments, std::string_view what) {
    text += fmt::format("  {:<50}{}\n", fmt::format("sudo cicada {} {}", name, arguments), what);
  };
  text += "\nExamples:\n";
  example("./program --its-options", "a command, to its end");
  example("-p nginx -d 10 -o nginx.svg", "a running program");
  example("-a -d 5 -o - | less", "the machine, as text");
  example("-a -d 5 --open", "the same in the browser");
  text +=
      "\nCtrl-C ends a recording and still writes the results. Exit code: the command's own; 125 when cicada "
      "failed, 126 when the command cannot be run, 127 when it was not found.";
  return text;
}

void add_what(CLI::App& record, RawRecordOptions& raw) {
  record.add_option("-p,--process", raw.processes, "processes, and what they start from now on: pids or names, separated by commas (default: none)")
      ->type_name("PID|NAME,…")
      ->group("What to record");
  record.add_option("-t,--thread", raw.threads, "threads (ps -eLo pid,tid,comm), separated by commas (default: none)")
      ->type_name("TID,…")
      ->group("What to record");
  record.add_flag("-a,--all", raw.whole_machine, "the whole machine")->group("What to record");
  record.add_option("--cpu", raw.cpus, "only these CPUs, like 0-3,8; off-cpu: waits that end there (default: all)")->type_name("LIST")->group("What to record");
  record.add_flag("--children", raw.children, "with -p: processes that they have started already, too")->group("What to record");
  record.add_option("--user,--uid", raw.asked.users, "of these only the tasks of these users, names or numbers (default: all); without another target of the whole machine")->type_name("USER,…")->group("What to record");
  record.add_option("--comm", raw.asked.processes, "only processes with these names, which 15 letters are compared of; 'java*': that begin so (default: all)")->type_name("NAME,…")->group("What to record");
  record.add_option("--thread-name", raw.asked.threads, "only threads with these names (default: all)")->type_name("NAME,…")->group("What to record");
  record.add_option("--cgroup", raw.asked.cgroups, "only tasks of these control groups and those below them, paths or ids of containers (default: all)")->type_name("PATH|ID,…")->group("What to record");
  record.add_flag("--as-root", raw.as_root, "run the command as root, not as the user who called sudo")
      ->group("What to record");
}

void add_how(CLI::App& record, RawRecordOptions& raw) {
  record.add_option("-e,--event", raw.events, "what to sample: cpu-clock, off-cpu (where threads wait; off-cpu/period=1/ keeps each wait), wakeups (who ended them, as --wakers), page-faults/period=1/, cycles/freq=199/, u:libc:malloc (each call of a function of a program; ur: return, k: function of the kernel), usdt:libstdc++:libstdcxx:throw (a USDT probe), sched:sched_switch (a tracepoint: each time the kernel passes it), …; may be repeated (default: cycles, where the machine cannot count them cpu-clock; of offcpu: off-cpu; its period is that of -F, at 99 Hz 10.1 ms)")
      ->type_name("EVENT")
      ->allow_extra_args(false)
      ->group("How");
  CLI::Option* frequency = record.add_option("-F,--frequency", raw.frequency, "samples a second on each CPU; off-cpu: waits as long as a period of it are all kept")
                               ->type_name("HZ")
                               ->capture_default_str()
                               ->group("How");
  record.add_option("-c,--period", raw.period, "a sample every so many events (ns for cpu-clock) instead of -F (default: -F decides)")
      ->type_name("N")
      ->excludes(frequency)
      ->group("How");
  record.add_option("--min-wait", raw.min_wait, "off-cpu: waits at least that long: 100us, 1ms (default: 0)")->type_name("TIME")->group("How");
  record.add_option("--max-wait", raw.max_wait, "off-cpu: waits at most that long (default: any)")->type_name("TIME")->group("How");
  record.add_flag("--wakers{1}", raw.wakers, "off-cpu: who woke the threads, too; pictures show it behind what was waited in. --wakers=N: and who woke that one, if it had waited, N wakers in all")->check(CLI::Range(1U, kMostWakers))->take_last()->group("How");
  record.add_flag("--kernel-threads", raw.kernel_threads, "off-cpu: the kernel's threads, too")->group("How");
  record.add_option("-d,--duration", raw.duration, "stop after this time: 10, 500ms, 2m (default: when what is recorded ends, or at Ctrl-C)")
      ->type_name("TIME")
      ->group("How");
  record.add_option("--last", raw.last, "keep only what was sampled in the last so much of the time: 30s, 5m; record until it happens, then Ctrl-C (default: everything)")
      ->type_name("TIME")
      ->group("How");
  record.add_option("--unwind", raw.unwind, "auto: unwind tables, frame pointers where there are none; fp: frame pointers; table: unwind tables")
      ->type_name("MODE")
      ->capture_default_str()
      ->group("How");
  CLI::Option* kernel = record.add_flag("--kernel", raw.kernel, "kernel frames, too: the default")->group("How");
  record.add_flag("--no-kernel", raw.no_kernel, "user frames only")->excludes(kernel)->group("How");
  record.add_flag("--no-stacks", raw.no_stacks, "only count: who, how often, by what; pictures show processes")->excludes(kernel)->group("How");
  record.add_flag("--include-idle", raw.include_idle, "draw idle CPUs, too; they are always counted")->group("How");
  record.add_option("--max-map-memory", raw.max_map_memory, "at most this much for unwind tables in the kernel")
      ->type_name("SIZE")
      ->capture_default_str()
      ->group("How");
}

void add_names(CLI::App& record, RawRecordOptions& raw) {
  CLI::Option* inlines =
      record.add_flag("--inline", raw.inlines, "show inlined functions, where debug information is at hand: the default")
          ->group("Names");
  record.add_flag("--no-inline", raw.no_inlines, "leave inlined functions out")->excludes(inlines)->group("Names");
  CLI::Option* lines =
      record.add_flag("--lines", raw.lines, "look up source lines (default: where an output has a place for them)")
          ->group("Names");
  record.add_flag("--no-lines", raw.no_lines, "do not look up source lines")->excludes(lines)->group("Names");
  record.add_option("--demangle", raw.demangle, "names as full, short (without parameters and template arguments) or none (as the linker knows them); a recording keeps all of them")
      ->type_name("HOW")
      ->capture_default_str()
      ->group("Names");
  record.add_option("--clones", raw.clones, "fold: f.cold, f.part.0, f.constprop.0 are shown as f; show: as they are")
      ->type_name("HOW")
      ->capture_default_str()
      ->group("Names");
  record.add_flag("--no-jit-options", raw.no_jit_options, "do not tell Python and Node.js, by environment variables, to write the names of their code")
      ->group("Names");
  record.add_flag("--debuginfod", raw.debuginfod, "ask servers for missing debug files: the default if DEBUGINFOD_URLS names some")
      ->group("Names");
  record
      .add_option("--by,--group-by", raw.group_by, "root frames: program, process, thread, cpu, user, state, group, cgroup, image; several with commas (default: none)")
      ->type_name("LIST")
      ->group("Names");
}

void add_where(CLI::App& record, RawRecordOptions& raw) {
  record.add_option("-o,--output", raw.outputs, "where to write, formats below; may be repeated (default: cicada.cicada, or cicada.2.cicada and so on)")
      ->type_name("FILE")
      ->group("Results");
  record.add_flag("--with-arguments", raw.with_arguments, "keep the arguments of commands, secrets masked; without, only the programs")->group("Results");
  record.add_flag("--force", raw.force, "replace a recording that is there already")->group("Results");
  record.add_flag("--attachable", raw.attachable, "others of yours may look at it meanwhile: cicada report --attach PID, cicada convert --attach PID OUT")->group("Results");
  record.add_flag("--stats", raw.stats, "every counter at the end")->group("Results");
  record.add_flag("-q,--quiet", raw.quiet, "errors only")->group("Results");
  record.add_flag("-v,--verbose", raw.verbose, "say what is opened, loaded, attached and looked up")->group("Results");
}

int run(RawRecordOptions raw, const Invocation& invocation) {
  raw.command = invocation.after_dashes;
  Result<RecordOptions> options = check_record_options(raw);
  if (!options) {
    print_error(options.error().message());
    return kExitFailure;
  }
  options->command_line = invocation.command_line;
  show_diagnostics(options->verbosity != Verbosity::kQuiet, options->verbosity == Verbosity::kVerbose);
  return run_record(*options);
}

// The event first, unless it was asked for; by state, unless grouped otherwise.
RawRecordOptions with_event(std::string_view event, RawRecordOptions raw) {
  if (std::none_of(raw.events.begin(), raw.events.end(), [&](const std::string& text) { return text.find(event) != std::string::npos; })) raw.events.insert(raw.events.begin(), std::string(event));
  if (raw.group_by.empty()) raw.group_by = {"state"};
  return raw;
}

// `record`, or it by another name and with that event.
Command add_recording_command(CLI::App& app, const char* name, const char* description, const char* event = nullptr) {
  auto raw = std::make_shared<RawRecordOptions>();
  CLI::App* record = app.add_subcommand(name, description);
  record->formatter(std::make_shared<HelpFormatter>(fmt::format("cicada {} [OPTIONS] ([--] CMD… | -p PID|NAME,… | -t TID | -a)", name)));
  record->footer(footer(name));
  add_record_options(*record, *raw);
  record->add_flag("--open", raw->open, "show the result in the browser")->group("Results");
  // Options that may be repeated take one word each time: "-o a.svg -o b.html", never the next word by accident.
  for (CLI::Option* option : record->get_options()) option->allow_extra_args(false);
  return {record, [raw, event](const Invocation& invocation) { return run(event == nullptr ? *raw : with_event(event, *raw), invocation); }, true};
}

}  // namespace

void add_record_options(CLI::App& command, RawRecordOptions& raw) {
  add_what(command, raw);
  add_how(command, raw);
  add_names(command, raw);
  add_where(command, raw);
}

Command add_record_command(CLI::App& app) {
  return add_recording_command(app, "record", "find out where the time goes; write a recording or a picture");
}

Command add_offcpu_command(CLI::App& app) {
  return add_recording_command(app, "offcpu", "find out where threads wait, and for what: record -e off-cpu --by state", "off-cpu");
}

}  // namespace cicada::cli
