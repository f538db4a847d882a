// SPDX-License-Identifier: Apache-2.0
// jit-PID.dump: code that a JIT compiler loaded, with names and lines, as perf's jitdump format has it. Newer code at the same
// address replaces older; moved code takes its name along. Source: linux tools/perf/Documentation/jitdump-specification.txt.
#pragma once
#include <string>
#include <vector>

#include "base/byte_cursor.h"
#include "base/process_key.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "symbolize/symbolizer.h"
#include "symbolize/jit/target_root.h"

namespace cicada::symbolize {

// Reads records until the end or the first one that is cut off (the file may still be written). A function with line
// entries becomes one symbol per run of equal lines. `pid`: whose dump it must be; 0: anybody's.
// Fails: kCorrupt (no jitdump), kInvalid (another process's), kUnsupported (version, byte order).
Result<void> append_jitdump(Bytes bytes, const std::string& name, Pid pid, uint32_t address_space, std::vector<JitSymbol>& symbols);

// The dump that a process has mapped, opened as the process sees it. It stays readable when the process has ended.
class JitdumpFile {
 public:
  // `proc` is for tests. Fails: kNotFound (none: most processes; or the process has ended), kPermission (somebody else's file), kInvalid.
  static Result<JitdumpFile> open(const Target& target, uint32_t address_space, const std::string& proc = "/proc");
  // Everything that is written by now. Fails as append_jitdump does.
  Result<void> append_to(std::vector<JitSymbol>& symbols) const;
  const std::string& name() const { return name_; }
  int fd() const { return fd_.get(); }

 private:
  JitdumpFile() = default;
  UniqueFd fd_;
  std::string name_;
  Pid owner_ = 0;  // as the process itself knows its pid
  uint32_t address_space_ = 0;
};

}  // namespace cicada::symbolize
