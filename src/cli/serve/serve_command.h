// SPDX-License-Identifier: Apache-2.0
// `cicada serve`: a recording in the browser, while it is made or afterwards.
#pragma once
#include "cli/command.h"

namespace cicada::cli {

Command add_serve_command(CLI::App& app);

}  // namespace cicada::cli
