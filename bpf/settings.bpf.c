// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "settings.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u32 filter_mode = FILTER_ALL;
const volatile struct asked_tasks asked = {};
const volatile struct event_fields event_fields[MAX_EVENTS] = {};
const volatile __u32 unwind_mode = UNWIND_AUTO;
const volatile __u32 include_idle = 0;
const volatile __u32 kernel_stacks = 1;
const volatile __u32 user_stacks = 1;
const volatile __u32 places_per_cpu = 1;
const volatile __u32 cache_levels = 2;
const volatile __u64 hash_seed = 0x9e3779b97f4a7c15;
const volatile __u64 deferred_kib_ns = 15259;  // 64 MiB a second and CPU
const volatile __u64 wakeup_bytes = 1 << 20;
const volatile __u32 wait_event = 0;
const volatile __u32 wait_set_mask = 0;
const volatile __u32 wake_event = NO_EVENT;
const volatile __u32 include_kernel_threads = 0;
const volatile __u64 wait_period_ns = 10000000;
const volatile __u64 min_wait_ns = 0;
const volatile __u64 max_wait_ns = ~0ull;
const volatile __u32 some_cpus = 0;
const volatile __u64 cpu_bits[MAX_CPUS / 64] = {};
const volatile struct kernel_place kernel_places[MAX_KERNEL_PLACES] = {};

volatile struct code_range place_code[MAX_KERNEL_PLACES][MAX_PLACE_CODE] = {};
volatile struct code_range schedule_code = {};
volatile struct code_range wake_code = {};
volatile struct code_range entry_code = {};
volatile struct code_range thread_code[MAX_THREAD_CODE] = {};
volatile __u64 counted_since_ns = 0;
volatile __u64 counted_until_ns = ~0ull;
volatile __u32 blocked_mode = BLOCKED_NOTE;
volatile __u32 sampling_wanted = 1;
__u32 next_address_space = 1;
__u32 eviction_epoch = 0;
volatile __u64 reader_waits_until_ns = 0;
__u64 urgent_begun = 0;
__u64 urgent_done = 0;
