// SPDX-License-Identifier: GPL-2.0-only
// The kernel structs we read, with only the fields we read. Offsets come from the running kernel's BTF (CO-RE), so the order and
// the neighbours here mean nothing. Registers: arch_x86_64.bpf.h.
#pragma once
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "abi/base_types.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
  int counter;
} atomic_t;

typedef struct {
  long long counter;
} atomic64_t;

// Of the architecture's part of an mm.
typedef struct {
  atomic64_t tlb_gen;  // x86
} mm_context_t;

struct mm_struct {
  unsigned long exec_vm;  // pages of code
  unsigned long start_stack;
  mm_context_t context;
  int mm_lock_seq;  // 6.4 to 6.12
};

struct seqcount {
  unsigned sequence;
};
struct mm_struct___seqcount {
  struct seqcount mm_lock_seq;  // since 6.13
};

struct signal_struct {
  atomic_t live;  // threads of the group that have not begun to exit
};

typedef struct {
  unsigned val;
} kuid_t;

struct cred {
  kuid_t euid;
};

struct sched_info {
  unsigned long pcount;          // how often it came to a CPU
  unsigned long long run_delay;  // ns that it was ready to run and did not, up to its last arrival on a CPU
};

struct kernfs_node {
  __u64 id;
};
struct cgroup {
  struct kernfs_node *kn;
  int level;
  struct cgroup *ancestors[1];  // by level, itself last
};
struct css_set {
  struct cgroup *dfl_cgrp;
};

struct thread_info {
  unsigned cpu;
};
struct thread_struct {
  unsigned long fsbase;  // x86
};
struct sched_entity {
  __u64 sum_exec_runtime;  // ns that it ran, up to its last tick or the last time it left its CPU
};
struct task_struct {
  struct thread_info thread_info;
  unsigned int flags;
  int pid;
  int tgid;
  struct mm_struct *mm;
  __u64 start_boottime;
  struct task_struct *group_leader;
  struct signal_struct *signal;
  const struct cred *cred;
  struct css_set *cgroups;
  unsigned in_execve : 1;
  unsigned in_iowait : 1;
  struct sched_info sched_info;
  struct sched_entity se;
  struct thread_struct thread;
  unsigned long nvcsw, nivcsw;
  char comm[16];
  unsigned __state;
  int exit_state;
  unsigned on_cpu;  // since 7.2 a byte: only unsigned ones are read in the size that there is
};

struct bpf_iter_meta {
  struct seq_file *seq;
};
struct bpf_iter__task {
  struct bpf_iter_meta *meta;
  struct task_struct *task;
};

#pragma clang attribute pop

// Pointers in a task, read by helper. A plain `task->mm` makes the verifier search the kernel's whole BTF for a type that says whether the
// pointer is trusted, once for each place: 25 ms of 96 ms of loading.
static __always_inline __u64 mm_of(const struct task_struct *task) {
  struct mm_struct *mm = 0;
  bpf_probe_read_kernel(&mm, sizeof(mm), &task->mm);
  return (__u64)mm;
}
// Where the stack began that exec made, in user space; 0: it has none.
static __always_inline __u64 first_stack_of(const struct task_struct *task) {
  struct mm_struct *mm = (struct mm_struct *)mm_of(task);
  __u64 begin = 0;
  bpf_probe_read_kernel(&begin, sizeof(begin), &mm->start_stack);
  return begin;
}
static __always_inline __u64 leader_start_ns(const struct task_struct *task) {
  struct task_struct *leader = 0;
  __u64 start_ns = 0;
  bpf_probe_read_kernel(&leader, sizeof(leader), &task->group_leader);
  bpf_probe_read_kernel(&start_ns, sizeof(start_ns), &leader->start_boottime);
  return start_ns;
}
// The user whose rights it has: a set-user-id program its owner's, a server that changes them those of the moment.
static __always_inline __u32 effective_uid(const struct task_struct *task) {
  const struct cred *cred = 0;
  __u32 uid = 0;
  bpf_probe_read_kernel(&cred, sizeof(cred), &task->cred);
  bpf_probe_read_kernel(&uid, sizeof(uid), &cred->euid.val);
  return uid;
}
#define USER_HZ_NS 10000000ull  // a tick of /proc/PID/stat
// User space announces processes by what /proc says of them, in ticks.
static __always_inline int is_same_start(__u64 known_ns, __u64 boottime_ns) {
  return known_ns == boottime_ns || known_ns == boottime_ns - boottime_ns % USER_HZ_NS;
}
static __always_inline int live_threads(const struct task_struct *task) {
  struct signal_struct *group = 0;
  int live = 0;
  bpf_probe_read_kernel(&group, sizeof(group), &task->signal);
  bpf_probe_read_kernel(&live, sizeof(live), &group->live.counter);
  return live;
}

// include/linux/sched.h
#define PF_EXITING 0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000  // since 6.4; unused before
#define PF_KTHREAD 0x00200000
