// SPDX-License-Identifier: Apache-2.0
// For the threads between an exec and the walk that knows its mappings (drain, tracker): run soon after a wakeup, even where compilers
// keep every CPU busy. Linux lets the running thread finish its slice of about 3 ms first, during which the new program cannot be
// walked; a request for short slices (6.12 on, sched_runtime of a normal thread) goes before it. Both threads sleep nearly always.
// Measured 2026-11-21 beside two compilers at nice 19, exec to mapping visible, ten recordings: docs/processes.md.
// Where the workload is in a scheduling group with us (a session's, a cgroup's) of which others leave little, that is not enough: beside
// two stress-ng and two compilers of other sessions the ring was not looked at for 190 ms, and overflowed. So a thread may ask for a better
// nice value, too, which needs CAP_SYS_NICE. Best effort: an older kernel takes no notice of the slice. Children inherit neither.
#pragma once
#include <cstdint>

namespace cicada {

// For the calling thread, until destroyed by the same thread.
class ScopedShortSlice {
 public:
  static constexpr int kAheadOfUsual = -10;  // nine tenths of a CPU that one usual thread wants, too

  // `nice` is added to the thread's.
  explicit ScopedShortSlice(int nice = 0);
  ~ScopedShortSlice();
  ScopedShortSlice(const ScopedShortSlice&) = delete;
  ScopedShortSlice& operator=(const ScopedShortSlice&) = delete;

 private:
  uint64_t slice_ns_ = 0;  // before; 0: the kernel's own choice, or nothing was changed
  int nice_ = 0;           // before
  bool changed_ = false;
};

}  // namespace cicada
