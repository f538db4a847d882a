// SPDX-License-Identifier: Apache-2.0
// cicada: parses, wires, prints, exits. Everything else is below.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/catching.h"
#include "cli/bench_command.h"
#include "cli/command.h"
#include "cli/convert_command.h"
#include "cli/debug_command.h"
#include "cli/diff_command.h"
#include "cli/doctor_command.h"
#include "cli/exit_code.h"
#include "cli/help_formatter.h"
#include "cli/invoking_user.h"
#include "cli/merge_command.h"
#include "cli/record_command.h"
#include "cli/report_command.h"
#include "cli/terminal.h"

namespace {

using namespace cicada::cli;

Invocation split_at_dashes(int argc, char** argv) {
  Invocation invocation;
  invocation.command_line.assign(argv, argv + argc);
  for (int i = 1; i < argc; i++) {
    if (invocation.command_line[static_cast<size_t>(i)] != "--") continue;
    invocation.after_dashes.assign(argv + i + 1, argv + argc);
    break;
  }
  return invocation;
}

}  // namespace

int main(int argc, char** argv) {
  const Invocation invocation = split_at_dashes(argc, argv);
  const size_t before_dashes = invocation.command_line.size() - invocation.after_dashes.size();

  CLI::App app(
      "cicada shows where a machine, a process or a command spends its time. It needs no rebuild,\n"
      "no frame pointers and no agent in the program. Start with:\n\n"
      "  sudo cicada record -- CMD…      profile a command; the recording is in cicada.cicada\n"
      "  cicada report cicada.cicada     the recording as text; `cicada convert` makes pictures of it\n"
      "  cicada doctor                   what this machine lets cicada do",
      "cicada");
  app.set_version_flag("--version", "cicada " CICADA_VERSION);
  app.require_subcommand(0, 1);
  app.formatter(std::make_shared<HelpFormatter>("cicada COMMAND [OPTIONS]"));
  app.footer("`cicada COMMAND --help` explains a command.");

  const Command commands[] = {
      add_record_command(app),
      add_bench_command(app),
      add_report_command(app),
      add_diff_command(app),
      add_convert_command(app),
      add_merge_command(app),
      add_doctor_command(app),
      add_debug_command(app),
  };

  std::vector<std::string> words;  // the parser wants them in reverse
  for (size_t i = before_dashes; i > 1; i--) {
    if (invocation.command_line[i - 1] != "--") words.push_back(invocation.command_line[i - 1]);
  }
  if (!words.empty() && words.back() == "help") {  // `cicada help record`
    words.pop_back();
    words.insert(words.begin(), "--help");
  }
  try {
    app.parse(words);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::string chosen;
    for (auto at = app.get_subcommands(); !at.empty(); at = at[0]->get_subcommands()) chosen += at[0]->get_name() + " ";
    print_error(fmt::format("{}; `cicada {}--help` lists the options", error.what(), chosen));
    return kExitFailure;
  }
  for (const Command& command : commands) {
    if (!command.parser->parsed()) continue;
    const cicada::Result<int> code = cicada::catching("cicada", [&]() -> cicada::Result<int> {
      if (!command.needs_root) TRY(InvokingUser::detect().become());
      return command.run(invocation);
    });
    if (code) return *code;
    print_error(code.error().message());
    return kExitFailure;
  }
  std::cout << app.help();
  return kExitSuccess;
}
