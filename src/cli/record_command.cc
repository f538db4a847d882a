// SPDX-License-Identifier: Apache-2.0
#include "cli/record_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/exit_code.h"
#include "cli/help_formatter.h"
#include "cli/record.h"
#include "cli/terminal.h"
#include "sink/sink_registry.h"

namespace cicada::cli {
namespace {

std::string footer() {
  std::string text = "Output formats, by extension:\n";
  for (const sink::Format& format : sink::known_formats())
    text += fmt::format("  {:<18} {}\n", format.extension, format.description);
  text += "  -                  folded stacks on standard output\n";
  text +=
      "\nExamples:\n"
      "  sudo cicada record ./program --its-options        a command, to its end\n"
      "  sudo cicada record -p nginx -d 10 -o nginx.svg    a running program\n"
      "  sudo cicada record -a -d 5 -o - | less            the machine, as text\n"
      "  sudo cicada record -a -d 5 --open                 the same in the browser\n"
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
  record.add_option("--cpu", raw.cpus, "only these CPUs, like 0-3,8 (default: all)")->type_name("LIST")->group("What to record");
  record.add_flag("--as-root", raw.as_root, "run the command as root, not as the user who called sudo")
      ->group("What to record");
}

void add_how(CLI::App& record, RawRecordOptions& raw) {
  record.add_option("-e,--event", raw.events, "what to sample: cpu-clock, page-faults/period=1/, context-switches, cycles/freq=199/, …; may be repeated (default: cycles, where the machine cannot count them cpu-clock)")
      ->type_name("EVENT")
      ->allow_extra_args(false)
      ->group("How");
  CLI::Option* frequency = record.add_option("-F,--frequency", raw.frequency, "samples a second on each CPU")
                               ->type_name("HZ")
                               ->capture_default_str()
                               ->group("How");
  record.add_option("-c,--period", raw.period, "a sample every so many events (ns for cpu-clock) instead of -F (default: -F decides)")
      ->type_name("N")
      ->excludes(frequency)
      ->group("How");
  record.add_option("-d,--duration", raw.duration, "stop after this time: 10, 500ms, 2m (default: when what is recorded ends, or at Ctrl-C)")
      ->type_name("TIME")
      ->group("How");
  record.add_option("--unwind", raw.unwind, "auto: unwind tables, frame pointers where there are none; fp: frame pointers; table: unwind tables")
      ->type_name("MODE")
      ->capture_default_str()
      ->group("How");
  CLI::Option* kernel = record.add_flag("--kernel", raw.kernel, "kernel frames, too: the default")->group("How");
  record.add_flag("--no-kernel", raw.no_kernel, "user frames only")->excludes(kernel)->group("How");
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
      .add_option("--by,--group-by", raw.group_by, "root frames: program, process, thread, cpu, user, cgroup, image; several with commas (default: none)")
      ->type_name("LIST")
      ->group("Names");
}

void add_where(CLI::App& record, RawRecordOptions& raw) {
  record.add_option("-o,--output", raw.outputs, "where to write, formats below; may be repeated (default: cicada.cicada, or cicada.2.cicada and so on)")
      ->type_name("FILE")
      ->group("Results");
  record.add_flag("--with-arguments", raw.with_arguments, "keep the arguments of commands, secrets masked; without, only the programs")->group("Results");
  record.add_flag("--force", raw.force, "replace a recording that is there already")->group("Results");
  record.add_flag("--open", raw.open, "show the result in the browser")->group("Results");
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

}  // namespace

Command add_record_command(CLI::App& app) {
  auto raw = std::make_shared<RawRecordOptions>();
  CLI::App* record = app.add_subcommand("record", "find out where the time goes; write a recording or a picture");
  record->formatter(std::make_shared<HelpFormatter>("cicada record [OPTIONS] ([--] CMD… | -p PID|NAME,… | -t TID | -a)"));
  record->footer(footer());
  add_what(*record, *raw);
  add_how(*record, *raw);
  add_names(*record, *raw);
  add_where(*record, *raw);
  // Options that may be repeated take one word each time: "-o a.svg -o b.html", never the next word by accident.
  for (CLI::Option* option : record->get_options()) option->allow_extra_args(false);
  return {record, [raw](const Invocation& invocation) { return run(*raw, invocation); }, true};
}

}  // namespace cicada::cli
