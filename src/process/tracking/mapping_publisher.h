// SPDX-License-Identifier: Apache-2.0
// Port: what the process table writes into the kernel's maps. collect/ implements it over BPF; tests over plain containers.
// Threads: the tracker's (see process_table.h).
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "abi/mapping.h"
#include "base/process_key.h"
#include "base/result.h"
#include "process/tracking/block_difference.h"

namespace cicada::process {

struct PublishOutcome {
  size_t applied = 0;           // operations done, from the front
  std::optional<Error> error;   // why the next one was not: kLimit means the trie is full
};

class MappingPublisher {
 public:
  virtual ~MappingPublisher() = default;

  // --- the kernel's table of processes (BPF hash `processes`)
  virtual std::optional<process_value> find_process(Pid pid) = 0;
  // Makes the kernel know a process that was there before: with a new address-space id unless the kernel already knows it
  // (BPF_NOEXIST), and returns what the kernel then holds. Fails: kGone, kLimit (table full).
  virtual Result<process_value> adopt_process(Pid pid, uint64_t start_ticks) = 0;
  // An id that neither the kernel nor user space has ever used.
  virtual uint32_t allocate_address_space() = 0;
  // Compare and swap: gives the process address space `to` (and clears PROCESS_COW_PENDING) if it still has `from`.
  // False: it has another one by now, or is gone.
  virtual bool replace_address_space(Pid pid, uint32_t from, uint32_t to) = 0;

  // --- the mappings (BPF LPM trie `exec_mappings`)
  // Applies in order; stops at the first failure. Afterwards makes cached frames of the address space stale.
  virtual PublishOutcome publish(uint32_t address_space, std::span<const BlockOperation> operations) = 0;

  // --- how far the kernel side may trust them where code is replaced. A publisher that cannot tell it leaves these out
  // Before the mapping events up to now are read.
  virtual void begin_poll() {}
  // Code was replaced in this space, and `pid` runs in it.
  virtual void watch(uint32_t, Pid) {}
  // What happened up to `watermark_ns` is published, but in spaces of which `is_published` says otherwise.
  virtual void end_poll(uint64_t, const std::function<bool(uint32_t address_space)>&) {}
};

}  // namespace cicada::process
