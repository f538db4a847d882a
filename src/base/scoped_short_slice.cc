// SPDX-License-Identifier: Apache-2.0
#include "base/scoped_short_slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace cicada {
namespace {

// uapi/linux/sched/types.h, version 0; glibc 2.36 has no declaration.
struct SchedAttributes {
  uint32_t size = sizeof(SchedAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime_ns = 0, deadline_ns = 0, period_ns = 0;
};
static_assert(sizeof(SchedAttributes) == 48);

constexpr uint64_t kResetOnFork = 1;
constexpr uint64_t kShortestSliceNs = 100'000;

bool get(SchedAttributes& attributes) { return ::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0; }
bool set(const SchedAttributes& attributes) { return ::syscall(SYS_sched_setattr, 0, &attributes, 0) == 0; }

}  // namespace

ScopedShortSlice::ScopedShortSlice(int nice) {
  SchedAttributes attributes;
  if (!get(attributes) || attributes.policy != SCHED_OTHER) return;
  slice_ns_ = attributes.runtime_ns;
  nice_ = attributes.nice;
  attributes.flags |= kResetOnFork;
  attributes.runtime_ns = kShortestSliceNs;
  attributes.nice = std::max(-20, nice_ + nice);
  changed_ = set(attributes);
  if (changed_ || nice == 0) return;
  attributes.nice = nice_;
  changed_ = set(attributes);
}

ScopedShortSlice::~ScopedShortSlice() {
  SchedAttributes attributes;
  if (!changed_ || !get(attributes)) return;
  attributes.flags &= ~kResetOnFork;
  attributes.runtime_ns = slice_ns_;
  attributes.nice = nice_;
  set(attributes);
}

}  // namespace cicada
