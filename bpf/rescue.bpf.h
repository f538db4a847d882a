// SPDX-License-Identifier: GPL-2.0-only
// Where the walk met something user space may know better: registers and the stack from there up, for user space to go on. A token
// bucket per CPU bounds it.
#pragma once
#include "frame_cache.bpf.h"
#include "output.bpf.h"

// Time: a copy costs some for each KiB. Less than nothing after one that was larger than what was left.
struct rescue_budget {
  __u64 last_ns;
  __s64 saved_ns;
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct rescue_budget);
} rescue_tokens SEC(".maps") __weak;

// A page of slack: the copy is bounded by masks.
struct rescue {
  struct rescue_record record;
  __u8 stack[RESCUE_STACK_BYTES + 4096];
};

// One a CPU, for the run that holds scratch slot 0. 64 KiB: with 16, a thousand plain frames could not be finished. The loader
// sets max_entries to the number of possible CPUs. Not a per-CPU map: those hold 32 KiB at most.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, MAX_CPUS);
  __type(key, __u32);
  __type(value, struct rescue);
} rescue_copies SEC(".maps") __weak;

#define RESCUE_BURST_NS 1000000000ll
#define RESCUE_BASE_BYTES (16 << 10)  // what finishing one costs user space besides

static __always_inline int worth_rescue(__u32 end_reason) {
  return end_reason == END_UNMAPPED_PC || end_reason == END_NO_TABLE || end_reason == END_NO_RULE ||
         end_reason == END_UNSUPPORTED_RULE || end_reason == END_UNKNOWN_PROCESS;
}

static __always_inline int may_rescue(__u64 now_ns) {
  __u32 zero = 0;
  struct rescue_budget *budget = bpf_map_lookup_elem(&rescue_tokens, &zero);
  if (!budget || rescue_kib_ns == 0) return 0;
  __s64 saved = budget->last_ns ? budget->saved_ns + (__s64)(now_ns - budget->last_ns) : RESCUE_BURST_NS;
  if (saved > RESCUE_BURST_NS) saved = RESCUE_BURST_NS;
  budget->last_ns = now_ns;
  budget->saved_ns = saved;
  return saved > 0;
}

static __always_inline void pay_rescue(__u32 copied) {
  __u32 zero = 0;
  struct rescue_budget *budget = bpf_map_lookup_elem(&rescue_tokens, &zero);
  if (budget) budget->saved_ns -= (__s64)((RESCUE_BASE_BYTES + copied) * rescue_kib_ns >> 10);
}

struct page_copy {
  struct rescue *rescue;
};

// record.padding counts unreadable pages in a row meanwhile: in a map the verifier does not know its value; on the stack it followed each of
// sixteen, which was half of all instructions it looked at.
static long copy_page(__u32 index, void *opaque) {
  struct page_copy *copy = opaque;
  struct rescue *rescue = copy->rescue;
  if (!rescue) return 1;
  __u32 copied = rescue->record.stack_bytes;
  if (copied >= RESCUE_STACK_BYTES) return 1;
  __u64 sp = rescue->record.gpr[ARCH_SP];
  __u64 from = index ? (sp & ~4095ull) + 4096ull * index : sp;
  __u32 size = 4096 - (__u32)(from & 4095);
  if (bpf_probe_read_user(rescue->stack + (copied & (RESCUE_STACK_BYTES - 1)), size & 4095 ? size & 4095 : 4096, (const void *)from))
    return ++rescue->record.padding >= RESCUE_MAX_HOLE;
  rescue->record.padding = 0;
  rescue->record.stack_bytes = copied + size;
  rescue->record.pages |= 1ull << (index & 63);
  return 0;
}

// After the sample was sent.
__weak __noinline int send_rescue(struct scratch *memory, const struct sample_record *sample) {
  if (!memory || !sample || memory->slot != 0) return -1;
  __u32 cpu = bpf_get_smp_processor_id();
  struct rescue *rescue = bpf_map_lookup_elem(&rescue_copies, &cpu);
  if (!rescue) return -1;
  struct walk_state *walk = &memory->walk;
  rescue->record.kind = RECORD_RESCUE;
  rescue->record.pid = sample->pid;
  rescue->record.time_ns = sample->time_ns;
  rescue->record.address_space = sample->address_space;
  rescue->record.cpu = sample->cpu;
  rescue->record.end_reason = sample->end_reason;
  rescue->record.all_registers = walk->regs.all_registers;
  for (__u32 i = 0; i < 16; i++) rescue->record.gpr[i] = walk->regs.gpr[i];
  rescue->record.ip = walk->regs.ip;
  rescue->record.padding = 0;
  rescue->record.stack_bytes = 0;
  rescue->record.pages = 0;
  struct page_copy copy = {.rescue = rescue};
  bpf_loop(64, copy_page, &copy, 0);
  __u32 copied = rescue->record.stack_bytes & ~7u;
  if (copied > RESCUE_STACK_BYTES) copied = RESCUE_STACK_BYTES;
  rescue->record.stack_bytes = copied;
  rescue->record.padding = 0;
  pay_rescue(copied);
  return (int)bpf_ringbuf_output(&events, rescue, sizeof(rescue->record) + copied, BPF_RB_NO_WAKEUP);
}
