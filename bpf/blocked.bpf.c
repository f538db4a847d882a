// SPDX-License-Identifier: GPL-2.0-only
// Threads that wait already when a recording begins, and still when it ends: no switch shows these. So user space has a look at all threads, which
// notes the ones, and gives it the others (struct blocked_thread), whose user stacks it reads itself: that can take as long as whoever serves
// the memory likes. Meanwhile switches are followed: a thread that returns is taken there or here, never at both.
#include "waits.bpf.h"

#include <bpf/bpf_tracing.h>

static __always_inline __u64 turns_of(struct task_struct *task) {
  return bpf_core_field_exists(task->sched_info.pcount) ? task->sched_info.pcount : 0;
}

static __always_inline int is_blocked(struct task_struct *task) {
  return task->exit_state == 0 && !(bpf_core_field_exists(task->on_cpu) && task->on_cpu);
}

// Where it was, or is to go on.
static __always_inline __u32 cpu_of(struct task_struct *task) { return bpf_core_field_exists(task->thread_info.cpu) ? task->thread_info.cpu : 0; }

// Threads that are noted in one look: each has a beginning of its own, by which a wakeup finds its wait.
static __u64 noted;

// It may run at any moment. on_switch has the last word: what it has noted stays, and what is noted of a thread that runs it replaces.
static __always_inline void note_blocked(struct task_struct *task, struct wait_set *set) {
  __u32 tid = (__u32)task->pid;
  if (find_slot(set, tid) || !may_take_slot(task)) return;
  __u32 who = tid | (__u32)kind_of_wait(task, 0, task->__state) << TID_BITS;
  struct wait_slot *slot = add_slot(set, who);
  if (!slot) return;
  if (task->exit_state) {
    __sync_val_compare_and_swap(&slot->who, who, 0);
    return;
  }
  slot->ready = wake_event == NO_EVENT ? run_delay_of(task) : 0;
  __sync_val_compare_and_swap(&slot->since_ns, 0, counted_since_ns + __sync_fetch_and_add(&noted, 1));
}

// Bytes, as bpf_get_stack() has it. The kernel collects them in a place of this CPU's, which whoever runs in between may use, too.
static __always_inline long kernel_stack_of(struct task_struct *task, struct kernel_stack *stack) {
  struct task_struct *self = (struct task_struct *)bpf_get_current_task_btf();
  for (int i = 0; i < 4; i++) {
    __u64 turns = turns_of(self);
    long bytes = bpf_get_task_stack(task, stack->frames, sizeof(stack->frames), 0);
    if (turns_of(self) == turns) return bytes;
  }
  return 0;
}

// Its user side is left to user space. `process` may be null.
static __always_inline void begin_user_side(struct task_struct *task, struct scratch *memory, struct process_value *process) {
  struct sample_record *record = &memory->record;
  __u64 mm = mm_of(task);
  __u32 flags = SAMPLE_IN_KERNEL;
  if (mm && has_user_side(task) && read_user_registers(0, task, memory->walk.regs.gpr, &memory->walk.regs.ip, &flags)) {
    record->system_call = system_call_of(task);
    record->end_reason = !process ? END_UNKNOWN_PROCESS : process->mm && process->mm != mm ? END_EXEC : END_UNREADABLE;
    if (record->end_reason == END_UNREADABLE) flags |= SAMPLE_DEFERRED;
  }
  memory->walk.regs.exact_ip = 1;
  memory->walk.regs.all_registers = 1;
  record->flags = (__u8)flags;
}

// The outcome.
static __always_inline int give_blocked(struct seq_file *reader, struct task_struct *task, __u32 cpu, __u32 kind, __u64 turns, __u64 since_ns, __u64 length_ns) {
  __s32 tgid = task->tgid;
  struct process_value *process = 0;
  if (filter_mode != FILTER_ALL || !(task->flags & PF_KTHREAD)) process = bpf_map_lookup_elem(&processes, &tgid);
  if ((filter_mode != FILTER_ALL && !is_target(process, task)) || !is_asked_for(task)) return COUNTER_FILTERED;
  struct scratch *memory = claim_scratch(0);
  if (!memory) return COUNTER_LOST_NO_SCRATCH;
  struct sample_record *record = &memory->record;
  begin_record(record, task, process, wait_event, kind);
  record->cpu = (__u16)cpu;
  record->value = worth_ns(length_ns);
  record->begin_ns = since_ns;
  begin_user_side(task, memory, process);
  int outcome = COUNTER_STORED;
  if (kernel_stacks) {
    long bytes = kernel_stack_of(task, &memory->kernel);
    memory->kernel_frames = bytes > 0 ? (__u32)bytes / 8 : 0;
    if (memory->kernel_frames) record->kernel_stack = adjust_kernel_stack(&memory->kernel, memory->kernel_frames, 0);
  }
  if (turns_of(task) != turns) {  // what was read is of another wait, or of none
    record->kernel_stack = 0;
    record->system_call = NO_USER_SIDE;
    record->flags &= ~SAMPLE_DEFERRED;
  }
  if (record->kernel_stack && send_stack_once(&memory->kernel.record, STACK_KERNEL, record->kernel_stack, 0, memory->kernel_frames, MAX_KERNEL_FRAMES))
    outcome = COUNTER_LOST_STACK_RING_FULL;
  if (outcome == COUNTER_STORED) {
    struct unwind_request request;
    fill_request(&request, record, &memory->walk);
    if (bpf_seq_write(reader, record, sizeof(*record)) || bpf_seq_write(reader, &request, sizeof(request)) || bpf_seq_write(reader, &turns, sizeof(turns)))
      outcome = COUNTER_LOST_SAMPLE_RING_FULL;
  }
  release_scratch(memory);
  return outcome;
}

static __always_inline void take_blocked(struct seq_file *reader, struct task_struct *task, struct wait_set *set) {
  struct wait_slot *slot = find_slot(set, (__u32)task->pid);
  __u32 event = wait_event;
  struct event_counters *counts = bpf_map_lookup_elem(&counters, &event);
  if (!slot || !counts) return;
  __u32 kind = slot->who >> TID_BITS;
  __u64 since_ns = slot->since_ns, turns = turns_of(task);
  if (since_ns == 0 || since_ns >= counted_until_ns || !claim_wait(slot, since_ns)) return;
  const __u32 cpu = cpu_of(task);
  if (!is_asked_cpu(cpu)) return;
  const __u64 begin_ns = since_ns;
  if (since_ns < counted_since_ns) since_ns = counted_since_ns;
  if (since_ns >= counted_until_ns) return;
  __u64 length_ns = counted_until_ns - since_ns;
  int outcome = fate_of_wait(length_ns, least_length_ns(task));
  if (outcome == COUNTER_STORED) {
    outcome = give_blocked(reader, task, cpu, kind, turns, begin_ns, length_ns);
    __sync_fetch_and_add(&counts->value_sum, worth_ns(length_ns));
  }
  if (outcome < 0 || outcome >= COUNTER_COUNT) return;
  // Switches of this CPU count, too, in the middle of this.
  __sync_fetch_and_add(&counts->counter[outcome], 1);
  __sync_fetch_and_add(&counts->counter[COUNTER_WAITED_NS], length_ns);
  if (outcome >= COUNTER_LOST_SAMPLE_RING_FULL && outcome <= COUNTER_LOST_NO_SCRATCH)
    __sync_fetch_and_add(&counts->counter[COUNTER_LOST_WAITED_NS], worth_ns(length_ns));
}

SEC("iter/task")
int on_each_task(struct bpf_iter__task *context) {
  struct task_struct *task = context->task;
  if (!task || !is_blocked(task) || (task->flags & PF_KTHREAD && !include_kernel_threads)) return 0;
  struct wait_set *set = wait_set_of((__u32)task->pid);
  if (!set) return 0;
  if (blocked_mode == BLOCKED_NOTE)
    note_blocked(task, set);
  else
    take_blocked(context->meta->seq, task, set);
  return 0;
}
