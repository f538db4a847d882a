// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/exit_code.h"
#include "cli/serve.h"
#include "cli/terminal.h"

namespace cicada::cli {
namespace {

int run_program_beside(const Invocation& invocation) {
  std::error_code unknown;
  const std::string program = (std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path() / "cicada-serve").string();
  std::vector<char*> words;
  for (const std::string& word : invocation.command_line) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execv(program.c_str(), words.data());
  print_error(fmt::format("serve: {}: {}; it belongs beside cicada", program, std::strerror(errno)));
  return kExitFailure;
}

}  // namespace

Command add_serve_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("serve", kServeDescription);
  command->set_help_flag();
  command->prefix_command();
  return {command, run_program_beside, true};
}

}  // namespace cicada::cli
