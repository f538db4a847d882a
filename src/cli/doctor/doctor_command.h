// SPDX-License-Identifier: Apache-2.0
// The `doctor` subcommand: what works on this machine, what does not, what to do.
#pragma once
#include "cli/command.h"

namespace cicada::cli {

Command add_doctor_command(CLI::App& app);

}  // namespace cicada::cli
