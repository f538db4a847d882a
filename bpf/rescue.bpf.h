// SPDX-License-Identifier: GPL-2.0-only
// Where the walk met something user space may know better: registers and the stack from there up, for user space to go on. A token
// bucket per CPU bounds it.
#pragma once
#include "output.bpf.h"

struct rescue_budget {
  __u64 last_ns;
  __u64 saved_ns;
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct rescue_budget);
} rescue_tokens SEC(".maps") __weak;

static __always_inline int worth_rescue(__u32 end_reason) {
  return end_reason == END_UNMAPPED_PC || end_reason == END_NO_TABLE || end_reason == END_NO_RULE ||
         end_reason == END_UNSUPPORTED_RULE || end_reason == END_UNKNOWN_PROCESS;
}

static __always_inline int take_rescue_token(__u64 now_ns) {
  __u32 zero = 0;
  struct rescue_budget *budget = bpf_map_lookup_elem(&rescue_tokens, &zero);
  if (!budget || rescue_interval_ns == 0) return 0;
  __u64 saved = budget->last_ns ? budget->saved_ns + (now_ns - budget->last_ns) : rescue_burst_ns;
  if (saved > rescue_burst_ns) saved = rescue_burst_ns;
  budget->last_ns = now_ns;
  int granted = saved >= rescue_interval_ns;
  budget->saved_ns = granted ? saved - rescue_interval_ns : saved;
  return granted;
}

// After the sample was sent: overwrites the user stack's memory.
__weak __noinline int send_rescue(struct scratch *memory, const struct sample_record *sample) {
  if (!memory || !sample) return -1;
  struct rescue *rescue = &memory->rescue;
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
  // To the first unreadable page.
  __u64 stack_pointer = walk->regs.gpr[REG_RSP];
  __u32 copied = 0;
  for (__u32 page = 0; page < RESCUE_STACK_BYTES / 4096 + 1; page++) {
    __u64 from = stack_pointer + copied;
    __u32 size = 4096 - (__u32)(from & 4095);
    if (copied >= RESCUE_STACK_BYTES) break;
    if (bpf_probe_read_user(rescue->stack + (copied & (RESCUE_STACK_BYTES - 1)), size & 4095 ? size & 4095 : 4096, (const void *)from))
      break;
    copied += size;
  }
  if (copied > RESCUE_STACK_BYTES) copied = RESCUE_STACK_BYTES;
  copied &= ~7u;
  rescue->record.stack_bytes = copied;
  return (int)bpf_ringbuf_output(&events, rescue, sizeof(rescue->record) + (copied & 0x7fff), BPF_RB_NO_WAKEUP);
}
