// SPDX-License-Identifier: Apache-2.0
// `cicada record`: wires the session to the options, the command and the sinks.
#pragma once
#include "cli/record/record_options.h"

namespace cicada::cli {

// The process' exit code.
int run_record(const RecordOptions& options);

}  // namespace cicada::cli
