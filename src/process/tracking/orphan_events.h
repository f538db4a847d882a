// SPDX-License-Identifier: Apache-2.0
// Mapping events of processes that nobody has announced yet: the record of their fork comes through the other ring. Kept until then,
// kMax of them for kKeepNs at most.
// Threads: one at a time, but for dropped() (any).
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "process/tracking/mapping_event.h"

namespace cicada::process {

class OrphanEvents {
 public:
  static constexpr size_t kMax = 65536;
  static constexpr uint64_t kKeepNs = 2'000'000'000;

  // A process of which perf has told, at this time: what it maps is wanted.
  void expect(Pid pid, uint64_t time_ns);
  bool expects(Pid pid) const { return expected_.contains(pid); }
  void keep(const MappingEvent& event);
  // The process is known, or gone: hands its events to `apply`, in the order in which they were kept.
  template <typename Apply>
  void adopt(Pid pid, Apply apply) {
    expected_.erase(pid);
    const auto events = events_.extract(pid);
    if (events.empty()) return;
    count_ -= events.mapped().size();
    for (const Kept& kept : events.mapped()) apply(kept.view());
  }
  // Drops what is older than kKeepNs.
  void expire(uint64_t now_ns);
  uint64_t dropped() const { return dropped_; }

 private:
  struct Kept {  // outlives its ring
    MappingEvent event;
    std::string name;
    MappingEvent view() const {
      MappingEvent copy = event;
      copy.name = name;
      return copy;
    }
  };
  std::unordered_map<Pid, std::vector<Kept>> events_;
  std::unordered_map<Pid, uint64_t> expected_;  // since when
  size_t count_ = 0;
  std::atomic<uint64_t> dropped_{0};
};

}  // namespace cicada::process
