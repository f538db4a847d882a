// SPDX-License-Identifier: Apache-2.0
// Takes from a process everything but reading. Afterwards it may open files to read them, write to what it holds, ask for memory that is
// neither executable nor shared, and start threads. It makes, changes and removes no file, has no network, starts no process, and signals
// and traces nobody. Each means holds where the kernel has it.
//   of root nothing is left: a user that nobody is, no groups · no capability but CAP_SYSLOG (the addresses in /proc/kallsyms) · Landlock ·
//   seccomp · at most `memory` bytes of private memory · it ends with its parent
// With Network::kAccepts it may, too, accept connections at sockets that listen already, and talk over them: what `cicada serve` does.
// With Network::kTerminal it may talk over sockets that it holds, and set up its terminal: what `cicada top` does. When its parent ends it gets SIGTERM,
// not SIGKILL, so that it can give the terminal back.
#pragma once
#include <cstdint>

#include "base/result.h"
#include "sandbox/filter.h"

namespace cicada::sandbox {

// Threads: one, and no other in the process. Nothing under sanitizers.
Result<void> become_read_only(uint64_t memory, Network network = Network::kNone);

// With another Network than kNone, once everything is read: nothing is opened any more, by any thread. What is connected to can then learn nothing but what is here.
Result<void> open_no_more();

// No capability but CAP_SYSLOG, if it is held. Fails: the system's.
Result<void> keep_syslog_only();

}  // namespace cicada::sandbox
