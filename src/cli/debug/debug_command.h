// SPDX-License-Identifier: Apache-2.0
// The `debug` subcommand: what cicada makes of a file or a process before it samples anything.
#pragma once
#include "cli/command.h"

namespace cicada::cli {

Command add_debug_command(CLI::App& app);

}  // namespace cicada::cli
