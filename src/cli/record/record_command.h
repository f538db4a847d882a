// SPDX-License-Identifier: Apache-2.0
// The `record` subcommand, and `offcpu`, the same for the time that threads wait: their options as the parser sees them.
#pragma once
#include "cli/command.h"

namespace cicada::cli {

Command add_record_command(CLI::App& app);
Command add_offcpu_command(CLI::App& app);

}  // namespace cicada::cli
