// SPDX-License-Identifier: Apache-2.0
// What a process of ours does, and what it used. Whoever waits for its answer asks: one that could run has nothing but too little of a busy CPU, one that
// sleeps waits for somebody else. Files of /proc, 5 us each; they wait for no lock of the process. Threads: any.
#pragma once
#include <sys/types.h>

#include <cstdint>

namespace cicada {

// Of a child that was not waited for, so the number is still its own. False: also if there is none.
bool is_runnable(pid_t child);
// CPU time in ns, in ticks of the kernel's clock: its own, that of children that it has waited for, and that of those that live, and theirs. 0: there is none.
uint64_t used_cpu_ns(pid_t child);

}  // namespace cicada
