// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// What the kernel side sends through the one ring buffer. Every record begins with its kind; sizes are multiples of 8.
#pragma once
#include "abi/arch.h"

#define MAX_USER_FRAMES 1024
#define MAX_KERNEL_FRAMES 127
#define DEFERRED_STACK_BYTES (64 << 10)         // of a stack whose end is not known
#define DEFERRED_WHOLE_STACK_BYTES (256 << 10)  // of one whose end is
#define DEFERRED_MAX_HOLE 16  // pages

enum record_kind {
  RECORD_SAMPLE = 1,
  RECORD_STACK = 2,
  RECORD_UNWIND_REQUEST = 3,
  RECORD_FORK = 4,
  RECORD_EXEC = 5,
  RECORD_EXIT = 6,
  RECORD_MISS = 7,  // a lifecycle_record: a target's pc outside every known mapping: rescan wanted (at most one a second and process)
  RECORD_THREAD_TIME = 8,
  RECORD_TEXT = 9,
};

enum stack_side { STACK_USER = 0, STACK_KERNEL = 1 };

// Once per stack hash and run (again when the tag was overwritten). A user stack that holds frames without an image (FRAME_JIT,
// FRAME_UNKNOWN, FRAME_USER_32) has its address space hashed in, because such an address means nothing without it.
struct stack_record {
  __u32 kind;
  __u16 frame_count;
  __u8 side;      // enum stack_side
  __u8 padding;
  __u64 hash;
  __u32 address_space;  // of a user stack; 0 for kernel stacks
  __u32 padding2;
  __u64 frames[];  // leaf first
};
ABI_ASSERT(sizeof(struct stack_record) == 24);

enum sample_flags {
  SAMPLE_IN_KERNEL = 1,  // the event hit kernel mode
  SAMPLE_IDLE = 2,
  SAMPLE_DEFERRED = 4,   // an unwind_request of the same thread and time follows: user space finishes the user stack
  SAMPLE_32_BIT = 8,
  SAMPLE_NEW_TASK = 16,  // in clone or clone3, before its first instruction in user mode
  SAMPLE_NEW_STACK = 32,  // with it: and on a stack of its own for certain
};

// By what hits of an event are grouped.
enum group_kind {
  GROUP_NONE = 0,
  GROUP_UNSIGNED = 1,  // a number
  GROUP_SIGNED = 2,    // a number, of two's complement
  GROUP_TEXT = 3,      // a text: a text_record has its hash, or it is one of enum odd_text
};

// What a thread did that did not run.
enum wait_kind {
  WAIT_NONE = 0,  // it ran
  WAIT_PREEMPTED = 1,  // could have run on, or gave way
  WAIT_RUNNABLE = 2,   // woken, and ready to run
  WAIT_SLEEPING = 3,
  WAIT_UNINTERRUPTIBLE = 4,
  WAIT_DISK = 5,  // the kernel says that it waits for a device
  WAIT_STOPPED = 6,  // by a signal or a debugger
};

#define NO_SYSTEM_CALL 0xffff  // an exception
#define NO_USER_SIDE 0xfffe    // a kernel thread, or a worker of the kernel's in a process
#define INTERRUPT_ID (-1)      // pid and tid of what wakes a thread and is none itself
#define SOMEBODY_ID (-2)       // of a waker for whose stack there was no time: without it nobody knows whether it was an interrupt

// Every time.
struct sample_record {
  __u32 kind;
  __s32 pid;              // initial pid namespace
  __u64 time_ns;          // CLOCK_MONOTONIC
  __u64 user_stack;       // hash, 0: none
  __u64 kernel_stack;     // hash, 0: none
  __u64 value;            // in the event's unit
  __s32 tid;
  __u32 address_space;
  __u16 cpu;
  __u8 end_reason;        // enum end_reason
  __u8 flags;             // enum sample_flags
  __u32 start_ticks_low;  // low half of the process' start in ticks; with the next: PID-reuse proof
  __u16 start_in_tick;    // 1/65536 of a tick; 0 also if only ticks are known: a pid can be used again within a tick
  __u16 user_frames;      // frames walked
  __u8 event;             // index of the recording's events
  __u8 wait;              // enum wait_kind; of a wakeup: how the other thread waited
  __u16 system_call;      // of a wait: its number, NO_SYSTEM_CALL, NO_USER_SIDE; of a wakeup: the other thread's
  __u32 uid;              // effective, of the thread at this moment; initial user namespace
  __u8 group;             // enum group_kind: with one, begin_ns is none, but the group
  __u8 padding2[3];
  __u64 begin_ns;         // of a wait, and of the wakeup that ended it: when it began, by CLOCK_MONOTONIC, so that one leads to the other. Of time in the run queue: when that began. Else 0
};
ABI_ASSERT(sizeof(struct sample_record) == 80);

// Hashes that no text has.
enum odd_text {
  TEXT_UNREADABLE = 1,  // nothing is there, or it is paged out
  TEXT_NULL = 2,        // its address is 0
  TEXT_EMPTY = 3,
  FIRST_TEXT_HASH = 4,
};

// A text by which hits are grouped: before the first sample that has its hash. Of more than MAX_TEXTS no record comes.
#define LONGEST_TEXT 256
#define MAX_TEXTS 16384
struct text_record {
  __u32 kind;
  __u16 bytes;   // LONGEST_TEXT at most
  __u8 is_cut;   // it goes on
  __u8 padding;
  __u64 hash;
  __u8 text[];   // and zeros up to a multiple of 8
};
ABI_ASSERT(sizeof(struct text_record) == 16);

// A walk that the kernel could not finish: the registers at that frame and a copy of the stack from its red zone up, without the pages that nobody has
// touched yet (large frames have such). Sent after its sample, whose user_stack has the frames up to and including the one where the
// walk stopped: the frames found in user space begin with that one again, so they replace the last (and nothing is missing where the request
// is lost).
struct unwind_request {
  __u32 kind;
  __s32 pid;
  __u64 time_ns;         // the sample's: (time_ns, tid) joins them
  __u32 address_space;
  __s32 tid;
  __u32 stack_bytes;
  __u8 end_reason;       // why the kernel stopped
  __u8 all_registers;    // the frame is the leaf or directly above a signal frame: caller-saved registers are valid too, and ip is exact
  __u8 unwind_mode;      // enum unwind_mode
  __u8 padding;
  __u64 gpr[ARCH_REGISTERS];  // DWARF numbering
  __u64 ip;
  __u64 pages;           // bit i: the i-th page counted from where the copy begins, ARCH_RED_ZONE below the stack pointer, is in it, the first one from there on
  __u8 stack[];          // these pages, one behind the other
};
ABI_ASSERT(sizeof(struct unwind_request) == 176);

// Not through the ring, but read from a look at all threads: one that has waited when it began. Its kernel stack is in the ring.
struct blocked_thread {
  struct sample_record sample;  // SAMPLE_DEFERRED: with the request
  __u64 request[sizeof(struct unwind_request) / 8];  // one whose stack is not copied yet
  __u64 turns;  // how often it had run: as long as that is so, its stack is that of the wait
};
ABI_ASSERT(sizeof(struct blocked_thread) == 264);

// fork: `pid` is the child, `parent_pid` its parent, whose address_space it shares. exec: address_space is new. exit: the thread group is gone.
struct lifecycle_record {
  __u32 kind;
  __s32 pid;
  __u64 time_ns;
  __u64 start_ns;
  __s32 parent_pid;
  __u32 address_space;
  __u32 flags;           // enum process_flags
  __s32 tid;
  char comm[16];
};
ABI_ASSERT(sizeof(struct lifecycle_record) == 56);

// How long a thread has run, by the scheduler's account. Threads that end come through the ring, those that live are read in a look at all threads.
struct thread_time {
  __u32 kind;
  __s32 pid;
  __s32 tid;
  __u32 start_ticks_low;  // of its process, as in its samples
  __u16 start_in_tick;
  __u16 lives;     // 0: that is all
  __u32 padding;
  __u64 start_ns;  // of the thread, since boot
  __u64 ran_ns;
};
ABI_ASSERT(sizeof(struct thread_time) == 40);
