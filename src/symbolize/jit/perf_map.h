// SPDX-License-Identifier: Apache-2.0
// /tmp/perf-PID.map: what a JIT compiler writes about its code, one "BEGIN SIZE name" line (hexadecimal) a function.
//
// The file grows while it is read: update() takes up where it stopped and leaves an unfinished last line for the next time.
// Bounds: kMaxPerfMapBytes a file, kMaxJitSymbols symbols, names of 4 KiB, kMaxJitBytes of symbols from one file (450,000 usual ones).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbolize/symbolizer.h"

namespace cicada::symbolize {

constexpr uint64_t kMaxPerfMapBytes = uint64_t{1} << 30;
constexpr size_t kMaxJitSymbols = 4 << 20;
constexpr size_t kMaxJitBytes = 64 << 20;

// That it takes in memory.
inline size_t bytes_of(const JitSymbol& symbol) { return sizeof symbol + symbol.name.size() + symbol.file.size(); }

struct PerfMapCounts {
  size_t symbols = 0, garbage_lines = 0;
  size_t bytes = 0;  // of the symbols
};

// Complete lines of `text`; `used_bytes` is what they took.
PerfMapCounts append_perf_map(std::string_view text, uint32_t address_space, std::vector<JitSymbol>& symbols, size_t& used_bytes);

// Shows names of known run times as people know them, and takes file and line out of them:
//   V8      "JS:*processData /srv/server.js:42:7"  -> processData (server.js:42)
//   CPython "py::handle:/srv/app.py"               -> handle (app.py)
//   Java    "Ljava/lang/String;::hashCode"         -> java.lang.String.hashCode
void tidy_jit_name(JitSymbol& symbol);

class PerfMapReader {
 public:
  // `name` is what messages call the file.
  PerfMapReader(std::string name, uint32_t address_space) : name_(std::move(name)), address_space_(address_space) {}
  // Appends what was written since the last call. A file that shrank is read from its beginning again.
  Result<PerfMapCounts> update(int fd, std::vector<JitSymbol>& symbols);
  const std::string& name() const { return name_; }
  uint64_t offset() const { return offset_; }  // read up to here

 private:
  std::string name_;
  uint32_t address_space_;
  uint64_t offset_ = 0;
  size_t bytes_ = 0;  // of symbols, so far
};

}  // namespace cicada::symbolize
