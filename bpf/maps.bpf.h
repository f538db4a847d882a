// SPDX-License-Identifier: GPL-2.0-only
// Every map: who writes, who reads, why this size, what happens when it is full. Weak, because each object that includes this
// defines them again and the linker keeps one.
#pragma once
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "abi/counters.h"
#include "abi/event_fields.h"
#include "abi/java_code.h"
#include "abi/mapping.h"
#include "abi/records.h"
#include "abi/settings.h"
#include "abi/unwind_table.h"

#define UNWIND_PLACES 65536
#define UNWIND_SLABS 1024
#define STACK_TAGS 65536

// User space writes, the walk reads. The loader sets the size. Full: user space evicts the least recently sampled space.
struct {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 262144);
  __type(key, struct mapping_key);
  __type(value, struct mapping_value);
} exec_mappings SEC(".maps") __weak;

// User space writes through mmap, the walk reads; by image id modulo size. Two images on one place: the older loses its table.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, UNWIND_PLACES);
  __type(key, __u32);
  __type(value, struct unwind_place);
} unwind_places SEC(".maps") __weak;

struct unwind_slab {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, UNWIND_CHUNK_BYTES);  // a sized type would be a forward declaration in objects that never look inside
};

// User space inserts slabs (arrays of any length) and fills them through mmap, the walk reads. 1,024 slabs are more than any
// memory cap asks for.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, UNWIND_SLABS);
  __type(key, __u32);
  __array(values, struct unwind_slab);
} unwind_slabs SEC(".maps") __weak;

// Address space -> the code of the Java virtual machine in it. User space writes, the walk reads. Full: such code is walked by frame pointer.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, __u32);
  __type(value, struct java_code);
} java_codes SEC(".maps") __weak;

// Address space -> the rule of all code that a language machine in it has generated (LuaJIT). User space writes, the walk reads.
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, __u32);
  __type(value, struct unwind_rule);
} machine_rules SEC(".maps") __weak;

// tgid -> process. Lifecycle programs and the sampler write; user space adds with BPF_NOEXIST. Full: PROCESS_TABLE_FULL, such
// processes have no user stack. Twice the default kernel.pid_max.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __type(key, __s32);
  __type(value, struct process_value);
} processes SEC(".maps") __weak;

// tid -> 1. User space writes; FILTER_TIDS only.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 4096);
  __type(key, __s32);
  __type(value, __u32);
} target_tids SEC(".maps") __weak;

// Of places whose arguments the compiler leaves where it likes (USDT probes, functions with arguments by name): where they are, by cookie_fields(). User space writes one before
// it attaches a place with it; event_fields[] has those of all other events. The loader makes it larger for these. Full: more places are left out.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct event_fields);
} place_fields SEC(".maps") __weak;

// All records. The loader sets the size. Full: the sample is counted as lost.
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 8 << 20);
} events SEC(".maps") __weak;

// By event. Programs write, the summary reads.
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, MAX_EVENTS);
  __type(key, __u32);
  __type(value, struct event_counters);
} counters SEC(".maps") __weak;

// The walk writes when it last looked an image up (CLOCK_MONOTONIC ns, fresh to a few seconds), eviction reads. Indexed like unwind_places.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, UNWIND_PLACES);
  __type(key, __u32);
  __type(value, __u64);
} usage SEC(".maps") __weak;

// User space bumps generations, the walk writes last_sampled_s.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, ADDRESS_SPACE_STATES);
  __type(key, __u32);
  __type(value, struct address_space_state);
} address_spaces SEC(".maps") __weak;

// Hash of the last stack sent through each slot. An overwritten tag means sending again, nothing else: user space clears them.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, STACK_TAGS);
  __type(key, __u32);
  __type(value, __u64);
} stack_tags SEC(".maps") __weak;

// resolve_kernel_symbols only.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct kernel_symbol_batch);
} kernel_symbols SEC(".maps") __weak;

// Atomic: a program can be interrupted by another one of the same event, and an uprobe's also preempted.
static __always_inline void add_count(struct event_counters *counts, __u32 which, __u64 number) { __sync_fetch_and_add(&counts->counter[which], number); }

// What belongs to no event.
static __always_inline void count(__u32 which) {
  __u32 first = 0;
  struct event_counters *counts = bpf_map_lookup_elem(&counters, &first);
  if (counts) add_count(counts, which, 1);
}
