// SPDX-License-Identifier: Apache-2.0
#include "cli/report/report_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/clean_text.h"
#include "cli/exit_code.h"
#include "cli/help_formatter.h"
#include "cli/input/reader.h"
#include "cli/input/report_input.h"
#include "cli/report/report_annotate.h"
#include "cli/report/report_functions.h"
#include "cli/report/report_json.h"
#include "cli/report/report_states.h"
#include "cli/report/report_text.h"
#include "cli/report/report_wakers.h"
#include "cli/report/run_queue_table.h"
#include "cli/terminal.h"
#include "profile/cpu_time.h"
#include "profile/stack_totals.h"
#include "sink/output_file.h"
#include "symbolize/jit/jit_advice.h"
#include "symbolize/shown_names.h"

namespace cicada::cli {
namespace {

struct ReportOptions {
  std::string event, file, attach, callers, callees, annotate, demangle;
  std::vector<std::string> by, filters;
  ReportLimits limits = {};
  bool instructions = false, no_kernel = false, no_inlines = false, include_idle = false, json = false, tui = false, states = false, wakers = false;
};

profile::CallTreeOptions tree_options(const ReportOptions& options, const profile::ProfileSnapshot& profile) {
  profile::CallTreeOptions tree;
  tree.expand_inlined = !options.no_inlines;
  tree.kernel_frames = !options.no_kernel;
  tree.include_idle = options.include_idle;
  tree.event = profile::main_event(profile);
  return tree;
}

// Of an event whose hits are grouped by a number: what each group has. Empty: they are not.
std::string format_own_groups(const ReportOptions& options, const profile::ProfileSnapshot& profile, profile::CallTreeOptions how) {
  const auto has_group = [&](profile::LabelSetId set) {
    const auto labels = profile.labels(set);
    return std::any_of(labels.begin(), labels.end(), [&](const profile::Label& label) { return profile.text(label.key) == profile::kGroupLabel; });
  };
  bool are_grouped = false;
  for (size_t i = 0; i < profile.samples().size() && !are_grouped; ++i) are_grouped = profile.samples().event[i] == *how.event && has_group(profile.samples().labels[i]);
  if (!are_grouped || !options.by.empty()) return {};
  how.group_by = {profile::GroupBy::kGroup};
  return "\n" + format_groups(profile::build_call_tree(profile, how), options.limits, profile::unit_text(profile.event(*how.event).unit));
}

std::string format_report(const ReportOptions& options, const profile::ProfileSnapshot& profile, const profile::CallTree& tree, const profile::CallTreeOptions& how) {
  std::string out = format_report_header(profile, options.file);
  if (tree.total() == 0) return out + (profile.sample_count() == 0 ? "\nno samples to show\n" : "\nonly idle samples; --include-idle shows them\n");
  const std::string_view unit = profile::unit_text(profile.event(main_event(profile)).unit);
  const auto functions = profile::add_up_functions(tree);
  if (!functions.empty()) out += "\n" + format_functions(functions, tree.strings, tree.total(), options.limits, unit);
  if (functions.empty() && options.by.empty()) {  // samples without stacks
    profile::CallTreeOptions by_process = how;
    by_process.group_by = {profile::GroupBy::kProcess};
    out += "\n" + format_groups(profile::build_call_tree(profile, by_process), options.limits, unit);
  }
  if (!options.by.empty()) out += "\n" + format_groups(tree, options.limits, unit);
  out += format_own_groups(options, profile, how);
  return functions.empty() ? out : out + "\n" + format_tree(tree, options.limits);
}

Result<void> report(ReportOptions options, const ReaderFiles& files) {
  const std::vector<profile::GroupBy> grouping = TRY(parse_grouping(options.by));
  const profile::FilterOptions filter = TRY(parse_filters(options.filters));
  const std::optional<names::Demangle> demangle = TRY(parse_demangle(options.demangle));
  profile::Profile profile = TRY(load_profile(files, options.file, options.wakers ? profile::FilterOptions() : filter, options.event));
  if (!profile.header.kernel.empty())  // other tools' files do not say whose frames those are
    for (std::string& advice : symbolize::jit_advice(profile)) profile.header.warnings.push_back(std::move(advice));
  if (demangle) symbolize::demangle_again(profile, *demangle);
  TableNames short_names;
  short_names.shorten(profile);
  if (!demangle) options.limits.names = short_names;
  profile::CallTreeOptions how = tree_options(options, profile);
  how.group_by = grouping;
  options.limits.seconds_per_value = profile::seconds_per_value(profile, *how.event);
  options.limits.duration_s = static_cast<double>(profile.header.duration_ns) * 1e-9;
  sink::OutputFile out = TRY(sink::OutputFile::create("-", {}));
  if (options.wakers) {
    const profile::SampleFilter wanted = TRY(profile::make_sample_filter(profile, filter));
    out.write(clean_lines(TRY(format_wakers(profile, options.limits, wanted))));
    return out.commit();
  }
  if (options.states) {
    const std::string states = TRY(format_states(profile, options.limits)), run_queue = format_run_queue(profile);
    out.write(clean_lines(states + (run_queue.empty() ? "" : "\n" + run_queue)));
    return out.commit();
  }
  profile::CallTree tree = profile::build_call_tree(profile, how);
  if (!options.annotate.empty()) {
    out.write(clean_lines(TRY(annotate_function(profile, how, options.annotate, short_names, options.instructions))));
    return out.commit();
  }
  const bool part = !options.callers.empty() || !options.callees.empty();
  if (!options.callers.empty()) tree = TRY(callers_of(tree, options.callers, short_names));
  if (!options.callees.empty()) tree = TRY(callees_of(tree, options.callees, short_names));
  options.limits.counts = part;
  if (options.json) {
    write_report_json(profile, tree, [&](std::string_view text) { out.write(text); });
  } else if (part) {
    out.write(clean_lines(format_tree(tree, options.limits)));
  } else {
    out.write(clean_lines(format_report(options, profile, tree, how)));
  }
  return out.commit();
}

void add_options(CLI::App& command, ReportOptions& options) {
  CLI::Option* file = command.add_option("FILE", options.file, "a recording, folded stacks or pprof");
  command.add_option("--attach", options.attach, "instead of a file: what a recorder has until now, see record --attachable (default: a file)")->type_name("PID|SOCKET")->excludes(file);
  CLI::Option* callers = command.add_option("--callers", options.callers, "only: who calls this function (default: everything)")->type_name("FN");
  CLI::Option* callees = command.add_option("--callees", options.callees, "only: what this function calls (default: everything)")->type_name("FN")->excludes(callers);
  command.add_option("--annotate", options.annotate, "only: the lines (or instructions) of this function with their samples (default: everything)")
      ->type_name("FN")
      ->excludes(callers)
      ->excludes(callees);
  CLI::Option* states = command.add_flag("--states", options.states, "only: where each thread spent its time, on a CPU and in each state that it waited in, and how long threads waited for a CPU (recordings with -e off-cpu)")->excludes(callers)->excludes(callees);
  CLI::Option* wakers = command.add_flag("--wakers", options.wakers, "only: which threads waited for which, and who for each other (recordings with off-cpu --wakers)")->excludes(callers)->excludes(callees)->excludes(states);
  command.add_flag("-i,--instructions", options.instructions, "--annotate: instructions, also where there are lines");
  command.add_option("--by,--group-by", options.by, "root frames and a table: program, process, thread, cpu, user, state, group, cgroup, image; several with commas (default: none)")
      ->type_name("LIST")
      ->allow_extra_args(false);
  command.add_option("--demangle", options.demangle, "names as full, short (functions of one short name are one) or none (default: short, with more where rows would read alike; --json: as recorded)")
      ->type_name("HOW");
  command.add_option("--event", options.event, "of several events, this one (default: the first with samples)")->type_name("NAME")->excludes(wakers);
  command.add_option("--filter", options.filters, "a part: process=, thread=, state=, time=2s..5s, function=REGEX; all must hold (default: everything)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.add_option("--min-percent", options.limits.min_percent, "smallest node of the tree, in percent")
      ->type_name("N")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command.add_option("--max-depth", options.limits.depth, "deepest node of the tree")->type_name("N")->check(CLI::NonNegativeNumber)->capture_default_str();
  command.add_option("-n,--functions", options.limits.rows, "rows of each table")->type_name("N")->check(CLI::NonNegativeNumber)->capture_default_str();
  command.add_flag("--no-kernel", options.no_kernel, "leave kernel frames out");
  command.add_flag("--no-inline", options.no_inlines, "leave inlined functions out");
  command.add_flag("--include-idle", options.include_idle, "idle CPUs, too");
  command.add_flag(kTui, options.tui, "in the terminal, to look around in: the same as `cicada top`");
  command.add_flag("--json", options.json, "for machines: everything, whatever the limits")->excludes(states)->excludes(wakers);
}

}  // namespace

Command add_report_command(CLI::App& app) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "a recording as text: functions, call tree, annotated code");
  command->formatter(std::make_shared<HelpFormatter>("cicada report [OPTIONS] FILE"));
  command->footer("A function is meant by its whole name, by what stands before its parameters (`--callers f` finds f(int)), or by its short name.");
  add_options(*command, *options);
  return {command,
          [options](const Invocation& invocation) {
            show_diagnostics(true, false);
            if (::isatty(STDOUT_FILENO) != 0) options->limits.columns = terminal_columns();
            const Result<void> done = report(*options, *invocation.files);
            if (done) return kExitSuccess;
            print_error(done.error().message());
            return kExitFailure;
          },
          false,
          [options]() -> Result<NamedFiles> {
            TRY(parse_filters(options->filters));
            TRY(parse_grouping(options->by));
            TRY(parse_demangle(options->demangle));
            if (options->file.empty() && options->attach.empty()) return make_error(ErrorKind::kInvalid, "which recording? Give a file, or --attach PID");
            const bool attached = !options->attach.empty();
            if (attached) options->file = options->attach;
            return NamedFiles{{options->file}, {}, false, false, attached};
          }};
}

}  // namespace cicada::cli
