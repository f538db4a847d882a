// SPDX-License-Identifier: Apache-2.0
#include "symbolize/dwarf/unit.h"

#include <dwarf.h>

#include <algorithm>


namespace cicada::symbolize {
namespace {

uint64_t read_offset(ByteCursor& cursor, const UnitFormat& format) { return format.offset_size == 8 ? cursor.u64() : cursor.u32(); }

uint64_t read_sized(ByteCursor& cursor, uint64_t size) {
  switch (size) {
    case 1: return cursor.u8();
    case 2: return cursor.u16();
    case 3: {
      const uint64_t low = cursor.u16();
      return low | uint64_t{cursor.u8()} << 16;
    }
    case 4: return cursor.u32();
    default: return cursor.u64();
  }
}

}  // namespace

std::optional<UnitHeader> UnitHeader::read(Bytes info, uint64_t offset, uint64_t& next) {
  UnitHeader header;
  header.offset = offset;
  ByteCursor cursor(info, offset);
  uint64_t length = cursor.u32();
  if (length == 0xffffffff) {
    header.format.offset_size = 8;
    length = cursor.u64();
  }
  if (cursor.failed() || length > cursor.remaining()) {
    next = info.size();
    return std::nullopt;
  }
  header.end = next = cursor.position() + length;
  header.format.version = cursor.u16();
  if (header.format.version >= 5) {
    header.type = cursor.u8();
    header.format.address_size = cursor.u8();
    header.abbrev_offset = read_offset(cursor, header.format);
    if (header.type == DW_UT_skeleton || header.type == DW_UT_split_compile) header.dwo_id = cursor.u64();
    if (header.type == DW_UT_type || header.type == DW_UT_split_type) cursor.skip(8 + uint64_t{header.format.offset_size});
  } else {
    header.type = DW_UT_compile;
    header.abbrev_offset = read_offset(cursor, header.format);
    header.format.address_size = cursor.u8();
  }
  header.entries = cursor.position();
  const bool sane = !cursor.failed() && header.format.version >= 2 && header.format.version <= 5 && header.format.address_size == 8 && header.entries <= header.end;
  if (!sane) return std::nullopt;
  return header;
}

std::shared_ptr<DwarfUnit> DwarfUnit::open(const DwarfSections& sections, const UnitHeader& header, WorkBudget& budget, const DwarfUnit* skeleton) {
  auto unit = std::make_shared<DwarfUnit>();
  unit->sections_ = sections;
  unit->header_ = header;
  uint64_t used = 0;
  unit->abbrevs_ = AbbrevTable::parse(sections.abbrev, header.abbrev_offset, header.format, used);
  if (!budget.spend(used)) return nullptr;
  // Where a unit does not say, its tables begin behind the section's header (split units rely on it).
  const bool v5 = header.format.version >= 5;
  const bool wide = header.format.offset_size == 8;
  unit->str_offsets_base_ = v5 ? (wide ? 16 : 8) : 0;
  unit->rnglists_base_ = v5 ? (wide ? 20 : 12) : 0;
  unit->loclists_base_ = unit->rnglists_base_;
  unit->addr_base_ = v5 ? (wide ? 16 : 8) : 0;
  if (skeleton != nullptr) {
    unit->is_split_ = true;
    unit->sections_.addr = skeleton->sections_.addr;
    unit->addr_base_ = skeleton->addr_base_;
    if (!v5) unit->sections_.ranges = skeleton->sections_.ranges;
    unit->ranges_base_ = skeleton->split_ranges_base_;
    unit->low_pc_ = skeleton->low_pc_;
  }
  unit->read_bases();
  unit->read_root(budget);
  return unit;
}

void DwarfUnit::read_bases() {
  ByteCursor cursor(sections_.info.first(header_.end), header_.entries);
  const AbbrevTable::Abbrev* root = abbrevs_.find(cursor.uleb128());
  if (root == nullptr) return;
  for (const AttributeSpec* spec = abbrevs_.specs_begin(*root); spec != abbrevs_.specs_end(*root) && !cursor.failed(); ++spec) {
    switch (spec->name) {
      case DW_AT_str_offsets_base: str_offsets_base_ = read(cursor, *spec).number; break;
      case DW_AT_addr_base: case DW_AT_GNU_addr_base: addr_base_ = read(cursor, *spec).number; break;
      case DW_AT_rnglists_base: rnglists_base_ = read(cursor, *spec).number; break;
      case DW_AT_loclists_base: loclists_base_ = read(cursor, *spec).number; break;
      case DW_AT_GNU_ranges_base: split_ranges_base_ = read(cursor, *spec).number; break;
      default: skip_form(cursor, spec->form, header_.format); break;
    }
  }
}

void DwarfUnit::read_root(WorkBudget& budget) {
  ByteCursor cursor(sections_.info.first(header_.end), header_.entries);
  const AbbrevTable::Abbrev* root = abbrevs_.find(cursor.uleb128());
  if (root == nullptr) return;
  AttributeValue low, high, ranges;
  for (const AttributeSpec* spec = abbrevs_.specs_begin(*root); spec != abbrevs_.specs_end(*root) && !cursor.failed(); ++spec) {
    const AttributeValue value = read(cursor, *spec);
    switch (spec->name) {
      case DW_AT_name: name = value.text; break;
      case DW_AT_comp_dir: directory = value.text; break;
      case DW_AT_dwo_name: case DW_AT_GNU_dwo_name: dwo_name = value.text; break;
      case DW_AT_GNU_dwo_id: dwo_id = value.number; break;
      case DW_AT_stmt_list: line_offset = value.number; break;
      case DW_AT_low_pc: low = value; break;
      case DW_AT_high_pc: high = value; break;
      case DW_AT_ranges: ranges = value; break;
      case DW_AT_language: language = value.number; break;
      default: break;
    }
  }
  if (header_.dwo_id != 0) dwo_id = header_.dwo_id;
  if (low.kind == AttributeValue::Kind::kAddress) low_pc_ = low.number;
  append_pc_ranges(low, high, ranges, code, budget);
}

uint64_t DwarfUnit::address_at(uint64_t index) const {
  if (index > UINT32_MAX) return 0;
  return ByteCursor(sections_.addr, addr_base_ + index * header_.format.address_size).u64();
}

std::string_view DwarfUnit::string_at(uint64_t index) const {
  if (index > UINT32_MAX) return {};
  ByteCursor cursor(sections_.str_offsets, str_offsets_base_ + index * header_.format.offset_size);
  const uint64_t offset = read_offset(cursor, header_.format);
  return cursor.failed() ? std::string_view() : text_at(sections_.str, offset);
}

AttributeValue DwarfUnit::read(ByteCursor& cursor, const AttributeSpec& spec) const {
  using Kind = AttributeValue::Kind;
  const UnitFormat& format = header_.format;
  uint64_t form = spec.form;
  if (form == DW_FORM_indirect) {
    form = cursor.uleb128();
    if (form == DW_FORM_indirect || form == DW_FORM_implicit_const) cursor.fail();
  }
  switch (form) {
    case DW_FORM_addr: return {Kind::kAddress, read_sized(cursor, format.address_size), {}};
    case DW_FORM_addrx: case DW_FORM_GNU_addr_index: return {Kind::kAddress, address_at(cursor.uleb128()), {}};
    case DW_FORM_addrx1: return {Kind::kAddress, address_at(cursor.u8()), {}};
    case DW_FORM_addrx2: return {Kind::kAddress, address_at(cursor.u16()), {}};
    case DW_FORM_addrx3: return {Kind::kAddress, address_at(read_sized(cursor, 3)), {}};
    case DW_FORM_addrx4: return {Kind::kAddress, address_at(cursor.u32()), {}};
    case DW_FORM_data1: case DW_FORM_flag: return {Kind::kConstant, cursor.u8(), {}};
    case DW_FORM_data2: return {Kind::kConstant, cursor.u16(), {}};
    // DWARF 2 and 3 had no form of its own for section offsets
    case DW_FORM_data4: return {format.version < 4 ? Kind::kSectionOffset : Kind::kConstant, cursor.u32(), {}};
    case DW_FORM_data8: return {format.version < 4 ? Kind::kSectionOffset : Kind::kConstant, cursor.u64(), {}};
    case DW_FORM_udata: return {Kind::kConstant, cursor.uleb128(), {}};
    case DW_FORM_sdata: return {Kind::kConstant, static_cast<uint64_t>(cursor.sleb128()), {}};
    case DW_FORM_implicit_const: return {Kind::kConstant, static_cast<uint64_t>(spec.implicit), {}};
    case DW_FORM_flag_present: return {Kind::kConstant, 1, {}};
    case DW_FORM_sec_offset: return {Kind::kSectionOffset, read_offset(cursor, format), {}};
    case DW_FORM_rnglistx: return {Kind::kRangeIndex, cursor.uleb128(), {}};
    case DW_FORM_loclistx: return {Kind::kLocationIndex, cursor.uleb128(), {}};
    case DW_FORM_exprloc: case DW_FORM_block: return {Kind::kBlock, 0, {}, cursor.take(cursor.uleb128())};
    case DW_FORM_block1: return {Kind::kBlock, 0, {}, cursor.take(cursor.u8())};
    case DW_FORM_block2: return {Kind::kBlock, 0, {}, cursor.take(cursor.u16())};
    case DW_FORM_block4: return {Kind::kBlock, 0, {}, cursor.take(cursor.u32())};
    case DW_FORM_ref1: return {Kind::kReference, header_.offset + cursor.u8(), {}};
    case DW_FORM_ref2: return {Kind::kReference, header_.offset + cursor.u16(), {}};
    case DW_FORM_ref4: return {Kind::kReference, header_.offset + cursor.u32(), {}};
    case DW_FORM_ref8: return {Kind::kReference, header_.offset + cursor.u64(), {}};
    case DW_FORM_ref_udata: return {Kind::kReference, header_.offset + cursor.uleb128(), {}};
    case DW_FORM_ref_addr: return {Kind::kReference, read_sized(cursor, format.ref_addr_size()), {}};
    case DW_FORM_GNU_ref_alt: return {Kind::kAlternateReference, read_offset(cursor, format), {}};
    case DW_FORM_ref_sup4: return {Kind::kAlternateReference, cursor.u32(), {}};
    case DW_FORM_ref_sup8: return {Kind::kAlternateReference, cursor.u64(), {}};
    case DW_FORM_string: return {Kind::kString, 0, cursor.c_string()};
    case DW_FORM_strp: return {Kind::kString, 0, text_at(sections_.str, read_offset(cursor, format))};
    case DW_FORM_line_strp: return {Kind::kString, 0, text_at(sections_.line_str, read_offset(cursor, format))};
    case DW_FORM_GNU_strp_alt: case DW_FORM_strp_sup: return {Kind::kString, 0, text_at(sections_.alternate_str, read_offset(cursor, format))};
    case DW_FORM_strx: case DW_FORM_GNU_str_index: return {Kind::kString, 0, string_at(cursor.uleb128())};
    case DW_FORM_strx1: return {Kind::kString, 0, string_at(cursor.u8())};
    case DW_FORM_strx2: return {Kind::kString, 0, string_at(cursor.u16())};
    case DW_FORM_strx3: return {Kind::kString, 0, string_at(read_sized(cursor, 3))};
    case DW_FORM_strx4: return {Kind::kString, 0, string_at(cursor.u32())};
    default:
      skip_form(cursor, static_cast<uint16_t>(std::min<uint64_t>(form, UINT16_MAX)), format);
      return {Kind::kOther, 0, {}};
  }
}

void DwarfUnit::append_pc_ranges(const AttributeValue& low, const AttributeValue& high, const AttributeValue& ranges,
                                 std::vector<std::pair<uint64_t, uint64_t>>& out, WorkBudget& budget) const {
  using Kind = AttributeValue::Kind;
  if (ranges.kind != Kind::kNone) return append_ranges(ranges, out, budget);
  if (low.kind != Kind::kAddress || high.kind == Kind::kNone) return;
  const uint64_t end = high.kind == Kind::kAddress ? high.number : low.number + high.number;
  if (low.number < end) out.emplace_back(low.number, end);
}

void DwarfUnit::append_ranges(const AttributeValue& value, std::vector<std::pair<uint64_t, uint64_t>>& ranges, WorkBudget& budget) const {
  uint64_t offset = value.number;
  if (header_.format.version < 5) {
    // a split unit's lists stand in the skeleton's file, behind its base
    return append_range_list_v4(ByteCursor(sections_.ranges, offset + ranges_base_), ranges, budget);
  }
  if (value.kind == AttributeValue::Kind::kRangeIndex) {
    if (offset > UINT32_MAX) return;
    ByteCursor index(sections_.rnglists, rnglists_base_ + offset * header_.format.offset_size);
    offset = rnglists_base_ + read_offset(index, header_.format);
    if (index.failed()) return;
  }
  append_range_list_v5(ByteCursor(sections_.rnglists, offset), ranges, budget);
}

void DwarfUnit::append_range_list_v4(ByteCursor cursor, std::vector<std::pair<uint64_t, uint64_t>>& ranges, WorkBudget& budget) const {
  uint64_t base = low_pc_;
  while (!cursor.failed() && budget.spend(16)) {
    const uint64_t begin = cursor.u64();
    const uint64_t end = cursor.u64();
    if (cursor.failed() || (begin == 0 && end == 0)) return;
    if (begin == UINT64_MAX) {
      base = end;
    } else if (begin < end) {
      ranges.emplace_back(base + begin, base + end);
    }
  }
}

void DwarfUnit::append_range_list_v5(ByteCursor cursor, std::vector<std::pair<uint64_t, uint64_t>>& ranges, WorkBudget& budget) const {
  uint64_t base = low_pc_;
  const auto append = [&](uint64_t begin, uint64_t end) {
    if (begin < end) ranges.emplace_back(begin, end);
  };
  while (!cursor.failed() && budget.spend(4)) {
    switch (cursor.u8()) {
      case DW_RLE_end_of_list: return;
      case DW_RLE_base_addressx: base = address_at(cursor.uleb128()); break;
      case DW_RLE_startx_endx: {
        const uint64_t begin = address_at(cursor.uleb128());
        append(begin, address_at(cursor.uleb128()));
        break;
      }
      case DW_RLE_startx_length: {
        const uint64_t begin = address_at(cursor.uleb128());
        append(begin, begin + cursor.uleb128());
        break;
      }
      case DW_RLE_offset_pair: {
        const uint64_t begin = cursor.uleb128();
        append(base + begin, base + cursor.uleb128());
        break;
      }
      case DW_RLE_base_address: base = cursor.u64(); break;
      case DW_RLE_start_end: {
        const uint64_t begin = cursor.u64();
        append(begin, cursor.u64());
        break;
      }
      case DW_RLE_start_length: {
        const uint64_t begin = cursor.u64();
        append(begin, begin + cursor.uleb128());
        break;
      }
      default: return;
    }
  }
}

// Source: DWARF 5, section 7.7.3.
DwarfUnit::LocationEntry DwarfUnit::read_location_v5(ByteCursor& cursor, uint64_t& base) const {
  LocationEntry entry;
  switch (cursor.u8()) {
    case DW_LLE_base_addressx:
      base = address_at(cursor.uleb128());
      entry.has_expression = false;
      break;
    case DW_LLE_startx_endx:
      entry.begin = address_at(cursor.uleb128());
      entry.end = address_at(cursor.uleb128());
      break;
    case DW_LLE_startx_length:
      entry.begin = address_at(cursor.uleb128());
      entry.end = entry.begin + cursor.uleb128();
      break;
    case DW_LLE_offset_pair:
      entry.begin = base + cursor.uleb128();
      entry.end = base + cursor.uleb128();
      break;
    case DW_LLE_default_location: entry.end = UINT64_MAX; break;
    case DW_LLE_base_address:
      base = cursor.u64();
      entry.has_expression = false;
      break;
    case DW_LLE_start_end:
      entry.begin = cursor.u64();
      entry.end = cursor.u64();
      break;
    case DW_LLE_start_length:
      entry.begin = cursor.u64();
      entry.end = entry.begin + cursor.uleb128();
      break;
    case DW_LLE_GNU_view_pair:
      cursor.uleb128();
      cursor.uleb128();
      entry.has_expression = false;
      break;
    default: entry.is_end = true;
  }
  return entry;
}

// Source: DWARF 4, section 2.6.2; of split units the GNU extension, whose kinds are numbers of DWARF 5 with other sizes.
DwarfUnit::LocationEntry DwarfUnit::read_location_v4(ByteCursor& cursor, uint64_t& base) const {
  LocationEntry entry;
  if (!is_split_) {
    entry.begin = cursor.u64();
    entry.end = cursor.u64();
    entry.is_end = entry.begin == 0 && entry.end == 0;
    entry.has_expression = entry.begin != UINT64_MAX;
    if (!entry.has_expression) base = entry.end;
    entry.begin += base;
    entry.end += base;
    return entry;
  }
  switch (cursor.u8()) {
    case DW_LLE_GNU_base_address_selection_entry:
      base = address_at(cursor.uleb128());
      entry.has_expression = false;
      break;
    case DW_LLE_GNU_start_end_entry:
      entry.begin = address_at(cursor.uleb128());
      entry.end = address_at(cursor.uleb128());
      break;
    case DW_LLE_GNU_start_length_entry:
      entry.begin = address_at(cursor.uleb128());
      entry.end = entry.begin + cursor.u32();
      break;
    default: entry.is_end = true;
  }
  return entry;
}

std::optional<Bytes> DwarfUnit::find_location(const AttributeValue& value, uint64_t address, WorkBudget& budget) const {
  const bool v5 = header_.format.version >= 5;
  uint64_t offset = value.number;
  if (value.kind == AttributeValue::Kind::kLocationIndex) {
    if (!v5 || offset > UINT32_MAX) return std::nullopt;
    ByteCursor index(sections_.loclists, loclists_base_ + offset * header_.format.offset_size);
    offset = loclists_base_ + read_offset(index, header_.format);
    if (index.failed()) return std::nullopt;
  } else if (value.kind != AttributeValue::Kind::kSectionOffset) {
    return std::nullopt;
  }
  ByteCursor cursor(v5 ? sections_.loclists : sections_.loc, offset);
  uint64_t base = low_pc_;
  while (!cursor.failed() && budget.spend(8)) {
    const LocationEntry entry = v5 ? read_location_v5(cursor, base) : read_location_v4(cursor, base);
    if (entry.is_end || cursor.failed()) return std::nullopt;
    if (!entry.has_expression) continue;
    const Bytes expression = cursor.take(v5 ? cursor.uleb128() : cursor.u16());
    // GCC's first one of what is assigned to before the first instruction holds for no instruction.
    const bool holds = entry.begin <= address && (address < entry.end || (entry.begin == address && entry.end == address));
    if (holds && !cursor.failed()) return expression;
  }
  return std::nullopt;
}

}  // namespace cicada::symbolize
