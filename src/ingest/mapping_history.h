// SPDX-License-Identifier: Apache-2.0
// What is known of processes' mappings, for who assembles samples and finishes walks. Implemented by the tracker, and by tests from a script.
// Threads: any.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "abi/mapping.h"
#include "base/address.h"
#include "base/process_key.h"
#include "process/tracking/stale_mappings.h"

namespace cicada::ingest {

class MappingHistory {
 public:
  virtual ~MappingHistory() = default;
  // The applied watermark: every mapping event up to this moment (CLOCK_MONOTONIC, ns) is in the answers below.
  virtual uint64_t watermark_ns() const = 0;
  // Has it grow soon.
  virtual void request_poll() = 0;
  // A walk submitted then waits to be finished (0: none): what has exited since is remembered, for some seconds at most.
  virtual void retain_exited_since(uint64_t submitted_ns) = 0;

  virtual std::optional<mapping_value> find_mapping(uint32_t address_space, RuntimeAddr address) const = 0;
  // What find_mapping() does not know it may know soon: its file is being opened, or not all that was there at the beginning has been
  // looked at.
  virtual bool is_expected(uint32_t address_space, RuntimeAddr address) const = 0;
  // What had been replaced when a sample of this process and time was taken, and the kernel's walk did not know of; `later`: and what has been
  // replaced since, for who looks up mappings only now.
  virtual std::vector<process::StaleMapping> find_stale(uint32_t address_space, Pid pid, uint64_t time_ns, bool later) const = 0;
  // No sample of this time or later needs to ask.
  virtual uint64_t stale_until_ns() const = 0;
};

}  // namespace cicada::ingest
