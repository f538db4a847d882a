// SPDX-License-Identifier: GPL-2.0-only
// Whether samples of a task are wanted, by what it is: its user, name, control group, CPU. Beside `filter_mode`, which says whether its process is.
#pragma once
#include "kernel_types.h"
#include "settings.bpf.h"

#include <bpf/bpf_core_read.h>

static __always_inline int is_named(const char *comm, const volatile struct asked_name *names, __u32 count) {
  for (__u32 i = 0; i < MAX_ASKED && i < count; i++) {
    int equal = 1;
    for (__u32 at = 0; at < sizeof(names->text); at++)
      if (at < names[i].bytes && names[i].text[at] != comm[at]) equal = 0;
    if (equal) return 1;
  }
  return 0;
}

static __always_inline int has_asked_name(struct task_struct *task, const volatile struct asked_name *names, __u32 count) {
  char comm[16];
  return bpf_core_read(comm, sizeof(comm), &task->comm) == 0 && is_named(comm, names, count);
}

static __always_inline int is_in_asked_cgroup(struct task_struct *task) {
  struct css_set *set = 0;
  struct cgroup *group = 0;
  int level = 0;
  bpf_probe_read_kernel(&set, sizeof(set), &task->cgroups);
  if (bpf_core_read(&group, sizeof(group), &set->dfl_cgrp) || bpf_core_read(&level, sizeof(level), &group->level)) return 0;
  for (__u32 i = 0; i < MAX_ASKED && i < asked.cgroups; i++) {
    if (asked.cgroup[i].level > (__u32)level) continue;
    struct cgroup *above = 0;
    struct kernfs_node *node = 0;
    __u64 id = 0;
    __u64 at = (__u64)group + bpf_core_field_offset(group->ancestors) + 8 * (__u64)asked.cgroup[i].level;
    if (bpf_probe_read_kernel(&above, sizeof(above), (void *)at) || bpf_core_read(&node, sizeof(node), &above->kn) || bpf_core_read(&id, sizeof(id), &node->id)) continue;
    if (id == asked.cgroup[i].id) return 1;
  }
  return 0;
}

// A call of its own, for its stack. Where nothing is asked for the verifier leaves only the return.
static __noinline int fits_what_is_asked(struct task_struct *task) {
  if (asked.users) {
    __u32 uid = effective_uid(task), fits = 0;
    for (__u32 i = 0; i < MAX_ASKED && i < asked.users; i++) fits |= asked.user[i] == uid;
    if (!fits) return 0;
  }
  if (asked.threads && !has_asked_name(task, asked.thread, asked.threads)) return 0;
  if (asked.processes) {
    struct task_struct *leader = 0;
    bpf_probe_read_kernel(&leader, sizeof(leader), &task->group_leader);
    if (!has_asked_name(leader, asked.process, asked.processes)) return 0;
  }
  return !asked.cgroups || is_in_asked_cgroup(task);
}

static __always_inline int is_asked_cpu(__u32 cpu) { return !some_cpus || cpu_bits[cpu / 64 & (MAX_CPUS / 64 - 1)] >> (cpu & 63) & 1; }

static __always_inline int is_asked_for(struct task_struct *task) {
  return !(asked.users | asked.processes | asked.threads | asked.cgroups) || fits_what_is_asked(task);
}
