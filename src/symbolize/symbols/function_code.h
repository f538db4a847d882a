// SPDX-License-Identifier: Apache-2.0
// The code of a function in its file, and where it returns.
#pragma once
#include <cstdint>
#include <vector>

#include "base/address.h"

namespace cicada::symbolize {

struct FunctionCode {
  FileOffset begin;
  uint64_t bytes = 0;
  // What the compiler moved elsewhere (NAME.cold), in the same segment of the file. No bytes: nothing.
  FileOffset cold_begin;
  uint64_t cold_bytes = 0;
  bool operator==(const FunctionCode&) const = default;
};

struct FunctionReturns {
  std::vector<FileOffset> offsets;  // of all instructions that return, ascending; each is in the code
  // It may also be left by other instructions: by a jump to another function, or one whose target is not known. Also where the code is not understood.
  bool leaves_otherwise = false;
  bool operator==(const FunctionReturns&) const = default;
};

inline constexpr uint64_t kMaxCodeBytes = 1 << 20;  // of a function; others count as not understood
inline constexpr size_t kMaxReturns = 4096;         // the same

}  // namespace cicada::symbolize
