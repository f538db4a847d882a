// SPDX-License-Identifier: GPL-2.0-only
// CPU sampling. Every run adds exactly one outcome to the counters (abi/counters.h): fired = stored + lost + not wanted.
#include "kernel_types.h"
#include "process.bpf.h"
#include "rescue.bpf.h"
#include "walk.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

static __always_inline int is_wanted_thread(__s32 tid) {
  if (filter_mode != FILTER_TIDS) return 1;
  return bpf_map_lookup_elem(&target_tids, &tid) != 0;
}

#define SYSCALL_CLONE 56
#define SYSCALL_CLONE3 435

// SAMPLE_NEW_TASK and SAMPLE_NEW_STACK for a task that has not been back in user mode since clone made it: it has its parent's registers, but
// for the 0 of the system call and, if it was given one, the stack. clone says so in a register; clone3, in memory that may have changed.
static __always_inline __u32 new_task_flags(const struct pt_regs *saved) {
  if (saved->ax != 0) return 0;
  if (saved->orig_ax == SYSCALL_CLONE) return saved->si != 0 ? SAMPLE_NEW_TASK | SAMPLE_NEW_STACK : SAMPLE_NEW_TASK;
  return saved->orig_ax == SYSCALL_CLONE3 ? SAMPLE_NEW_TASK : 0;
}

// The user's registers at the sample, or at the entry to the kernel. 0: there are none.
static __always_inline int read_user_registers(struct perf_event_context *context, struct task_struct *task, struct unwind_regs *regs,
                                               __u64 *code_segment, __u32 *new_task) {
#define READ(r)                                                                                            \
  regs->gpr[0] = (r)->ax, regs->gpr[1] = (r)->dx, regs->gpr[2] = (r)->cx, regs->gpr[3] = (r)->bx;          \
  regs->gpr[4] = (r)->si, regs->gpr[5] = (r)->di, regs->gpr[6] = (r)->bp, regs->gpr[7] = (r)->sp;          \
  regs->gpr[8] = (r)->r8, regs->gpr[9] = (r)->r9, regs->gpr[10] = (r)->r10, regs->gpr[11] = (r)->r11;      \
  regs->gpr[12] = (r)->r12, regs->gpr[13] = (r)->r13, regs->gpr[14] = (r)->r14, regs->gpr[15] = (r)->r15;  \
  regs->ip = (r)->ip
  if (context->regs.cs & 3) {
    READ(&context->regs);
    *code_segment = context->regs.cs & 0xffff;
  } else {
    struct pt_regs *saved = (struct pt_regs *)bpf_task_pt_regs(task);
    if (!saved) return 0;
    READ(saved);
    *code_segment = saved->cs;
    *new_task = new_task_flags(saved);
    if (!(*code_segment & 3)) return 0;
  }
#undef READ
  regs->exact_ip = 1;
  regs->all_registers = 1;
  return 1;
}

// Hash of the kernel stack; its return addresses are adjusted like the user's.
__weak __noinline __u64 adjust_kernel_stack(struct kernel_stack *stack, __u32 frames) {
  if (!stack) return 0;
  __u64 hash = ~hash_seed;
  for (__u32 i = 0; i < MAX_KERNEL_FRAMES; i++) {
    if (i >= frames) break;
    __u64 frame = frame_at(FRAME_KERNEL, stack->frames[i] - (i ? 1 : 0));
    stack->frames[i] = frame;
    hash = mix_hash(hash, frame);
  }
  return hash ? hash : 1;
}

static __always_inline void end_new_task(struct scratch *memory, __u32 new_stack) {
  struct walk_state *walk = &memory->walk;
  __u64 leaf = memory->user.frames[0];
  if (!unwind_has_no_caller(leaf, memory->user.frames[1], walk->frames, walk->end_reason, new_stack)) return;
  walk->frames = 1;
  walk->hash = mix_hash(hash_seed, leaf);
  walk->end_reason = END_OUTERMOST;
}

static __always_inline int sample(struct perf_event_context *context, struct cpu_counters *counts, struct scratch *memory,
                                  struct task_struct *task, struct process_value *process) {
  __u64 now_ns = bpf_ktime_get_ns();
  struct sample_record record = {
      .kind = RECORD_SAMPLE,
      .pid = task->tgid,
      .tid = task->pid,
      .time_ns = now_ns,
      .cpu = (__u16)bpf_get_smp_processor_id(),
      .weight = 1,
  };
  __u32 kernel_frames = 0;
  int in_kernel = !(context->regs.cs & 3);
  if (in_kernel) {
    record.flags |= SAMPLE_IN_KERNEL;
    if (kernel_stacks) {
      long bytes = bpf_get_stack(context, memory->kernel.frames, sizeof(memory->kernel.frames), 0);
      kernel_frames = bytes > 0 ? (__u32)bytes / 8 : 0;
      if (kernel_frames) record.kernel_stack = adjust_kernel_stack(&memory->kernel, kernel_frames);
    }
  }
  if (record.pid == 0) record.flags |= SAMPLE_IDLE;
  record.end_reason = END_NONE;
  if (process) {
    record.address_space = process->address_space;
    record.start_ticks_low = (__u32)(process->start_ns / USER_HZ_NS);
    record.start_in_tick = (__u16)((process->start_ns % USER_HZ_NS << 16) / USER_HZ_NS);
  }

  // The mm is looked at where it can differ from the process' (a helper call costs as much as three frames): in an exec, in an exit, at
  // the first sight.
  int in_exec = BPF_CORE_READ_BITFIELD(task, in_execve);
  __u64 mm = process ? process->mm : 0;
  if (!mm || in_exec || task->flags & PF_EXITING) mm = mm_of(task);
  __u64 code_segment = 0;
  __u32 new_task = 0;
  int has_user_side = mm && !(task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) &&
                      read_user_registers(context, task, &memory->walk.regs, &code_segment, &new_task);
  memory->walk.frames = 0;
  if (!has_user_side) {
  } else if (!process) {
    record.end_reason = END_UNKNOWN_PROCESS;
  } else if (process->mm ? process->mm != mm : in_exec) {
    record.end_reason = END_EXEC;  // a process that user space announced has no mm yet, and must not learn it here
  } else {
    if (process->mm == 0) process->mm = mm;
    int is_32_bit = code_segment == USER_CODE_SEGMENT_32;
    if (is_32_bit) record.flags |= SAMPLE_32_BIT;
    walk_user_stack(memory, record.address_space, now_ns, is_32_bit);
    if (new_task) {
      record.flags |= (__u8)new_task;
      end_new_task(memory, new_task & SAMPLE_NEW_STACK);
    }
    record.end_reason = (__u8)memory->walk.end_reason;
    record.user_frames = (__u16)memory->walk.frames;
    record.user_stack = memory->walk.hash;
    counts->counter[COUNTER_FRAME_CACHE_MISS] += memory->walk.missed;
    counts->counter[COUNTER_FRAME_CACHE_HIT] += memory->walk.frames - memory->walk.missed;
    if (record.end_reason == END_UNMAPPED_PC) send_miss(task, process, now_ns);
    if (worth_rescue(record.end_reason) && !is_32_bit && memory->slot == 0) {
      if (may_rescue(now_ns))
        record.flags |= SAMPLE_RESCUE;
      else
        counts->counter[COUNTER_RESCUE_LIMITED]++;
    }
  }

  if (record.kernel_stack &&
      send_stack_once(&memory->kernel.record, STACK_KERNEL, record.kernel_stack, 0, kernel_frames, MAX_KERNEL_FRAMES))
    return COUNTER_LOST_STACK_RING_FULL;
  if (record.user_stack && send_stack_once(&memory->user.record, STACK_USER, record.user_stack, record.address_space,
                                           record.user_frames, MAX_USER_FRAMES))
    return COUNTER_LOST_STACK_RING_FULL;
  if (bpf_ringbuf_output(&events, &record, sizeof(record), ring_wakeup(counts))) return COUNTER_LOST_SAMPLE_RING_FULL;
  if (record.flags & SAMPLE_RESCUE) {
    // Registers of the frame where the walk stopped: the fast path has not got them.
    if (!memory->walk.has_registers) walk_with_registers(memory);
    counts->counter[send_rescue(memory, &record) ? COUNTER_RESCUE_RING_FULL : COUNTER_RESCUE_SENT]++;
  }
  return COUNTER_STORED;
}

SEC("perf_event")
int on_cpu_sample(struct perf_event_context *context) {
  struct cpu_counters *counts = this_cpu_counters();
  if (!counts) return 0;
  counts->period_sum += context->sample_period;
  struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
  __s32 tgid = task->tgid;
  __s32 tid = task->pid;
  if (tid == 0 && !include_idle) {
    counts->counter[COUNTER_IDLE]++;
    return 0;
  }
  struct process_value *process = 0;
  if (filter_mode != FILTER_ALL || !(task->flags & PF_KTHREAD)) process = bpf_map_lookup_elem(&processes, &tgid);
  if (filter_mode == FILTER_ALL) {
    if (!process && !(task->flags & PF_KTHREAD) && mm_of(task)) {
      process = adopt_process(task, PROCESS_TARGET);
      if (process) send_miss(task, process, bpf_ktime_get_ns());
    }
  } else if (!process || (process->flags & (PROCESS_TARGET | PROCESS_BEFORE_EXEC)) != PROCESS_TARGET || !is_wanted_thread(tid)) {
    counts->counter[COUNTER_FILTERED]++;
    return 0;
  }
  struct scratch *memory = claim_scratch();
  if (!memory) {
    counts->counter[COUNTER_LOST_NO_SCRATCH]++;
    return 0;
  }
  int outcome = sample(context, counts, memory, task, process);
  counts->counter[outcome]++;
  release_scratch(memory);
  return 0;
}
