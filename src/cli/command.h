// SPDX-License-Identifier: Apache-2.0
// One subcommand of cicada: what the parser knows of it, and what happens when it is chosen. One file per command;
// main.cc lists them. This is the only header that names the parser.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cicada::cli {

struct Invocation {
  std::vector<std::string> command_line;  // all of it, argv[0] included
  std::vector<std::string> after_dashes;  // what stands after the first "--": never parsed
};

struct Command {
  CLI::App* parser = nullptr;                 // owned by the application's parser
  std::function<int(const Invocation&)> run;  // gives the exit code
  bool needs_root = false;                    // else under sudo it is run by who called it
};

}  // namespace cicada::cli
