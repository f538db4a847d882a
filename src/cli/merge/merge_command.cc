// SPDX-License-Identifier: Apache-2.0
// Each input gets its names before it is merged: afterwards nobody knows which boot a kernel address came from.
#include "cli/merge/merge_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "base/number_text.h"
#include "cli/exit_code.h"
#include "cli/help_formatter.h"
#include "cli/input/reader.h"
#include "cli/input/report_input.h"
#include "cli/terminal.h"
#include "profile/stack_totals.h"
#include "sink/sink_registry.h"

namespace cicada::cli {
namespace {

struct MergeOptions {
  std::string output;
  std::vector<std::string> inputs;
  bool force = false, quiet = false;
};

Result<void> merge_files(const MergeOptions& options, const ReaderFiles& files) {
  sink::SinkOptions sink_options;
  sink_options.rights = files.rights();
  const std::unique_ptr<profile::Sink> sink = TRY(sink::make_sink(options.output, sink_options));
  profile::Profile all;
  for (const std::string& input : options.inputs) profile::merge(all, TRY(load_profile(files, input)));
  for (const std::string& warning : all.header.warnings)
    if (!options.quiet) print_warning(warning);
  TRY(sink->finish(all));
  if (!options.quiet)
    print_message(fmt::format("{} samples of {} recording{}: {}\n", grouped_digits(count_samples(all)), options.inputs.size(),
                              options.inputs.size() == 1 ? "" : "s", sink->description()));
  return {};
}

}  // namespace

Command add_merge_command(CLI::App& app) {
  auto options = std::make_shared<MergeOptions>();
  CLI::App* command = app.add_subcommand("merge", "put several recordings together");
  command->formatter(std::make_shared<HelpFormatter>("cicada merge [OPTIONS] IN… -o OUT"));
  command->add_option("IN", options->inputs, "recordings, folded stacks or pprof")->required();
  command->add_option("-o,--output", options->output, "the extension decides the format, as for convert")->type_name("OUT")->required();
  command->add_flag("--force", options->force, "replace a recording that is there already");
  command->add_flag("-q,--quiet", options->quiet, "errors only");
  return {command,
          [options](const Invocation& invocation) {
            show_diagnostics(!options->quiet, false);
            const Result<void> done = merge_files(*options, *invocation.files);
            if (done) return kExitSuccess;
            print_error(done.error().message());
            return kExitFailure;
          },
          false,
          [options]() -> Result<NamedFiles> {
            TRY(sink::check_format(options->output));
            return NamedFiles{options->inputs, {options->output}, options->force, true};
          }};
}

}  // namespace cicada::cli
