// SPDX-License-Identifier: Apache-2.0
// `cicada convert IN OUT…`: another format, or a part of a recording in the same.
#pragma once
#include "cli/command.h"

namespace cicada::cli {

Command add_convert_command(CLI::App& app);

}  // namespace cicada::cli
