// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/address.h"
#include "profile/profile.h"

namespace cicada::symbolize {

// A function of JIT-compiled code, or a run of its instructions with one line, as perf maps and jitdumps give them.
struct JitSymbol {
  uint32_t address_space = 0;
  Range<RuntimeAddr> code;
  std::string name;
  std::string file;
  uint32_t line = 0;
  profile::NameSource source = profile::NameSource::kPerfMap;
};

}  // namespace cicada::symbolize
