// SPDX-License-Identifier: Apache-2.0
// One unit of .debug_info: its header, the attributes of its root, and how to read values in it. A unit borrows the sections it
// was read from; a split unit's sections are mixed (its own, but the addresses of the skeleton's file).
// Source: DWARF 5, section 7.5; the GNU split extensions of DWARF 4.
#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/byte_cursor.h"
#include "symbolize/dwarf/abbrev.h"
#include "base/work_budget.h"

namespace cicada::symbolize {

struct DwarfSections {
  Bytes info, abbrev, str, line_str, str_offsets, addr, ranges, rnglists, line, aranges;
  Bytes loc, loclists;  // of split files; of others where somebody asks for locations
  Bytes alternate_str;  // .debug_str of the dwz file
};

struct UnitHeader {
  uint64_t offset = 0;      // in .debug_info
  uint64_t end = 0;
  uint64_t entries = 0;     // where the first entry begins
  uint64_t abbrev_offset = 0;
  uint64_t dwo_id = 0;
  uint8_t type = 0;         // DW_UT_*
  UnitFormat format;

  // Fails (nothing) where the header is malformed or its unit does not fit; `next` is where the following one begins, or the
  // end of the section.
  static std::optional<UnitHeader> read(Bytes info, uint64_t offset, uint64_t& next);
};

struct AttributeValue {
  enum class Kind : uint8_t { kNone, kConstant, kAddress, kSectionOffset, kRangeIndex, kLocationIndex, kReference, kAlternateReference, kString, kBlock, kOther };
  Kind kind = Kind::kNone;
  uint64_t number = 0;         // kReference: offset in .debug_info
  std::string_view text;
  Bytes block = {};
};

class DwarfUnit {
 public:
  // Reads the root entry too. Nothing if that cannot be read.
  static std::shared_ptr<DwarfUnit> open(const DwarfSections& sections, const UnitHeader& header, WorkBudget& budget, const DwarfUnit* skeleton = nullptr);

  const DwarfSections& sections() const { return sections_; }
  const UnitHeader& header() const { return header_; }
  const AbbrevTable& abbrevs() const { return abbrevs_; }
  // Reads one value and moves the cursor behind it.
  AttributeValue read(ByteCursor& cursor, const AttributeSpec& spec) const;
  // [begin, end) of a range list. `offset_or_index` as kind says.
  void append_ranges(const AttributeValue& value, std::vector<std::pair<uint64_t, uint64_t>>& ranges, WorkBudget& budget) const;
  // The same for the pc attributes of one entry.
  void append_pc_ranges(const AttributeValue& low, const AttributeValue& high, const AttributeValue& ranges,
                        std::vector<std::pair<uint64_t, uint64_t>>& out, WorkBudget& budget) const;

  // The expression of a location list that holds at `address`, where a function begins; of several the first: later ones are about what its first instruction leads to.
  // Nothing: none does.
  std::optional<Bytes> find_location(const AttributeValue& value, uint64_t address, WorkBudget& budget) const;

  // --- the root's attributes
  std::vector<std::pair<uint64_t, uint64_t>> code;
  std::string_view name, directory, dwo_name;
  std::optional<uint64_t> line_offset;
  uint64_t dwo_id = 0;
  uint64_t language = 0;  // DW_LANG_*

 private:
  void read_bases();
  void read_root(WorkBudget& budget);
  uint64_t address_at(uint64_t index) const;
  std::string_view string_at(uint64_t index) const;
  void append_range_list_v5(ByteCursor cursor, std::vector<std::pair<uint64_t, uint64_t>>& ranges, WorkBudget& budget) const;
  void append_range_list_v4(ByteCursor cursor, std::vector<std::pair<uint64_t, uint64_t>>& ranges, WorkBudget& budget) const;

  struct LocationEntry {
    uint64_t begin = 0, end = 0;
    bool is_end = false, has_expression = true;
  };
  LocationEntry read_location_v5(ByteCursor& cursor, uint64_t& base) const;
  LocationEntry read_location_v4(ByteCursor& cursor, uint64_t& base) const;

  DwarfSections sections_;
  UnitHeader header_;
  AbbrevTable abbrevs_;
  uint64_t low_pc_ = 0;
  uint64_t addr_base_ = 0, str_offsets_base_ = 0, rnglists_base_ = 0, loclists_base_ = 0;
  bool is_split_ = false;
  uint64_t ranges_base_ = 0;        // of DWARF 4 lists, in a split unit
  uint64_t split_ranges_base_ = 0;  // what a skeleton gives its split unit
};

}  // namespace cicada::symbolize
