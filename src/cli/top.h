// SPDX-License-Identifier: Apache-2.0
// `cicada top`: a recording in the terminal, while it is made or afterwards. Defined in top/, which is above this module.
#pragma once
#include "cli/command.h"

namespace cicada::cli {

Command add_top_command(CLI::App& app);

}  // namespace cicada::cli
