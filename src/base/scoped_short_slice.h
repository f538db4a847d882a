// SPDX-License-Identifier: Apache-2.0
// For the threads between an exec and the walk that knows its mappings (drain, tracker): run soon after a wakeup, even where compilers
// keep every CPU busy. Linux lets the running thread finish its slice of about 3 ms first, during which the new program cannot be
// walked; a request for short slices (6.12 on, sched_runtime of a normal thread) goes before it. Both threads sleep nearly always.
// Measured 2026-11-21 beside two compilers at nice 19, exec to mapping visible, ten recordings: docs/processes.md.
// Best effort: an older kernel takes no notice. Only the order of wakeups changes, not how much the thread may use. Children do not inherit it.
#pragma once
#include <cstdint>

namespace cicada {

// For the calling thread, until destroyed by the same thread.
class ScopedShortSlice {
 public:
  ScopedShortSlice();
  ~ScopedShortSlice();
  ScopedShortSlice(const ScopedShortSlice&) = delete;
  ScopedShortSlice& operator=(const ScopedShortSlice&) = delete;

 private:
  uint64_t slice_ns_ = 0;  // before; 0: the kernel's own choice, or nothing was changed
  bool changed_ = false;
};

}  // namespace cicada
