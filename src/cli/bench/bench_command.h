// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/command.h"

namespace cicada::cli {

Command add_bench_command(CLI::App& app);

}  // namespace cicada::cli
