// SPDX-License-Identifier: Apache-2.0
// `cicada report FILE`: a recording as text.
#pragma once
#include "cli/command.h"

namespace cicada::cli {

Command add_report_command(CLI::App& app);

}  // namespace cicada::cli
