// SPDX-License-Identifier: Apache-2.0
// So that a run time that compiles code writes down its names, where the kernel guards the directory it writes to.
#pragma once
#include <string>
#include <vector>

#include "cli/invoking_user.h"

namespace cicada::cli {

// "NAME=value" for this command, run by this user.
std::vector<std::string> runtime_environment(const std::vector<std::string>& command, const InvokingUser& user);

}  // namespace cicada::cli
