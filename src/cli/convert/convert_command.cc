// SPDX-License-Identifier: Apache-2.0
// Outputs are checked before the input is read: a misspelt extension must not cost a minute.
#include "cli/convert/convert_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/exit_code.h"
#include "cli/help_formatter.h"
#include "cli/input/reader.h"
#include "cli/input/report_input.h"
#include "cli/report/annotator.h"
#include "cli/terminal.h"
#include "sink/sink_registry.h"
#include "symbolize/shown_names.h"

namespace cicada::cli {
namespace {

struct ConvertOptions {
  std::string event, input, attach, title, demangle;
  std::vector<std::string> outputs, filters, group_by;
  unsigned wakers = 0;
  bool no_kernel = false, no_inlines = false, include_idle = false, annotate = false, force = false, quiet = false;
};

std::string footer() {
  std::string text = "Reads .cicada, .folded, .pb.gz and .pprof. Writes, by extension:\n";
  for (const sink::Format& format : sink::known_formats())
    text += fmt::format("  {:<18} {}\n", format.extension, format.description);
  return text + "  -                  folded stacks on standard output";
}

// True: every output was written.
Result<bool> convert(const ConvertOptions& options, const ReaderFiles& files) {
  sink::SinkOptions sink_options;
  sink_options.tree.expand_inlined = !options.no_inlines;
  sink_options.tree.include_idle = options.include_idle;
  sink_options.tree.kernel_frames = !options.no_kernel;
  sink_options.tree.group_by = TRY(parse_grouping(options.group_by));
  sink_options.title = options.title;
  if (options.annotate)
    sink_options.annotate = [](const profile::ProfileSnapshot& profile, const profile::CallTreeOptions& tree) { return Annotator(profile, tree).hottest(); };
  sink_options.rights = files.rights();
  if (options.wakers != 0 && std::any_of(options.outputs.begin(), options.outputs.end(), [](const std::string& path) { return sink::find_format(path)->recording; }))
    return make_error(ErrorKind::kInvalid, "--wakers: a recording has waits and wakeups as they are; it is for pictures and other formats");
  const auto sinks = TRY(sink::make_sinks(options.outputs, sink_options));
  const profile::FilterOptions filter = TRY(parse_filters(options.filters));

  const std::optional<names::Demangle> demangle = TRY(parse_demangle(options.demangle));
  profile::Profile profile = TRY(load_profile(files, options.input, filter, options.event, options.wakers));
  for (const std::string& warning : profile.header.warnings)
    if (!options.quiet) print_warning(fmt::format("{}: {}", options.input, warning));
  bool all = true;
  const auto write = [&](bool recordings) {
    for (size_t i = 0; i < sinks.size(); ++i) {
      if (sink::find_format(options.outputs[i])->recording != recordings) continue;
      const Result<void> written = sinks[i]->finish(profile);
      if (!written) print_error(written.error().message());
      else if (!options.quiet) print_message(sinks[i]->description() + "\n");
      all = all && written;
    }
  };
  write(true);  // names are demangled where they are shown: a recording keeps them
  if (demangle) symbolize::demangle_again(profile, *demangle);
  write(false);
  return all;
}

}  // namespace

Command add_convert_command(CLI::App& app) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = app.add_subcommand("convert", "write a recording in another format");
  command->formatter(std::make_shared<HelpFormatter>("cicada convert [OPTIONS] IN OUT…"));
  command->footer(footer());
  command->add_option("IN", options->input, "a recording, folded stacks or pprof");
  command->add_option("OUT", options->outputs, "the extension decides");
  command->add_option("--attach", options->attach, "instead of IN: what a recorder has until now, see record --attachable (default: a file)")->type_name("PID|SOCKET");
  command->add_option("--event", options->event, "of several events, this one (default: all, or the first where a format has one)")->type_name("NAME");
  command->add_option("--filter", options->filters, "a part: process=, thread=, state=, time=2s..5s, function=REGEX (default: everything)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--group-by,--by", options->group_by, "root frames: program, process, thread, cpu, user, state, group, cgroup, image (default: none)")
      ->type_name("LIST")
      ->allow_extra_args(false);
  command->add_option("--demangle", options->demangle, "names as full, short (without parameters and template arguments) or none (default: as recorded)")->type_name("HOW");
  command->add_flag("--wakers{1}", options->wakers, "stacks of waits go on with who ended them; --wakers=N: N wakers, one behind the other")->check(CLI::Range(1U, kMostWakers))->take_last();
  command->add_flag("--annotate", options->annotate, "into .html: source and instructions of the hottest functions, with their samples");
  command->add_option("--title", options->title, "of pictures and reports (default: what was recorded)")->type_name("TEXT");
  command->add_flag("--no-kernel", options->no_kernel, "leave kernel frames out");
  command->add_flag("--no-inline", options->no_inlines, "leave inlined functions out");
  command->add_flag("--include-idle", options->include_idle, "draw idle CPUs, too");
  command->add_flag("--force", options->force, "replace a recording that is there already");
  command->add_flag("-q,--quiet", options->quiet, "errors only");
  return {command,
          [options](const Invocation& invocation) {
            show_diagnostics(!options->quiet, false);
            const Result<bool> done = convert(*options, *invocation.files);
            if (done) return *done ? kExitSuccess : kExitFailure;
            print_error(done.error().message());
            return kExitFailure;
          },
          false,
          [options]() -> Result<NamedFiles> {
            const bool attached = !options->attach.empty();
            if (attached) options->outputs.insert(options->outputs.begin(), std::exchange(options->input, options->attach));
            if (options->input.empty() && !attached) return make_error(ErrorKind::kInvalid, "which recording? Give IN and OUT, or --attach PID and OUT");
            if (options->outputs.empty() || options->outputs[0].empty()) return make_error(ErrorKind::kInvalid, "where to? Give an output behind {}", options->input);
            for (const std::string& output : options->outputs) TRY(sink::check_format(output));
            TRY(parse_filters(options->filters));
            TRY(parse_grouping(options->group_by));
            TRY(parse_demangle(options->demangle));
            return NamedFiles{{options->input}, options->outputs, options->force, false, attached};
          }};
}

}  // namespace cicada::cli
