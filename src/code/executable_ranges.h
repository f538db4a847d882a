// SPDX-License-Identifier: Apache-2.0
// Where an image has code: its executable PT_LOADs, sorted and merged, within 4 GiB (x86-64 code models end at 2).
#pragma once
#include <optional>
#include <vector>

#include "elf/elf_file.h"

namespace cicada::code {

class ExecutableRanges {
 public:
  // Nothing: they span more than 4 GiB, or wrap around.
  static std::optional<ExecutableRanges> find(const elf::ElfFile& elf);
  // The same from the executable sections, where there are sections: linkers may put everything into one R E segment.
  static std::optional<ExecutableRanges> find_code(const elf::ElfFile& elf);
  uint64_t total_bytes() const;
  const std::vector<Range<LinkAddr>>& ranges() const { return ranges_; }
  // `hint`: where the last call found its range; begin with 0.
  bool contains(Range<LinkAddr> code, size_t& hint) const;

 private:
  static std::optional<ExecutableRanges> merge(std::vector<Range<LinkAddr>> ranges);
  std::vector<Range<LinkAddr>> ranges_;
};

// What of `ranges` is in none of `others`. Each by begin; `others` may overlap.
std::vector<Range<LinkAddr>> subtract(const std::vector<Range<LinkAddr>>& ranges, const std::vector<Range<LinkAddr>>& others);
uint64_t total_bytes(const std::vector<Range<LinkAddr>>& ranges);

}  // namespace cicada::code
