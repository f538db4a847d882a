// SPDX-License-Identifier: Apache-2.0
// jit-PID.dump: code that a JIT compiler loaded, with names and lines, as perf's jitdump format has it. Newer code at the same
// address replaces older; moved code takes its name along. Source: linux tools/perf/Documentation/jitdump-specification.txt.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_cursor.h"
#include "base/process_key.h"
#include "base/result.h"
#include "symbolize/symbolizer.h"

namespace cicada::symbolize {

constexpr uint64_t kMaxJitdumpBytes = 128 << 20;

// Reads records until the end or the first one that is cut off (the file may still be written). A function with line
// entries becomes one symbol per run of equal lines. `pid`: whose dump it must be; 0: anybody's.
// Bounds: kMaxJitBytes of symbols, kMaxJitSymbols, kMaxJitdumpBytes of names and line entries looked at; code is passed over.
// `drop_pages`: called for every 16 MiB that were looked at, for whoever has mapped the file.
// Fails: kCorrupt (no jitdump), kInvalid (another process's), kUnsupported (version, byte order).
Result<void> append_jitdump(Bytes bytes, const std::string& name, Pid pid, uint32_t address_space, std::vector<JitSymbol>& symbols,
                            const std::function<void()>& drop_pages = {});

// The path of the dump that a process has mapped, as it knows itself by `pid`. `maps`: its /proc/PID/maps.
std::optional<std::string> find_jitdump(std::string_view maps, Pid pid);

}  // namespace cicada::symbolize
