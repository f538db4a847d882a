// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Values of the kernel side's settings (bpf/settings.bpf.h), and what is asked of resolve_kernel_symbols.
#pragma once
#include "abi/base_types.h"

enum filter_mode {
  FILTER_ALL = 0,      // the whole machine
  FILTER_TARGETS = 1,  // processes with PROCESS_TARGET
  FILTER_TIDS = 2,     // threads in `target_tids` (their processes are in `processes` too)
};

//   X(name, as `record --unwind` has it)
#define UNWIND_MODES(X)                                                                   \
  X(UNWIND_AUTO, "auto")        /* tables; frame pointers where there is no table */      \
  X(UNWIND_FRAME_POINTER, "fp") /* frame pointers everywhere */                           \
  X(UNWIND_TABLE, "table")      /* tables only: no rule, no caller */
enum unwind_mode {
#define X(name, text) name,
  UNWIND_MODES(X)
#undef X
};

// Of which tasks samples are wanted. Of each list one must fit; an empty one fits all.
#define MAX_ASKED 16
struct asked_name {
  char text[16];
  __u32 bytes;  // that must be equal: of a whole name the 0 at its end, too
};
struct asked_cgroup {
  __u64 id;
  __u32 level;  // of the hierarchy's root: 0
  __u32 padding;
};
struct asked_tasks {
  __u32 users, processes, threads, cgroups;  // how many of each
  __u32 user[MAX_ASKED];
  struct asked_name process[MAX_ASKED];  // the name of the main thread
  struct asked_name thread[MAX_ASKED];
  struct asked_cgroup cgroup[MAX_ASKED];  // it, or one below it
};

#define NO_EVENT 0xffffffffu
#define SCRATCH_SLOTS 4       // of each CPU (bpf/scratch.bpf.h)
#define PREEMPTIBLE_SLOTS 16  // more of them for programs that can be preempted: as many threads can be in one at once
#define MAX_CPUS 8192  // the kernel's largest NR_CPUS

// Of the kernel's code; 0: not known.
struct code_range {
  __u64 begin, end;
};
#define MAX_THREAD_CODE 10

// Of a program that is loaded for one place (bpf/kernel_place.bpf.c).
#define MAX_KERNEL_PLACES 4
#define MAX_PLACE_CODE 3  // the last is found by the program itself
struct kernel_place {
  __u32 event;  // index of the recording's events
  __u32 hits;   // that a sample stands for
  __u8 is_function;  // else a raw tracepoint
  __u8 is_preemptible;
  __u8 padding[6];
};
ABI_ASSERT(sizeof(struct kernel_place) == 16);

// What a look at all threads is for.
enum blocked_mode {
  BLOCKED_NOTE = 0,  // who waits already
  BLOCKED_TAKE = 1,  // who waits still
};

#define KERNEL_SYMBOL_BATCH 256
#define KERNEL_SYMBOL_BYTES 192

// The one value of the mmapped array `kernel_symbols`: addresses in, "name+0x10/0x80 [module]" out, NUL-terminated.
struct kernel_symbol_batch {
  __u64 count;
  __u64 addresses[KERNEL_SYMBOL_BATCH];
  char text[KERNEL_SYMBOL_BATCH][KERNEL_SYMBOL_BYTES];
};
