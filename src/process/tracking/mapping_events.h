// SPDX-License-Identifier: Apache-2.0
// Per-CPU dummy perf events that tell about every new executable mapping, exec, rename and thread of the machine, in order.
//
// They replace polling: a mapping is known a fraction of a millisecond after mmap() returned. `attr.mmap` reports PROT_EXEC
// mappings only (and mprotect(+x)); munmap, mremap and mprotect(-x) are reported by nobody.
// drain() merges the CPUs' rings by time without copying: the heads are compared in the rings, records nobody wants are
// skipped there, and no memory is allocated for any record.
// Owns the events and their rings. Threads: one (the tracker's). Needs CAP_PERFMON or perf_event_paranoid <= 0.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "process/tracking/mapping_event.h"

namespace cicada::process {

struct MappingEventCounts {
  uint64_t delivered = 0;
  uint64_t unwanted = 0;   // skipped in the ring
  uint64_t lost = 0;       // PERF_RECORD_LOST: the ring was full
  uint64_t late = 0;       // older than one already delivered from another CPU
  uint64_t malformed = 0;
};

// Port, so that tests can tell a story.
class MappingEventSource {
 public:
  using Wants = std::function<bool(const MappingEvent& event)>;  // sees kind, time, pid, tid, parent_*: no name yet
  using Consumer = std::function<void(const MappingEvent& event)>;
  virtual ~MappingEventSource() = default;
  // Readable when there is something; −1: nobody needs to be woken.
  virtual int poll_fd() const = 0;
  // Opens events on CPUs that came online since, or again. Fails with the first CPU's error.
  virtual Result<void> follow_cpus() = 0;
  // Hands over everything not later than `until_ns`, ordered by time. Returns how many records were lost since the last call: anything may
  // be missing, so rescan.
  virtual uint64_t drain(uint64_t until_ns, const Wants& wants, const Consumer& consumer) = 0;
  virtual const MappingEventCounts& counts() const = 0;
};

class MappingEvents final : public MappingEventSource {
 public:
  struct Options {
    uint32_t ring_pages = 64;        // per CPU, a power of two: 256 KiB hold about 2,000 mappings
    uint32_t wakeup_bytes = 1;       // a reader wakes when this much is in a ring
  };
  // Subscribes on every online CPU. Fails: kPermission, kUnsupported (kernel without the dummy event), kLimit.
  static Result<MappingEvents> open(const Options& options);
  MappingEvents(MappingEvents&&) noexcept;
  MappingEvents& operator=(MappingEvents&&) noexcept;
  ~MappingEvents() override;

  int poll_fd() const override { return epoll_.get(); }  // an epoll descriptor over all rings
  Result<void> follow_cpus() override;
  uint64_t drain(uint64_t until_ns, const Wants& wants, const Consumer& consumer) override;
  const MappingEventCounts& counts() const override { return counts_; }

 private:
  class Ring;
  MappingEvents();
  Result<void> add_cpu(int cpu);

  Options options_;
  UniqueFd epoll_;
  std::vector<Ring> rings_;
  MappingEventCounts counts_;
  uint64_t delivered_until_ns_ = 0;
  uint64_t came_online_ = 0;  // CPUs since the last drain: nobody listened there for a while
};

}  // namespace cicada::process
