// SPDX-License-Identifier: Apache-2.0
// What a process of ours does. Whoever waits for its answer asks: one that could run has nothing but too little of a busy CPU, one that
// sleeps waits for somebody else. One file of /proc, 5 us; it waits for no lock of the process. Threads: any.
#pragma once
#include <sys/types.h>

namespace cicada {

// Of a child that was not waited for, so the number is still its own. False: also if there is none.
bool is_runnable(pid_t child);

}  // namespace cicada
