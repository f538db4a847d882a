// SPDX-License-Identifier: Apache-2.0
// Whoever knows names of one kind of addresses: an image, the kernel, an address space's JIT code. A new source of names is one more of these.
#pragma once
#include <numeric>
#include <span>
#include <stop_token>
#include <vector>

#include "symbolize/named_addresses.h"

namespace cicada::symbolize {

// kSymbols: functions by symbol tables, in microseconds. kFull: inlined calls and lines, too; only worth it where kSymbols could_say_more.
// kAll: what others have to be asked for, too.
enum class NameDepth : uint8_t { kSymbols, kFull, kAll };

class Namer {
 public:
  virtual ~Namer() = default;
  // `addresses` sorted ascending, as frames have them. Ends soon after `stop` is requested, with what it has: who asked waits for it.
  // Fails: nothing at all can be said; what the names come from cannot be opened. Threads: one, and at kAll one for each part.
  virtual Result<NamedAddresses> name(std::span<const uint64_t> addresses, NameDepth depth, const std::stop_token& stop) = 0;
  // Cuts addresses into parts (of indices, ascending; none is empty) that may be asked for side by side, at kAll. One by default.
  // Ends and fails as name().
  virtual Result<std::vector<std::vector<uint32_t>>> parts(std::span<const uint64_t> addresses, const std::stop_token& stop) {
    static_cast<void>(stop);
    std::vector<std::vector<uint32_t>> all(1, std::vector<uint32_t>(addresses.size()));
    std::iota(all[0].begin(), all[0].end(), 0);
    return all;
  }
};

}  // namespace cicada::symbolize
