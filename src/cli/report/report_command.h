// SPDX-License-Identifier: Apache-2.0
// `cicada report FILE`: a recording as text.
#pragma once
#include "cli/command.h"

namespace cicada::cli {

// Of the command line: main.cc runs `top` instead.
inline constexpr const char* kTui = "--tui";

Command add_report_command(CLI::App& app);

}  // namespace cicada::cli
