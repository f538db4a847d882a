// SPDX-License-Identifier: Apache-2.0
// `cicada record`: wires the session to the options, the command and the sinks.
#pragma once
#include "cli/record/record_options.h"

namespace cicada::cli {

// What is recorded, in words.
std::string title_of(const RecordOptions& options);
// The process' exit code.
int run_record(const RecordOptions& options);

}  // namespace cicada::cli
