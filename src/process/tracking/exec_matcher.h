// SPDX-License-Identifier: Apache-2.0
// Which program of a process a mapping belongs to. Two streams tell of an exec: perf what was mapped, BPF which address space it got.
// Both carry CLOCK_MONOTONIC, but either may arrive first:
//
//   COMM(exec) t1   MMAP2 t2 …   BPF exec t3, id N          t1 < t2 < t3 (155 µs on 6.18)
//
//  * perf first: t1 opens a pending set, t2 fills it, t3 closes it: end() returns the mappings of space N.
//  * BPF first: end() returns nothing yet; the COMM of t1 <= t3 is to come, and what follows it is N's. If it was lost, the maps must be read.
// One for each process. Threads: one at a time.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "process/tracking/address_space.h"

namespace cicada::process {

enum class ProgramOf : uint8_t { kEarlier, kCurrent, kNext };

class ExecMatcher {
 public:
  static constexpr size_t kMaxPending = 8;  // execs whose BPF records have not come; beyond: the oldest are forgotten

  // `since_ns`: what was mapped before is not this process'.
  explicit ExecMatcher(uint64_t since_ns = 0) : since_ns_(since_ns) {}

  // Which program mapped something at this time. kNext: insert() it here.
  ProgramOf program_at(uint64_t time_ns) const;
  void insert(const Mapping& mapping) { pending_.back().mappings.insert(mapping); }
  // COMM with the exec flag. True: from here on everything is of the next program.
  bool begin(uint64_t time_ns);
  // The BPF record. Nothing: a later exec has overtaken it. Empty: the COMM is to come.
  std::optional<AddressSpace> end(uint64_t time_ns);
  void re_resolve(std::span<const uint32_t> images, ImageSource& source);

  bool is_under_way() const { return !pending_.empty(); }

 private:
  struct Pending {
    uint64_t begin_ns = 0;
    AddressSpace mappings;
  };
  uint64_t since_ns_ = 0;         // mappings before this belong to an earlier program …
  uint64_t begin_ns_ = 0;         // … unless they are not before this; 0: not known
  bool awaited_ = false;          // the COMM of the exec that ended last is to come
  std::vector<Pending> pending_;  // oldest first
};

}  // namespace cicada::process
