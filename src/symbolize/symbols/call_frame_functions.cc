// SPDX-License-Identifier: Apache-2.0
#include "symbolize/symbols/call_frame_functions.h"

#include <algorithm>

#include "dwarf/frame_sections.h"

namespace cicada::symbolize {

CallFrameFunctions CallFrameFunctions::read(const elf::ElfFile& elf) {
  CallFrameFunctions all;
  for (const dwarf::CallFrameSection& section : dwarf::find_frame_sections(elf)) {
    dwarf::FdeReader reader(section);
    while (const auto fde = reader.next()) {
      if (fde->size != 0 && fde->begin.value + fde->size > fde->begin.value) all.functions_.push_back({fde->begin, fde->begin + fde->size});
    }
  }
  std::sort(all.functions_.begin(), all.functions_.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return all;
}

std::optional<LinkAddr> CallFrameFunctions::find_begin(LinkAddr address) const {
  const auto after = std::upper_bound(functions_.begin(), functions_.end(), address, [](LinkAddr a, const auto& f) { return a < f.begin; });
  if (after == functions_.begin()) return std::nullopt;
  const Range<LinkAddr>& function = *std::prev(after);
  if (address < function.end) return function.begin;
  return std::nullopt;
}

}  // namespace cicada::symbolize
