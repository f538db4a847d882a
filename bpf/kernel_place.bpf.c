// SPDX-License-Identifier: GPL-2.0-only
// Samples of places in the kernel that its types describe: functions, where they begin or return (fentry, fexit), and raw tracepoints. The kernel calls such a
// program with an array of the arguments; where a function returns, what it returns is behind them. It is loaded for one place, so there are
// as many as there can be such events.
#include "take_sample.bpf.h"

static __always_inline int pass_kernel_place(void *arguments, __u32 index) {
  if (!sampling_wanted) return 0;
  const volatile struct kernel_place *place = &kernel_places[index];
  __u32 how = SAMPLE_OF_PROBE | ((index + 1) << SAMPLE_PLACE_SHIFT) | (place->is_preemptible ? SAMPLE_PREEMPTIBLE : 0);
  if (!event_fields[place->event & (MAX_EVENTS - 1)].has_time) how |= SAMPLE_IN_A_HURRY;
  take_sample(arguments, 0, place->event, place->hits, how, 0, 0);
  return 0;
}

// What they are attached to, and how, user space says before it loads them; those of which it says nothing are not loaded ("?").
#define KERNEL_PLACE(index) \
  SEC("?fentry") \
  int on_kernel_place_##index(void *arguments) { return pass_kernel_place(arguments, index); }
KERNEL_PLACE(0)
KERNEL_PLACE(1)
KERNEL_PLACE(2)
KERNEL_PLACE(3)
