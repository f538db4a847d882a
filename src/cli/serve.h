// SPDX-License-Identifier: Apache-2.0
// `cicada serve`: a recording in the browser, while it is made or afterwards. Two programs are linked from main.cc: in `cicada` this command runs the other one,
// `cicada-serve`, which has all commands and a web server.
#pragma once
#include "cli/command.h"

namespace cicada::cli {

inline constexpr const char* kServeDescription = "look at it in the browser while it runs: the machine, a program, a recording";

Command add_serve_command(CLI::App& app);

}  // namespace cicada::cli
