// SPDX-License-Identifier: Apache-2.0
// The `probes` subcommand: what `-e` can name.
#pragma once
#include "cli/command.h"

namespace cicada::cli {

Command add_probes_command(CLI::App& app);

}  // namespace cicada::cli
