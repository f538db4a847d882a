// SPDX-License-Identifier: GPL-2.0-only
// What user space decides before loading (read-only from then on, so the verifier drops dead branches), and the few words both
// sides write while running. Defined in settings.bpf.c; user space reaches them through the skeleton's rodata, data and bss.
#pragma once
#include "abi/event_cookie.h"
#include "abi/event_fields.h"
#include "abi/settings.h"

extern const volatile __u32 filter_mode;         // enum filter_mode
extern const volatile struct asked_tasks asked;  // bpf/asked.bpf.h
extern const volatile struct event_fields event_fields[MAX_EVENTS];  // by the recording's events
extern const volatile __u32 unwind_mode;         // enum unwind_mode
extern const volatile __u32 include_idle;        // store samples of the idle task, not just count them
extern const volatile __u32 kernel_stacks;       // walk the kernel's half
extern const volatile __u32 user_stacks;         // and the program's
extern const volatile __u32 places_per_cpu;      // 2 where programs can be preempted, else 1 (bpf/scratch.bpf.h)
extern const volatile __u32 cache_levels;        // 2; benchmarks: 1 without the frame cache, 0 without the mapping cache too
extern const volatile __u64 hash_seed;           // per run: stack hashes cannot be made to collide on purpose
extern const volatile __u64 deferred_kib_ns;       // per CPU, a KiB of stack copies each such time on average; 0: none
extern const volatile __u64 wakeup_bytes;        // wake the reader when the ring holds more than this

// bpf/waiting.bpf.c
extern const volatile __u32 wait_event;              // index of the recording's events
extern const volatile __u32 wait_set_mask;           // sets of wait_sets, less one
extern const volatile __u32 wake_event;              // index of the recording's events; NO_EVENT: nobody wants to know who woke a thread
extern const volatile __u32 include_kernel_threads;  // their waits, too
extern const volatile __u64 wait_period_ns;          // waits as long as that are all kept
extern const volatile __u64 min_wait_ns, max_wait_ns;
extern const volatile __u32 some_cpus;             // only waits that end on these CPUs, and tracepoints that are passed there
extern const volatile __u64 cpu_bits[MAX_CPUS / 64];
extern volatile struct code_range schedule_code;  // __schedule()
extern volatile struct code_range wake_code;      // try_to_wake_up()
extern volatile struct code_range entry_code;     // where the kernel is entered, by a thread or an interrupt
extern volatile struct code_range thread_code[MAX_THREAD_CODE];  // where a thread enters (system calls, page faults), or acts before it goes on after an interrupt
extern volatile __u64 counted_since_ns, counted_until_ns;  // what was waited before and after is not counted

// bpf/kernel_place.bpf.c
extern const volatile struct kernel_place kernel_places[MAX_KERNEL_PLACES];
extern volatile struct code_range place_code[MAX_KERNEL_PLACES][MAX_PLACE_CODE];  // what is called between such a place and its program

// bpf/blocked.bpf.c
extern volatile __u32 blocked_mode;        // enum blocked_mode

extern volatile __u32 sampling_wanted;  // 0: events are being disabled, and what still comes is none
extern __u32 next_address_space;  // both sides take the old value with an atomic add
extern volatile __u64 reader_waits_until_ns;  // the reader sleeps, and looks by itself then; 0: it works or pauses, and nobody need wake it
extern __u64 urgent_begun, urgent_done;  // records to be read soon: before the look at reader_waits_until_ns, and in the ring
extern __u32 eviction_epoch;      // bumped by user space after a table left: invalidates cached frames
