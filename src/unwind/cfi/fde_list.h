// SPDX-License-Identifier: Apache-2.0
// All FDEs of an image in the order of their code, without overlaps: headers only, the programs are for RowShard. With their CIEs.
//
// Of FDEs that overlap the one that begins later wins from there on, like the binary search over .eh_frame_hdr finds it; .debug_frame only
// fills what .eh_frame leaves. FDEs for code that is not in the image are counted as malformed.
#pragma once
#include <cstdint>
#include <vector>

#include "code/executable_ranges.h"
#include "dwarf/frame_sections.h"

namespace cicada::unwind {

class FdeList {
 public:
  struct Section {
    dwarf::CallFrameSection section;
    dwarf::FdeReader reader;
  };
  struct Fde {
    uint32_t begin, end;  // bytes from base; the end is where the next one begins, if that is before its own
    uint32_t program_begin, program_end;
    uint32_t cie, section;
  };

  // Borrows from `elf`.
  FdeList(const elf::ElfFile& elf, const code::ExecutableRanges& code, LinkAddr base);

  size_t size() const { return order_.size(); }
  Fde operator[](size_t i) const;
  const std::vector<Section>& sections() const { return sections_; }
  uint64_t section_bytes() const;
  uint64_t cies() const;
  uint64_t malformed() const;

 private:
  struct Entry {
    uint32_t begin, size;  // bytes from base
    uint32_t program_begin, program_end;
    uint32_t cie;  // kSecondSection: in the second section
  };
  static constexpr uint32_t kSecondSection = uint32_t{1} << 31;

  void collect(uint32_t section_number, const code::ExecutableRanges& code, LinkAddr base);
  void sort();
  void drop_overlaps();

  std::vector<Section> sections_;
  std::vector<Entry> entries_;
  std::vector<uint64_t> order_;  // begin << 32 | index into entries_
  uint64_t outside_ = 0;
};

}  // namespace cicada::unwind
