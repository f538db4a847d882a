// SPDX-License-Identifier: Apache-2.0
// Names of generated code until they are taken: kMaxBytes in all, kMaxBytesOfUser of one user's; more is left out, and said. Threads: any.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "symbolize/symbolizer.h"

namespace cicada::ingest {

class JitNames {
 public:
  static constexpr size_t kMaxBytes = 96 << 20, kMaxBytesOfUser = 48 << 20;

  // Of this user there may be no more; says so.
  bool is_full(uint32_t uid);
  void add(uint32_t uid, std::vector<symbolize::JitSymbol> symbols);
  // What was added since the last call.
  std::vector<symbolize::JitSymbol> take();

 private:
  std::mutex mutex_;
  std::vector<symbolize::JitSymbol> new_;
  std::map<uint32_t, size_t> bytes_;  // ever, by uid
  size_t all_bytes_ = 0;
};

}  // namespace cicada::ingest
