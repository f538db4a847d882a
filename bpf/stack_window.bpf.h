// SPDX-License-Identifier: GPL-2.0-only
// The memory reader of the walk: the user stack is copied in windows of up to 4 KiB, and words are served from there. Two
// bpf_probe_read_user a frame cost 143 ns a frame here, windows of 1 KiB 32 (120 frames deep). A window ends at a page end, because a copy
// that touches one unreadable byte fails as a whole; a failed copy leaves zeros, so the window is invalid after one. The first one of a walk is small: 16 frames with it cost 1.0 us,
// with 4 KiB 1.5 (cold at 1 kHz, each line of the copy counts).
#pragma once
#include "scratch.bpf.h"

#define FIRST_WINDOW_BYTES 1024

// Into walk->value. Global, like everything __weak here: the verifier checks it once, not at each of a dozen calls.
__weak __noinline int read_outside_window(struct walk_state *walk, __u64 address) {
  if (!walk) return -1;
  struct stack_window *window = &walk->window;
  // Saved registers lie below the return address: begin a little before it, but not below sp.
  __u64 stack_pointer = walk->fast.sp;
  __u64 begin = address - stack_pointer < 56 ? stack_pointer : address - 56;
  if ((begin ^ address) >> 12) begin = address & ~4095ull;
  __u64 size = 4096 - (begin & 4095);
  __u64 most = window->begin == WINDOW_NOWHERE ? FIRST_WINDOW_BYTES : WINDOW_BYTES;
  if (size > most) size = most;
  if (address + 8 > begin + size) return (int)bpf_probe_read_user(&walk->value, 8, (const void *)address);
  if (bpf_probe_read_user(window->bytes, (__u32)size, (const void *)begin)) {
    window->begin = WINDOW_NOWHERE;
    window->limit = 0;
    return (int)bpf_probe_read_user(&walk->value, 8, (const void *)address);
  }
  window->begin = begin;
  window->limit = size - 8;
  walk->value = *(__u64 *)(window->bytes + ((address - begin) & (WINDOW_BYTES - 1)));
  return 0;
}

static __always_inline int unwind_read(void *reader, __u64 address, __u64 *value) {
  struct walk_state *walk = reader;
  __u64 offset = address - walk->window.begin;
  if (offset > walk->window.limit) {
    if (read_outside_window(walk, address)) return -1;
    *value = walk->value;
    return 0;
  }
  offset &= WINDOW_BYTES - 1;
  *value = *(__u64 *)(walk->window.bytes + offset);
  return 0;
}
