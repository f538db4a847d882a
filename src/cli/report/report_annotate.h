// SPDX-License-Identifier: Apache-2.0
// One function with its samples: source lines where the recording has lines and the source is at hand, else, or if asked for, instructions.
#pragma once
#include <string>

#include "cli/table_names.h"
#include "profile/call_tree.h"

namespace cicada::cli {

// Self: samples in the line itself; total: with what it calls, each sample once a line. Only samples that `options` asks for.
// Fails: kNotFound (no such function has samples), or why neither its source nor its code can be read.
Result<std::string> annotate_function(const profile::ProfileSnapshot& profile, const profile::CallTreeOptions& options, const std::string& function,
                                      const TableNames& names, bool instructions);

}  // namespace cicada::cli
