// SPDX-License-Identifier: GPL-2.0-only
// Where the walk met something user space may know better: registers and the stack from its red zone up, for user space to go on. A token
// bucket per CPU bounds it.
#pragma once
#include "frame_cache.bpf.h"
#include "output.bpf.h"

// Time: a copy costs some for each KiB. Less than nothing after one that was larger than what was left.
struct unwind_budget {
  __u64 last_ns;
  __s64 saved_ns;
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct unwind_budget);
} unwind_budgets SEC(".maps") __weak;

// A page of slack: the copy is bounded by masks.
struct request_copy {
  struct unwind_request head;
  __u8 stack[DEFERRED_WHOLE_STACK_BYTES + 4096];
};

// By place (bpf/scratch.bpf.h). 64 KiB: with 16, a thousand plain frames could not be finished; 256: one stack in six of an encoder (SVT-AV1) is deeper. The loader sets max_entries. Not a per-CPU map: those
// hold 32 KiB at most.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, CACHED_CPUS);
  __type(key, __u32);
  __type(value, struct request_copy);
} request_copies SEC(".maps") __weak;

#define MOST_PAGES 64  // DEFERRED_WHOLE_STACK_BYTES, or more with holes
#define PAGES_IN_A_HURRY 4  // 2 us with the lock of a run queue held; most stacks are smaller
#define UNWIND_BURST_NS 1000000000ll
#define UNWIND_BASE_BYTES (16 << 10)  // what finishing one costs user space besides

static __always_inline int worth_deferring(__u32 end_reason) {
  return end_reason == END_UNMAPPED_PC || end_reason == END_NO_TABLE || end_reason == END_NO_RULE ||
         end_reason == END_UNSUPPORTED_RULE || end_reason == END_UNKNOWN_PROCESS;
}

static __always_inline int may_defer(__u64 now_ns) {
  __u32 zero = 0;
  struct unwind_budget *budget = bpf_map_lookup_elem(&unwind_budgets, &zero);
  if (!budget || deferred_kib_ns == 0) return 0;
  __s64 saved = budget->last_ns ? budget->saved_ns + (__s64)(now_ns - budget->last_ns) : UNWIND_BURST_NS;
  if (saved > UNWIND_BURST_NS) saved = UNWIND_BURST_NS;
  budget->last_ns = now_ns;
  budget->saved_ns = saved;
  return saved > 0;
}

static __always_inline void pay_deferred(__u32 copied) {
  __u32 zero = 0;
  struct unwind_budget *budget = bpf_map_lookup_elem(&unwind_budgets, &zero);
  if (budget) budget->saved_ns -= (__s64)((UNWIND_BASE_BYTES + copied) * deferred_kib_ns >> 10);
}

struct page_context {
  struct request_copy *request;
  __u32 most_bytes;
};

// head.unwind_mode counts unreadable pages in a row meanwhile: in a map the verifier does not know its value; on the stack it followed each of
// sixteen, which was half of all instructions it looked at.
static long copy_page(__u32 index, void *opaque) {
  struct page_context *context = opaque;
  struct request_copy *request = context->request;
  if (!request) return 1;
  __u32 copied = request->head.stack_bytes;
  if (copied >= context->most_bytes) return 1;
  __u64 begin = request->head.gpr[ARCH_SP] - ARCH_RED_ZONE;
  __u64 from = index ? (begin & ~4095ull) + 4096ull * index : begin;
  __u32 size = 4096 - (__u32)(from & 4095);
  if (bpf_probe_read_user(request->stack + (copied & (DEFERRED_WHOLE_STACK_BYTES - 1)), size & 4095 ? size & 4095 : 4096, (const void *)from))
    return ++request->head.unwind_mode >= DEFERRED_MAX_HOLE;
  request->head.unwind_mode = 0;
  request->head.stack_bytes = copied + size;
  request->head.pages |= 1ull << (index & 63);
  return 0;
}

// A quarter of the ring is for samples, stacks and lifecycle records only: copies are a thousand times as large, and their sample without
// one still counts. wakeup_bytes is an eighth.
static __always_inline int ring_has_room_for_copies(void) { return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) < 6 * wakeup_bytes; }

// All but the copy of the stack.
static __always_inline void fill_request(struct unwind_request *head, const struct sample_record *sample, const struct walk_state *walk) {
  head->kind = RECORD_UNWIND_REQUEST;
  head->pid = sample->pid;
  head->time_ns = sample->time_ns;
  head->address_space = sample->address_space;
  head->tid = sample->tid;
  head->end_reason = sample->end_reason;
  head->all_registers = walk->regs.all_registers & walk->regs.exact_ip;
  for (__u32 i = 0; i < ARCH_REGISTERS; i++) head->gpr[i] = walk->regs.gpr[i];
  head->ip = walk->regs.ip;
  head->unwind_mode = (__u8)unwind_mode;
  head->padding = 0;
  head->stack_bytes = 0;
  head->pages = 0;
}

static __always_inline __u64 pages_between(__u64 begin, __u64 end) { return end <= begin ? ~0ull : (end >> 12) - (begin >> 12); }

// The last page of the stack that is used at `begin`, counted from its own, if that is near: of a process' first stack, where it began; of a thread's, that of
// its own data. Of small stacks, most of a copy without end was somebody else's memory.
static __always_inline __u64 last_page_of_stack(__u64 begin) {
  struct task_struct *task = (struct task_struct *)bpf_get_current_task();
  const __u64 last = pages_between(begin, first_stack_of(task));
  return last < MOST_PAGES ? last : pages_between(begin, arch_thread_data(task));
}

// After the sample was sent.
__weak __noinline int send_unwind_request(struct scratch *memory) {
  if (!memory || !has_place(memory) || !ring_has_room_for_copies()) return -1;
  __u32 place = place_of(memory);
  struct request_copy *request = bpf_map_lookup_elem(&request_copies, &place);
  if (!request) return -1;
  struct unwind_request *head = &request->head;
  fill_request(head, &memory->record, &memory->walk);
  head->unwind_mode = 0;
  struct page_context context = {.request = request, .most_bytes = DEFERRED_STACK_BYTES};
  const __u64 last_page = last_page_of_stack(head->gpr[ARCH_SP] - ARCH_RED_ZONE);
  __u32 pages = last_page < MOST_PAGES ? (__u32)last_page + 1 : MOST_PAGES;
  if (last_page < MOST_PAGES) context.most_bytes = DEFERRED_WHOLE_STACK_BYTES;
  if (memory->in_a_hurry && pages > PAGES_IN_A_HURRY) pages = PAGES_IN_A_HURRY;
  bpf_loop(pages, copy_page, &context, 0);
  __u32 copied = head->stack_bytes & ~7u;
  if (copied > context.most_bytes) copied = context.most_bytes;  // copy_page compares before it copies: the last page may go beyond
  if (copied > DEFERRED_WHOLE_STACK_BYTES) copied = DEFERRED_WHOLE_STACK_BYTES;  // for the verifier, which does not know what a callback leaves
  head->stack_bytes = copied;
  head->unwind_mode = (__u8)unwind_mode;
  pay_deferred(copied);
  return (int)bpf_ringbuf_output(&events, request, sizeof(*head) + copied, BPF_RB_NO_WAKEUP);
}
