// SPDX-License-Identifier: Apache-2.0
// cicada: parses, wires, prints, exits. Everything else is below.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/catching.h"
#include "base/diagnostics.h"
#include "cli/bench/bench_command.h"
#include "cli/command.h"
#include "cli/convert/convert_command.h"
#include "cli/debug/debug_command.h"
#include "cli/diff/diff_command.h"
#include "cli/doctor/doctor_command.h"
#include "cli/exit_code.h"
#include "cli/habits.h"
#include "cli/help_formatter.h"
#include "cli/input/reader.h"
#include "cli/invoking_user.h"
#include "cli/merge/merge_command.h"
#include "cli/probes/probes_command.h"
#include "cli/record/record_command.h"
#include "cli/report/report_command.h"
#include "cli/serve.h"
#include "cli/terminal.h"
#include "cli/top.h"
#include "recorder/recorder.h"

namespace {

using namespace cicada::cli;

// Whether the word is an option whose value is the next word: "-F", "--frequency", "-qF"; not "-F99", "--frequency=99", "-q".
bool wants_value(const CLI::App& parser, const std::string& word) {
  const auto takes = [&](const std::string& name) {
    const CLI::Option* option = parser.get_option_no_throw(name);
    return option != nullptr && option->get_items_expected_max() > 0;
  };
  if (word.starts_with("--")) return word.find('=') == std::string::npos && takes(word);
  for (size_t i = 1; i < word.size(); ++i) {
    if (takes(std::string("-") + word[i])) return i + 1 == word.size();
  }
  return false;
}

// `record ./prog -x` is `record -- ./prog -x`: options end at the first word that is neither one nor an option's value.
void put_dashes(std::vector<std::string>& words, const CLI::App& record) {
  if (words.size() < 3 || words[1] != record.get_name()) return;
  for (size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "--") return;
    if (words[i].size() > 1 && words[i].starts_with('-')) {
      if (wants_value(record, words[i])) ++i;
      continue;
    }
    words.insert(words.begin() + static_cast<ptrdiff_t>(i), "--");
    return;
  }
}

// `report --tui FILE` is `top FILE`.
void name_top(std::vector<std::string>& words) {
  if (words.size() < 2 || words[1] != "report") return;
  const auto found = std::find(words.begin() + 2, std::find(words.begin() + 2, words.end(), "--"), kTui);
  if (found == words.end() || *found != kTui) return;
  words.erase(found);
  words[1] = "top";
}

Invocation split_at_dashes(std::vector<std::string> words) {
  Invocation invocation;
  invocation.command_line = std::move(words);
  const auto dashes = std::find(invocation.command_line.begin(), invocation.command_line.end(), "--");
  if (dashes != invocation.command_line.end()) invocation.after_dashes.assign(dashes + 1, invocation.command_line.end());
  return invocation;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = cicada::recorder::serve_as_reader(argc, argv)) return *code;
  CLI::App app(
      "cicada shows where a machine, a process or a command spends its time. It needs no rebuild, no frame pointers and no agent in the "
      "program. Start with:\n\n"
      "  sudo cicada record CMD…                profile a command\n"
      "  sudo cicada top                        the machine in the terminal, as it runs\n"
      "  sudo cicada serve                      the machine in the browser, as it runs\n"
      "  cicada report cicada.cicada            the recording as text\n"
      "  cicada convert cicada.cicada x.html    the recording in the browser\n"
      "  cicada doctor                          what this machine lets cicada do",
      "cicada");
  app.set_help_flag("-h,--help", "this page");
  app.set_version_flag("--version", "cicada " CICADA_VERSION, "which cicada this is");
  app.require_subcommand(0, 1);
  app.formatter(std::make_shared<HelpFormatter>("cicada COMMAND [OPTIONS]"));
  app.footer("`cicada COMMAND --help` explains a command.");

  const Command commands[] = {
      add_record_command(app),  // these two the first, see put_dashes
      add_offcpu_command(app),
      add_bench_command(app),
      add_report_command(app),
      add_top_command(app),
      add_serve_command(app),
      add_diff_command(app),
      add_convert_command(app),
      add_merge_command(app),
      add_probes_command(app),
      add_doctor_command(app),
      add_debug_command(app),
  };

  std::vector<std::string> command_line(argv, argv + argc);
  name_top(command_line);
  for (const Command& command : {commands[0], commands[1]}) put_dashes(command_line, *command.parser);
  const Invocation invocation = split_at_dashes(std::move(command_line));
  const size_t before_dashes = invocation.command_line.size() - invocation.after_dashes.size();
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
    if (const std::string& first = invocation.command_line[1]; app.get_subcommands().empty() && !first.starts_with('-')) {
      print_error(fmt::format("{}: no such command; `cicada --help` lists them", first));
      return kExitFailure;
    }
    std::string chosen;
    for (auto at = app.get_subcommands(); !at.empty(); at = at[0]->get_subcommands()) chosen += at[0]->get_name() + " ";
    for (auto word = words.rbegin(); word != words.rend() && dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr; ++word) {
      const std::string_view instead = app.get_subcommands().empty() ? "" : find_habit(app.get_subcommands()[0]->get_name(), *word);
      if (instead.empty()) continue;
      print_error(fmt::format("{}: not an option of cicada's; {}{}", *word, instead.starts_with("-") ? "here it is " : "", instead));
      return kExitFailure;
    }
    print_error(fmt::format("{}; `cicada {}--help` lists the options", error.what(), chosen));
    return kExitFailure;
  }
  for (const Command& command : commands) {
    if (!command.parser->parsed()) continue;
    const cicada::Result<int> code = cicada::catching("cicada", [&]() -> cicada::Result<int> {
      if (!command.needs_root) TRY(InvokingUser::detect().become());
      return command.names_files ? run_reader(command, invocation) : command.run(invocation);
    });
    cicada::diagnostics().tell_rest();
    if (code) return *code;
    print_error(code.error().message());
    return kExitFailure;
  }
  std::cout << app.help();
  return kExitSuccess;
}
