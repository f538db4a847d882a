// SPDX-License-Identifier: Apache-2.0
// `cicada diff A B`: what changed between two recordings, and whether chance explains it.
#pragma once
#include "cli/command.h"

namespace cicada::cli {

Command add_diff_command(CLI::App& app);

}  // namespace cicada::cli
