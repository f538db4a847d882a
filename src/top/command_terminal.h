// SPDX-License-Identifier: Apache-2.0
// A terminal for the command that is recorded: it may draw and ask for the size as it likes, and nothing of that reaches the screen.
#pragma once
#include "base/result.h"
#include "base/unique_fd.h"
#include "cli/invoking_user.h"

namespace cicada::top {

struct CommandTerminal {
  UniqueFd command;  // its side
  UniqueFd viewer;   // where what it writes is read; when this is closed, it gets SIGHUP
};

// Of the size of standard output. It is the user's. Fails: the system's (no /dev/pts).
Result<CommandTerminal> open_command_terminal(const cli::InvokingUser& user);

}  // namespace cicada::top
