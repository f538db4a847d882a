// SPDX-License-Identifier: Apache-2.0
// `cicada merge OUT IN…`: several recordings as one.
#pragma once
#include "cli/command.h"

namespace cicada::cli {

Command add_merge_command(CLI::App& app);

}  // namespace cicada::cli
