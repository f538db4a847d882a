// SPDX-License-Identifier: Apache-2.0
// The DWARF of one file: its sections (decompressed), its units, and which unit an address belongs to.
// Owns decompressed sections; borrows the rest from the ELF file, which must outlive it. Immutable once open; any thread.
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "elf/elf_file.h"
#include "symbolize/dwarf/unit.h"
#include "symbolize/files/section_contents.h"

namespace cicada::symbolize {

class DwarfFile {
 public:
  // Nothing if there is no .debug_info. A section that cannot be read costs one diagnostic and counts as empty.
  // `suffix`: ".dwo" for split files.
  static std::unique_ptr<DwarfFile> open(const elf::ElfFile& elf, std::string_view suffix = "");

  const DwarfSections& sections() const { return sections_; }
  void set_alternate_strings(Bytes strings) { sections_.alternate_str = strings; }
  const std::vector<UnitHeader>& units() const { return units_; }  // in section order
  // The unit whose bytes hold `offset` of .debug_info.
  std::optional<uint32_t> find_unit_at(uint64_t offset) const;
  // Reads .debug_aranges and the roots of units it does not speak of. Not needed for alternate and split files.
  void index_addresses();
  std::optional<uint32_t> find_unit_of(LinkAddr address) const;
  // What one pass over some units may cost.
  uint64_t work_budget_bytes() const;
  size_t memory_bytes() const;

 private:
  struct Piece {
    uint64_t begin = 0, end = 0;
    uint32_t unit = 0;
  };
  void read_headers();
  std::string name_ = "DWARF";
  std::vector<bool> read_aranges();
  std::deque<SectionContents> contents_;
  DwarfSections sections_;
  std::vector<UnitHeader> units_;
  std::vector<Piece> pieces_;         // by begin
  std::vector<uint64_t> furthest_;    // the largest end up to and including each piece
};

}  // namespace cicada::symbolize
