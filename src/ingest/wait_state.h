// SPDX-License-Identifier: Apache-2.0
// What a thread that did not run was waiting for, in the words of the label "state":
//
//   preempted    could have run on; the CPU was given to another
//   runnable     was woken, or gave way (sched_yield), and waited for a CPU
//   disk         for a device, as the kernel says (iowait)
//   page fault   for memory that it touched
//   lock         futex (mutexes, conditions, joins), file locks, System V semaphores
//   sleep        for a time that it chose
//   io           for a pipe, socket, terminal or one of many (poll, epoll, io_uring)
//   stopped      by a signal or a debugger
//   other        anything else: children, signals, the kernel's own locks
//
// Pure. Threads: any.
#pragma once
#include <string_view>

#include "abi/records.h"

namespace cicada::ingest {

// Empty: it ran. The text lives for ever.
std::string_view wait_state(const sample_record& sample);

}  // namespace cicada::ingest
