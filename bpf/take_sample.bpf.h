// SPDX-License-Identifier: GPL-2.0-only
// A sample of any event, from a program of any type: take_sample(context, registers, event, value). The one entry; bpf/perf_event.bpf.c shows
// how little a program adds. Every run adds exactly one outcome to its event's counters (abi/counters.h): fired = stored + lost + not wanted.
#pragma once
#include "arch.bpf.h"
#include "asked.bpf.h"
#include "fields.bpf.h"
#include "group_text.bpf.h"
#include "kernel_types.h"
#include "map_version.bpf.h"
#include "process.bpf.h"
#include "unwind_request.bpf.h"
#include "walk.bpf.h"

#include <bpf/bpf_core_read.h>

// Beside enum wait_kind, how a sample is taken.
#define SAMPLE_IN_A_HURRY 0x100  // the program keeps others waiting: little of the stack is copied for user space
#define SAMPLE_OF_WAKER 0x200    // whoever it is
#define SAMPLE_WITHOUT_STACK 0x400
#define SAMPLE_OF_PROBE 0x800  // of a place in code: whoever passes it, also where a CPU has nothing else to do. `value` is how many hits a sample stands for
#define SAMPLE_PREEMPTIBLE 0x1000  // the program can be preempted (bpf/scratch.bpf.h)
#define SAMPLE_OF_CALL 0x2000  // with SAMPLE_OF_PROBE: a call that was weighed when it began has returned. `value` is what it counts, `begin_ns` its group
#define WAIT_KIND_MASK 0xff
#define SAMPLE_PLACE_SHIFT 16  // of bpf/kernel_place.bpf.c: which one, from 1

static __always_inline int is_wanted_thread(__s32 tid) {
  if (filter_mode != FILTER_TIDS) return 1;
  return bpf_map_lookup_elem(&target_tids, &tid) != 0;
}

static __always_inline int is_target(const struct process_value *process, struct task_struct *task) {
  return process && (process->flags & (PROCESS_TARGET | PROCESS_BEFORE_EXEC)) == PROCESS_TARGET && is_wanted_thread(task->pid);
}

// How many frames are the switch or the wakeup itself and the program's way to be called. Always the same, once known.
static volatile __u32 frames_of_switch, frames_of_wakeup;
#define MAX_FRAMES_OF_SWITCH 8

// No range ends before it begins.
static __always_inline int is_in(__u64 address, volatile struct code_range *code) { return address - code->begin < code->end - code->begin; }

// Up to a function. 0: it is not there, or not known.
static __always_inline __u32 frames_up_to(const __u64 *frames, volatile struct code_range *code) {
  for (__u32 i = 0; i < MAX_FRAMES_OF_SWITCH; i++)
    if (is_in(frames[i], code)) return i + 1;
  return 0;
}

// Bytes.
static __always_inline long kernel_stack_at(void *context, struct kernel_stack *stack, __u32 how) {
  __u32 skipped = how & SAMPLE_OF_WAKER ? frames_of_wakeup : how & WAIT_KIND_MASK ? frames_of_switch : 0;
  long bytes = bpf_get_stack(context, stack->frames, sizeof(stack->frames), skipped);
  if (skipped || bytes <= 0 || !(how & (SAMPLE_OF_WAKER | WAIT_KIND_MASK))) return bytes;
  if (how & SAMPLE_OF_WAKER) {
    skipped = frames_of_wakeup = frames_up_to(stack->frames, &wake_code);
  } else {
    skipped = frames_of_switch = frames_up_to(stack->frames, &schedule_code);
  }
  return skipped ? bpf_get_stack(context, stack->frames, sizeof(stack->frames), skipped) : bytes;
}

// Whether an interrupt did this, and what it interrupted has nothing to do with it: how many frames are its own. 0: a thread did.
// FRAMES_WITHOUT_ENTRY: it is not seen how the kernel was entered.
#define FRAMES_WITHOUT_ENTRY 0xffff
__weak __noinline __u32 frames_of_interrupt(struct kernel_stack *stack, __u32 frames) {
  if (!stack) return 0;
  for (__u32 i = 0; i < MAX_KERNEL_FRAMES; i++) {
    if (i >= frames) break;
    __u64 address = stack->frames[i];
    for (__u32 k = 0; k < MAX_THREAD_CODE; k++)
      if (is_in(address, &thread_code[k])) return 0;
    if (is_in(address, &entry_code)) return i + 1;
  }
  return FRAMES_WITHOUT_ENTRY;
}

// Between a raw tracepoint and the call of its programs may be __bpf_trace_NAME, where the compiler did not make a jump of its call. NAME is that of a class of
// tracepoints, which nobody tells: it is seen by the first frame there, and kept.
static __always_inline int is_in_tracepoint(__u64 address, volatile struct code_range *known) {
  if (known->begin == 0) {
    char text[sizeof("__bpf_trace_")] = {};
    const char wanted[] = "__bpf_trace_";
    bpf_snprintf(text, sizeof(text), "%pS", &address, sizeof(address));
    int is_one = 1;
    for (__u32 i = 0; i + 1 < sizeof(wanted); i++) is_one &= text[i] == wanted[i];
    known->end = address + is_one;  // first: other CPUs look at a range that has a begin
    known->begin = address;
  }
  return is_in(address, known);
}

#define FRAME_OF_TRAMPOLINE 1  // behind the program's own

// How many frames are the program's own and those that called it at the place with that index. It is looked for each time: who else is called there changes.
__weak __noinline __u32 frames_of_program(struct kernel_stack *stack, __u32 frames, __u32 index) {
  if (!stack) return 0;
  int is_function = kernel_places[index & (MAX_KERNEL_PLACES - 1)].is_function;
  __u32 own = 0;
  for (__u32 i = 0; i < MAX_FRAMES_OF_SWITCH; i++) {
    if (i >= frames) break;
    for (__u32 k = 0; k < MAX_PLACE_CODE - 1; k++) {
      if (!is_in(stack->frames[i], &place_code[index & (MAX_KERNEL_PLACES - 1)][k])) continue;
      if (is_function) return i;
      own = i + 1;
    }
  }
  // From Linux 7 on the function may jump to the trampoline that calls the program, not call it: then it is not on the stack, and the trampoline is where it would be.
  __u64 begin = place_code[index & (MAX_KERNEL_PLACES - 1)][0].begin;
  if (is_function && begin && frames > FRAME_OF_TRAMPOLINE) {
    stack->frames[FRAME_OF_TRAMPOLINE] = begin + 1;
    return FRAME_OF_TRAMPOLINE;
  }
  if (is_function || own == 0 || own >= frames || own >= MAX_FRAMES_OF_SWITCH) return 0;
  return own + is_in_tracepoint(stack->frames[own], &place_code[index & (MAX_KERNEL_PLACES - 1)][MAX_PLACE_CODE - 1]);
}

// Hash of the kernel stack above the first `skipped` frames; its return addresses are adjusted like the user's.
__weak __noinline __u64 adjust_kernel_stack(struct kernel_stack *stack, __u32 frames, __u32 skipped) {
  if (!stack) return 0;
  __u64 hash = ~hash_seed;
  stack->frames[0]++;  // it is no return address: undoes what the loop takes off. A branch in there would be verified twice
  for (__u32 i = 0; i < MAX_KERNEL_FRAMES; i++) {
    __u32 from = i + skipped;
    barrier_var(from);  // what is compared is what is used
    if (i >= frames || from >= MAX_KERNEL_FRAMES) break;
    __u64 frame = frame_at(FRAME_KERNEL, stack->frames[from] - 1);
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

// A call of its own, because its record would take 64 bytes of stack below the walk: 6.1 counts 512 for all calls together.
__weak __noinline int report_miss(struct process_value *process, __u64 now_ns) {
  if (process) send_miss((struct task_struct *)bpf_get_current_task_btf(), process, now_ns);
  return 0;
}

// What the walk found, into the record.
static __always_inline void take_walk(struct scratch *memory) {
  struct sample_record *record = &memory->record;
  if (record->flags & SAMPLE_NEW_TASK) end_new_task(memory, record->flags & SAMPLE_NEW_STACK);
  record->end_reason = (__u8)memory->walk.end_reason;
  record->user_frames = (__u16)memory->walk.frames;
  record->user_stack = memory->walk.hash;
}

static __always_inline void walk_user_side(struct scratch *memory, struct process_value *process, struct event_counters *counts) {
  struct sample_record *record = &memory->record;
  struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
  // The mm is looked at where it can differ from the process' (a helper call costs as much as three frames): in an exec, in an exit, at
  // the first sight.
  int in_exec = BPF_CORE_READ_BITFIELD(task, in_execve);
  __u64 mm = process ? process->mm : 0;
  if (!mm || in_exec || task->flags & PF_EXITING) mm = mm_of(task);
  if (!mm) return;
  if (!process) {
    record->end_reason = END_UNKNOWN_PROCESS;
    return;
  }
  if (process->mm ? process->mm != mm : in_exec) {
    record->end_reason = END_EXEC;  // a process that user space announced has no mm yet, and must not learn it here
    return;
  }
  if (process->mm == 0) process->mm = mm;
  int may_send = has_place(memory) && !(record->flags & SAMPLE_32_BIT);
  if (may_send && mappings_changed(record->address_space, mm) && may_defer(record->time_ns)) {
    record->end_reason = END_MAPPINGS_CHANGED;
    record->flags |= SAMPLE_DEFERRED;
    memory->walk.has_registers = 1;
    add_count(counts, COUNTER_MAPPINGS_CHANGED, 1);
    return;
  }
  walk_user_stack(memory, record->address_space, record->time_ns, record->flags & SAMPLE_32_BIT);
  take_walk(memory);
  add_count(counts, COUNTER_FRAME_CACHE_MISS, memory->walk.missed);
  add_count(counts, COUNTER_FRAME_CACHE_HIT, memory->walk.frames - memory->walk.missed);
  if (record->end_reason == END_UNMAPPED_PC) report_miss(process, record->time_ns);
  if (!may_send || !worth_deferring(record->end_reason)) return;
  if (!may_defer(record->time_ns)) {
    add_count(counts, COUNTER_UNWIND_LIMITED, 1);
    return;
  }
  // User space goes on from the registers of the frame where the walk stopped: the fast path has not got them. A table may have come since; then it does not stop there.
  if (!memory->walk.has_registers) {
    walk_with_registers(memory);
    take_walk(memory);
  }
  if (worth_deferring(record->end_reason)) record->flags |= SAMPLE_DEFERRED;
}

// The user side of memory->record, whose registers are in memory->walk.regs, and everything into the ring. Returns the outcome. Knows no
// program type, so that it is verified once for all of them. `process` may be null.
__weak __noinline int finish_sample(struct scratch *memory, struct process_value *process, struct event_counters *counts) {
  if (!memory || !counts) return COUNTER_LOST_NO_SCRATCH;
  struct sample_record *record = &memory->record;
  if (memory->has_user_side) walk_user_side(memory, process, counts);
  if (record->kernel_stack &&
      send_stack_once(&memory->kernel.record, STACK_KERNEL, record->kernel_stack, 0, memory->kernel_frames, MAX_KERNEL_FRAMES))
    return COUNTER_LOST_STACK_RING_FULL;
  if (record->user_stack && send_stack_once(&memory->user.record, STACK_USER, record->user_stack, record->address_space,
                                            record->user_frames, MAX_USER_FRAMES))
    return COUNTER_LOST_STACK_RING_FULL;
  if (bpf_ringbuf_output(&events, record, sizeof(*record), ring_wakeup(counts))) return COUNTER_LOST_SAMPLE_RING_FULL;
  if (record->flags & SAMPLE_DEFERRED)
    add_count(counts, send_unwind_request(memory) ? COUNTER_UNWIND_RING_FULL : COUNTER_UNWIND_REQUESTS, 1);
  return COUNTER_STORED;
}

// `process` may be null; `wait`: enum wait_kind. A call, because the caller's stack lies below the walk.
static __noinline void begin_record(struct sample_record *record, struct task_struct *task, const struct process_value *process, __u32 event, __u32 wait) {
  *record = (struct sample_record){
      .kind = RECORD_SAMPLE,
      .pid = task->tgid,
      .tid = task->pid,
      .time_ns = bpf_ktime_get_ns(),
      .cpu = (__u16)bpf_get_smp_processor_id(),
      .event = (__u8)event,
      .wait = (__u8)wait,
      .system_call = NO_USER_SIDE,
      .uid = effective_uid(task),
  };
  if (!process) return;
  record->address_space = process->address_space;
  record->start_ticks_low = start_ticks_low_of(process);
  record->start_in_tick = start_in_tick_of(process);
}

static __always_inline int has_user_side(struct task_struct *task) { return !(task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)); }

// Of a waker: INTERRUPT_ID, whose frames are left; SOMEBODY_ID, if that is not known; 0: the task itself. Who has no user side enters nowhere.
static __always_inline __s32 find_nobody(struct scratch *memory, struct task_struct *task) {
  __u32 frames = frames_of_interrupt(&memory->kernel, memory->kernel_frames);
  if (frames && frames != FRAMES_WITHOUT_ENTRY) {
    memory->kernel_frames = frames;
    return INTERRUPT_ID;
  }
  if (task->pid == 0) return INTERRUPT_ID;  // it only waits for one, and does what was left of it
  return frames && has_user_side(task) ? SOMEBODY_ID : 0;
}

// The outcome.
static __always_inline int sample_task(void *context, const struct event_registers *regs, __u32 event, __u64 value, __u32 how, struct task_struct *woken, __u64 begin_ns, __u32 place, struct event_counters *counts) {
  if (!sampling_wanted) return COUNTER_FILTERED;
  struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
  __s32 tgid = task->tgid;
  int is_anybody = how & SAMPLE_OF_WAKER;
  int is_idle = task->pid == 0 && !is_anybody && !(how & SAMPLE_OF_PROBE);
  if (is_idle && !include_idle) return COUNTER_IDLE;
  if (!is_anybody && !is_asked_for(task)) return COUNTER_FILTERED;
  struct process_value *process = 0;
  if (filter_mode != FILTER_ALL || !(task->flags & PF_KTHREAD)) process = bpf_map_lookup_elem(&processes, &tgid);
  if (filter_mode == FILTER_ALL) {
    if (!process && !(task->flags & PF_KTHREAD) && mm_of(task)) {
      process = adopt_process(task, PROCESS_TARGET);
      report_miss(process, bpf_ktime_get_ns());
    }
  } else if (!is_anybody && !is_target(process, task)) {
    return COUNTER_FILTERED;
  }
  struct hit hit = {.value = value};
  if (how & SAMPLE_OF_PROBE) {
    if (process && process->flags & PROCESS_OWN) return COUNTER_FILTERED;
    if (!is_asked_cpu(bpf_get_smp_processor_id())) return COUNTER_FILTERED;
    int fate = how & SAMPLE_OF_CALL ? take_call(event, place, begin_ns, &hit) : weigh_hit(context, event, place, &hit);
    if (fate != COUNTER_STORED) return fate;
  }
  struct scratch *memory = claim_scratch(how & SAMPLE_PREEMPTIBLE);
  if (!memory) return COUNTER_LOST_NO_SCRATCH;
  if (hit.group_kind == GROUP_TEXT && !(how & SAMPLE_OF_CALL)) {
    int fate = hash_group(memory, &hit);
    if (fate != COUNTER_STORED) {
      release_scratch(memory);
      return fate;
    }
  }
  struct sample_record *record = &memory->record;
  begin_record(record, task, process, event, how & WAIT_KIND_MASK);
  record->value = hit.value;
  record->group = hit.group_kind;
  record->begin_ns = how & SAMPLE_OF_PROBE ? hit.group : begin_ns;
  __u32 flags = is_idle ? SAMPLE_IDLE : 0;
  __s32 nobody = 0;
  if (!regs || !is_user_mode(regs)) {
    flags |= SAMPLE_IN_KERNEL;
    if ((kernel_stacks || is_anybody) && !(how & SAMPLE_WITHOUT_STACK)) {
      long bytes = kernel_stack_at(context, &memory->kernel, how);
      memory->kernel_frames = bytes > 0 ? (__u32)bytes / 8 : 0;
      if (is_anybody) nobody = find_nobody(memory, task);
      __u32 place = how >> SAMPLE_PLACE_SHIFT;
      __u32 skipped = place ? frames_of_program(&memory->kernel, memory->kernel_frames, place - 1) : 0;
      memory->kernel_frames -= skipped;
      if (kernel_stacks && memory->kernel_frames) record->kernel_stack = adjust_kernel_stack(&memory->kernel, memory->kernel_frames, skipped);
    }
  }
  if (how & SAMPLE_WITHOUT_STACK) nobody = SOMEBODY_ID;
  if (nobody) {
    record->pid = record->tid = nobody;
    record->address_space = record->start_ticks_low = record->start_in_tick = record->uid = 0;
    process = 0;
  }
  memory->in_a_hurry = how & SAMPLE_IN_A_HURRY;
  memory->has_user_side = user_stacks && !nobody && has_user_side(task) && read_user_registers(regs, task, memory->walk.regs.gpr, &memory->walk.regs.ip, &flags);
  if (how & WAIT_KIND_MASK) {
    struct task_struct *waiting = is_anybody ? woken : task;
    if (waiting && has_user_side(waiting) && !(is_anybody && is_32_bit(waiting))) record->system_call = system_call_of(waiting);
  }
  memory->walk.regs.exact_ip = 1;
  memory->walk.regs.all_registers = 1;
  record->flags = (__u8)flags;
  int outcome = finish_sample(memory, process, counts);
  release_scratch(memory);
  return outcome;
}

// Of the current task. `context`: the program's own; `regs`: those at the event, null where the program has none (it runs in the kernel);
// `value`: in the event's unit; `how`: enum wait_kind and SAMPLE_*; `woken`: of SAMPLE_OF_WAKER, else null;
// `begin_ns`: as sample_record has it; `place`: as find_fields() has it.
static __always_inline void take_sample_at(void *context, const struct event_registers *regs, __u32 event, __u64 value, __u32 how, struct task_struct *woken, __u64 begin_ns, __u32 place) {
  struct event_counters *counts = bpf_map_lookup_elem(&counters, &event);
  if (!counts) return;
  __sync_fetch_and_add(&counts->value_sum, value);
  int outcome = sample_task(context, regs, event, value, how, woken, begin_ns, place, counts);
  if (outcome < 0 || outcome >= COUNTER_COUNT) return;
  add_count(counts, (__u32)outcome, 1);
  if (how && !(how & SAMPLE_OF_PROBE) && outcome >= COUNTER_LOST_SAMPLE_RING_FULL && outcome <= COUNTER_LOST_NO_SCRATCH) add_count(counts, COUNTER_LOST_WAITED_NS, value);
}

// Of an event whose places do not differ.
static __always_inline void take_sample(void *context, const struct event_registers *regs, __u32 event, __u64 value, __u32 how, struct task_struct *woken, __u64 begin_ns) {
  take_sample_at(context, regs, event, value, how, woken, begin_ns, 0);
}
