// SPDX-License-Identifier: Apache-2.0
// Attaches a BPF program to places in a file, for whoever runs them. Source: kernel/trace/bpf_trace.c (bpf_uprobe_multi_link_attach), kernel/events/core.c (the PMU "uprobe").
// Threads: any.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace cicada::bpf_source {

// Whether this kernel attaches any number of places of a file at once (from 6.6 on): the program is loaded for that then.
bool has_uprobe_multi();
inline constexpr uint32_t kAttachUprobeMulti = 48;  // BPF_TRACE_UPROBE_MULTI
// Without it each place is an event of its own, and detaching one takes a tenth of a second.
inline constexpr size_t kMostSinglePlaces = 100;

struct UprobePlace {
  FileOffset offset;
  FileOffset semaphore;  // 16 bits that are one more in each process while it is attached; 0: none
  uint64_t cookie = 0;
};
struct UprobePlaces {
  int file = -1;
  std::span<const UprobePlace> places;
  bool at_return = false;
};
struct UprobeLinks {
  std::vector<UniqueFd> links;      // the program is detached when they are closed
  std::vector<FileOffset> refused;  // the kernel cannot probe the instruction there; some, not all
};
// Fails: kInvalid (the kernel can probe none of these instructions), kPermission, the system's error.
Result<UprobeLinks> attach_uprobes(int program_fd, bool multi, const UprobePlaces& places);

}  // namespace cicada::bpf_source
