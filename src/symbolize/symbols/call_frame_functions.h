// SPDX-License-Identifier: Apache-2.0
// Where functions begin that no symbol names: the unwind tables of a stripped image still have an entry for each. Samples of one
// function are then one line of a profile ("libc.so.6+0x155900"), not one a sampled instruction; nobody else's name is lent to it.
// Owns its list. Threads: any, once read.
#pragma once
#include <optional>
#include <vector>

#include "base/address.h"
#include "elf/elf_file.h"

namespace cicada::symbolize {

class CallFrameFunctions {
 public:
  // Empty if the image has no call-frame information.
  static CallFrameFunctions read(const elf::ElfFile& elf);
  // The begin of the function that contains the address.
  std::optional<LinkAddr> find_begin(LinkAddr address) const;

  size_t memory_bytes() const { return functions_.capacity() * sizeof functions_[0]; }

 private:
  std::vector<Range<LinkAddr>> functions_;  // by begin
};

}  // namespace cicada::symbolize
