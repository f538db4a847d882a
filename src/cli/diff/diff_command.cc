// SPDX-License-Identifier: Apache-2.0
#include "cli/diff/diff_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/clean_text.h"
#include "cli/diff/diff_condition.h"
#include "cli/diff/diff_json.h"
#include "cli/diff/diff_table.h"
#include "cli/exit_code.h"
#include "cli/help_formatter.h"
#include "cli/input/reader.h"
#include "cli/input/report_input.h"
#include "cli/terminal.h"
#include "profile/stack_totals.h"
#include "sink/flamegraph/html.h"
#include "sink/flamegraph/svg.h"

namespace cicada::cli {
namespace {

struct DiffCommandOptions {
  std::string event, a, b, per;
  std::vector<std::string> outputs, filters, conditions, group_by;
  DiffTableOptions table = {};
  bool allow_missing = false, no_kernel = false, no_inlines = false, include_idle = false, json = false;
};

Result<void> check_picture(const std::string& path) {
  if (path.ends_with(".svg") || path.ends_with(".html")) return {};
  return make_error(ErrorKind::kInvalid, "{}: a comparison is written as .svg or .html", path);
}

Result<void> write_picture(const std::string& path, const profile::ProfileDiff& diff, profile::Per per, const sink::Caption& caption, const sink::FileRights& rights, const sink::ShortNames& names) {
  sink::Baseline baseline;
  for (const profile::DiffValue& value : diff.self) baseline.self.push_back(value.a);
  for (const profile::DiffValue& value : diff.total) baseline.total.push_back(value.a);
  if (per != profile::Per::kShare && diff.total[0].a != 0) {
    baseline.whole_before = static_cast<double>(diff.total[0].a);
    baseline.whole_after = baseline.whole_before * diff.scale_a / diff.scale_b;  // what A would have counted in B's time or run
  }
  std::string text;
  if (path.ends_with(".svg")) sink::append_flame_graph_svg(diff.tree, caption, &baseline, text, names);
  else sink::append_diff_report_html(diff.tree, baseline, caption, text);
  sink::OutputFile file = TRY(sink::OutputFile::create(path, rights));
  file.write(text);
  return file.commit();
}

// A job that ran from its beginning to its end costs what it costs. Of anything else only the division is comparable, unless asked.
Result<profile::Per> choose_per(const std::string& word, const profile::Header& a, const profile::Header& b) {
  if (word == "share") return profile::Per::kShare;
  if (word == "run") return profile::Per::kRun;
  if (word.empty()) return a.runs != 0 && b.runs != 0 ? profile::Per::kRun : profile::Per::kShare;
  if (word != "second") return make_error(ErrorKind::kInvalid, "--per {}: use one of run, second, share", word);
  if (a.duration_ns == 0 || b.duration_ns == 0) print_warning("--per second: a recording does not say how long it took; plain sums are compared");
  return profile::Per::kSecond;
}

Result<int> compare(const DiffCommandOptions& options, const ReaderFiles& files) {
  std::vector<DiffCondition> conditions;
  for (const std::string& text : options.conditions) conditions.push_back(TRY(parse_condition(text)));
  const sink::FileRights rights = files.rights();
  const profile::FilterOptions filter = TRY(parse_filters(options.filters));
  DiffTableOptions table = options.table;
  const profile::Profile a = TRY(load_profile(files, options.a, filter, options.event));
  const profile::Profile b = TRY(load_profile(files, options.b, filter, options.event));
  table.names.shorten(a);
  table.names.shorten(b);
  for (const auto& [profile, name] : {std::pair(&a, &options.a), std::pair(&b, &options.b)})
    for (const std::string& warning : profile->header.warnings) print_warning(fmt::format("{}: {}", *name, warning));
  const profile::Event &event_a = a.event(profile::main_event(a)), &event_b = b.event(profile::main_event(b));
  if (event_a.unit != event_b.unit)
    return make_error(ErrorKind::kInvalid, "{} counts {} and {} {}: they cannot be compared", options.a, profile::unit_text(event_a.unit), options.b, profile::unit_text(event_b.unit));
  profile::DiffOptions how;
  how.per = TRY(choose_per(options.per, a.header, b.header));
  how.values_are_counts = event_a.unit == profile::Unit::kSamples;
  how.tree.group_by = TRY(parse_grouping(options.group_by));
  how.tree.group_numbers = false;  // pids of two recordings never agree
  how.tree.expand_inlined = !options.no_inlines;
  how.tree.kernel_frames = !options.no_kernel;
  how.tree.include_idle = options.include_idle;
  const profile::ProfileDiff diff = profile::diff(a, b, how);
  std::vector<std::string> violations;
  for (size_t i = 0; i < conditions.size(); ++i) {
    if (!options.allow_missing && !is_known(diff, conditions[i], table.names))
      return make_error(ErrorKind::kNotFound, "--fail-if {}: neither side has samples in such a function (--allow-missing: that is fine)", options.conditions[i]);
    for (std::string& violation : find_violations(diff, conditions[i], table.names)) violations.push_back(std::move(violation));
  }
  sink::OutputFile out = TRY(sink::OutputFile::create("-", {}));
  if (options.json)
    write_diff_json({options.a, a}, {options.b, b}, diff, how.per, violations, [&](std::string_view text) { out.write(text); });
  else
    out.write(clean_lines(format_whole({options.a, a}, {options.b, b}, diff, how.per) + format_diff(diff, table)));
  TRY(out.commit());
  const sink::Caption caption = sink::make_caption(b, fmt::format("{} compared with {}", options.b, options.a));
  for (const std::string& path : options.outputs) {
    TRY(write_picture(path, diff, how.per, caption, rights, table.names.short_names()));
    print_message(fmt::format("differential flame graph in {}\n", path));
  }
  for (const std::string& violation : violations) print_error(violation);
  return violations.empty() ? kExitSuccess : kExitGrown;
}

}  // namespace

Command add_diff_command(CLI::App& app) {
  auto options = std::make_shared<DiffCommandOptions>();
  CLI::App* command = app.add_subcommand("diff", "what changed between two recordings");
  command->formatter(std::make_shared<HelpFormatter>("cicada diff [OPTIONS] A B"));
  command->footer(
      "Two commands that were recorded from beginning to end are compared by what a run costs, everything else by shares of each recording.\n"
      "Exit code: 1 when a --fail-if condition is violated, 125 when cicada failed.");
  command->add_option("A", options->a, "before: a recording, folded stacks or pprof")->required();
  command->add_option("B", options->b, "after")->required();
  command->add_option("-o,--output", options->outputs, "differential flame graph: .svg or .html; may be repeated (default: none)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command->add_option("--fail-if", options->conditions, "exit code 1 if a function grew by more: 'parse>5%', 'self:f>1%', '*>2%'; may be repeated (default: none)")
      ->type_name("CONDITION")
      ->allow_extra_args(false);
  command->add_option("--event", options->event, "of several events, this one (default: the first with samples)")->type_name("NAME");
  command->add_option("--filter", options->filters, "a part of both: process=, thread=, state=, time=, function=REGEX (default: everything)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("-n,--functions", options->table.rows, "rows of the table")->type_name("N")->check(CLI::NonNegativeNumber)->capture_default_str();
  command->add_option("--by,--group-by", options->group_by, "root frames: program, process, thread, cpu, user, state, group, cgroup, image; by name, without pids (default: none)")
      ->type_name("LIST")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "for machines: every function, whatever the limits");
  command->add_option("--per", options->per, "what is compared: the cost of a run, of a second, or shares (default: run where both are commands that ended, else share)")
      ->type_name("run|second|share");
  command->add_flag("--allow-missing", options->allow_missing, "--fail-if may name a function that neither side has");
  command->add_flag("--all", options->table.all, "changes that chance explains, too");
  command->add_flag("--no-kernel", options->no_kernel, "leave kernel frames out");
  command->add_flag("--no-inline", options->no_inlines, "leave inlined functions out");
  command->add_flag("--include-idle", options->include_idle, "idle CPUs, too");
  return {command,
          [options](const Invocation& invocation) {
            show_diagnostics(true, false);
            if (::isatty(STDOUT_FILENO) != 0) options->table.columns = terminal_columns();
            const Result<int> done = compare(*options, *invocation.files);
            if (done) return *done;
            print_error(done.error().message());
            return kExitFailure;
          },
          false,
          [options]() -> Result<NamedFiles> {
            for (const std::string& output : options->outputs) TRY(check_picture(output));
            for (const std::string& condition : options->conditions) TRY(parse_condition(condition));
            TRY(parse_filters(options->filters));
            TRY(parse_grouping(options->group_by));
            return NamedFiles{{options->a, options->b}, options->outputs, false, false};
          }};
}

}  // namespace cicada::cli
