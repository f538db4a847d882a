// SPDX-License-Identifier: Apache-2.0
// The half that reads strangers' files. It runs in a process that can do nothing else (sandbox/lock_down.h).
#pragma once
#include "sandbox/channel.h"

namespace cicada::parser {

// Answers questions (protocol.h) until the other end is closed. One thread.
void serve(sandbox::Channel channel);

}  // namespace cicada::parser
