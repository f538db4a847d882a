// SPDX-License-Identifier: Apache-2.0
// What the per-CPU dummy perf events tell, decoded. Views point into the ring (or the decoder's scratch) and live for one call.
#pragma once
#include <cstdint>
#include <string_view>

#include "base/address.h"
#include "base/process_key.h"
#include "process/images/file_identity.h"

namespace cicada::process {

enum class MappingEventKind : uint8_t {
  kMap,         // PERF_RECORD_MMAP2: an executable mapping (range, offset, file, name)
  kComm,        // a thread was renamed (name)
  kExec,        // PERF_RECORD_COMM with the exec flag: the old mappings are gone (name)
  kThreadFork,  // pid/tid is new, made by parent_pid/parent_tid
  kThreadExit,  // pid/tid is gone
};

struct MappingEvent {
  MappingEventKind kind = MappingEventKind::kMap;
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  uint32_t cpu = 0;
  Pid pid = 0;
  Tid tid = 0;
  Pid parent_pid = 0;    // kThreadFork
  Tid parent_tid = 0;
  Range<RuntimeAddr> range;
  FileOffset offset;
  FileIdentity file;
  std::string_view name;  // kMap: path ("//anon", "[vdso]"), else the new comm
};

}  // namespace cicada::process
