// SPDX-License-Identifier: Apache-2.0
// .eh_frame is in the order of input objects; its FDEs are put into address order by a radix sort. Nothing is allocated per FDE.
#include "unwind/cfi/fde_list.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cicada::unwind {
namespace {

constexpr uint64_t kMaxSectionBytes = 0xffffffff;

}  // namespace

FdeList::FdeList(const elf::ElfFile& elf, const code::ExecutableRanges& code, LinkAddr base) {
  for (const dwarf::CallFrameSection& section : dwarf::find_frame_sections(elf)) {
    if (section.bytes.size() > kMaxSectionBytes || sections_.size() == 2) continue;
    sections_.push_back({section, dwarf::FdeReader(section)});
  }
  for (uint32_t i = 0; i < sections_.size(); ++i) collect(i, code, base);
  sort();
  drop_overlaps();
}

void FdeList::collect(uint32_t section_number, const code::ExecutableRanges& code, LinkAddr base) {
  Section& section = sections_[section_number];
  entries_.reserve(entries_.size() + section.section.bytes.size() / 96);
  size_t hint = 0;
  while (const auto fde = section.reader.next()) {
    if (fde->size == 0) continue;
    if (!code.contains({fde->begin, fde->begin + fde->size}, hint)) {
      // Discarded functions keep an FDE for address 0 with some linkers: not worth a warning.
      if (fde->begin.value != 0) ++outside_;
      continue;
    }
    const uint32_t cie = fde->cie | (section_number != 0 ? kSecondSection : 0);
    entries_.push_back({static_cast<uint32_t>(fde->begin - base), static_cast<uint32_t>(fde->size),
                        static_cast<uint32_t>(fde->program_begin), static_cast<uint32_t>(fde->program_end), cie});
  }
}

// LSD radix sort by begin, stable; std::sort takes five times as long for the 94,994 FDEs of libLLVM.
void FdeList::sort() {
  order_.resize(entries_.size());
  bool sorted = true;
  for (size_t i = 0; i < entries_.size(); ++i) {
    order_[i] = uint64_t{entries_[i].begin} << 32 | i;
    if (i != 0 && order_[i] < order_[i - 1]) sorted = false;
  }
  if (sorted) return;
  std::vector<uint64_t> other(order_.size());
  for (unsigned shift = 32; shift < 64; shift += 11) {
    std::array<uint32_t, 2048> at{};
    for (const uint64_t key : order_) ++at[key >> shift & 2047];
    uint32_t sum = 0;
    for (uint32_t& n : at) sum += std::exchange(n, sum);
    for (const uint64_t key : order_) other[at[key >> shift & 2047]++] = key;
    order_.swap(other);
  }
}

void FdeList::drop_overlaps() {
  const bool two_sections = sections_.size() == 2;
  uint64_t eh_end = 0;
  size_t kept = 0;
  for (const uint64_t key : order_) {
    const Entry& entry = entries_[static_cast<uint32_t>(key)];
    const bool second = (entry.cie & kSecondSection) != 0;
    if (kept != 0 && order_[kept - 1] >> 32 == entry.begin) continue;  // the first of several with the same begin
    if (second && entry.begin < eh_end) continue;
    if (two_sections && !second) eh_end = std::max(eh_end, uint64_t{entry.begin} + entry.size);
    order_[kept++] = key;
  }
  order_.resize(kept);
}

FdeList::Fde FdeList::operator[](size_t i) const {
  const Entry& entry = entries_[static_cast<uint32_t>(order_[i])];
  uint64_t end = uint64_t{entry.begin} + entry.size;
  if (i + 1 < order_.size()) end = std::min(end, order_[i + 1] >> 32);
  return {entry.begin, static_cast<uint32_t>(end), entry.program_begin, entry.program_end, entry.cie & ~kSecondSection,
          (entry.cie & kSecondSection) != 0 ? 1U : 0U};
}

uint64_t FdeList::section_bytes() const {
  uint64_t bytes = 0;
  for (const Section& section : sections_) bytes += section.section.bytes.size();
  return bytes;
}

uint64_t FdeList::cies() const {
  uint64_t cies = 0;
  for (const Section& section : sections_) cies += section.reader.cies().size();
  return cies;
}

uint64_t FdeList::malformed() const {
  uint64_t malformed = outside_;
  for (const Section& section : sections_) malformed += section.reader.malformed();
  return malformed;
}

}  // namespace cicada::unwind
