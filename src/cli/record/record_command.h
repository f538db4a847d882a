// SPDX-License-Identifier: Apache-2.0
// The `record` subcommand, and `offcpu`, the same for the time that threads wait: their options as the parser sees them.
#pragma once
#include "cli/command.h"
#include "cli/record/record_options.h"

namespace cicada::cli {

Command add_record_command(CLI::App& app);
// What is recorded, how, with which names and where to: of `record`, and of whoever records and shows.
void add_record_options(CLI::App& command, RawRecordOptions& raw);
Command add_offcpu_command(CLI::App& app);

}  // namespace cicada::cli
