// SPDX-License-Identifier: Apache-2.0
#include "ingest/jit_names.h"

#include <iterator>
#include <utility>

#include "base/diagnostics.h"
#include "symbolize/jit/perf_map.h"

namespace cicada::ingest {

bool JitNames::is_full(uint32_t uid) {
  const std::lock_guard lock(mutex_);
  const bool all = all_bytes_ >= kMaxBytes;
  if (!all && bytes_[uid] < kMaxBytesOfUser) return false;
  diagnostics().warn("JIT code", "more than {} MiB of names; the rest is left out", (all ? kMaxBytes : kMaxBytesOfUser) >> 20);
  return true;
}

void JitNames::add(uint32_t uid, std::vector<symbolize::JitSymbol> symbols) {
  size_t bytes = 0;
  for (const symbolize::JitSymbol& symbol : symbols) bytes += symbolize::bytes_of(symbol);
  const std::lock_guard lock(mutex_);
  bytes_[uid] += bytes;
  all_bytes_ += bytes;
  new_.insert(new_.end(), std::make_move_iterator(symbols.begin()), std::make_move_iterator(symbols.end()));
}

std::vector<symbolize::JitSymbol> JitNames::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(new_, {});
}

}  // namespace cicada::ingest
