// SPDX-License-Identifier: Apache-2.0
#include "symbolize/dwarf/abbrev.h"

#include <dwarf.h>

#include <algorithm>
#include <optional>

namespace cicada::symbolize {
namespace {

using SkipKind = AbbrevTable::SkipKind;

constexpr uint64_t kMaxTableBytes = 4 << 20;  // a table takes up to thirty times the memory; that of a large unit has 50 kB
// Of an unknown form: fails the cursor, as no section has that many bytes.
constexpr AbbrevTable::SkipStep kImpossibleStep{AbbrevTable::SkipKind::kFixed, UINT32_MAX};

// Nothing for an unknown form: the rest of such a unit cannot be read.
std::optional<AbbrevTable::SkipStep> step_of(uint16_t form, const UnitFormat& format) {
  const auto fixed = [](uint32_t size) { return AbbrevTable::SkipStep{SkipKind::kFixed, size}; };
  switch (form) {
    case DW_FORM_flag_present: case DW_FORM_implicit_const: return fixed(0);
    case DW_FORM_data1: case DW_FORM_ref1: case DW_FORM_flag: case DW_FORM_strx1: case DW_FORM_addrx1: return fixed(1);
    case DW_FORM_data2: case DW_FORM_ref2: case DW_FORM_strx2: case DW_FORM_addrx2: return fixed(2);
    case DW_FORM_strx3: case DW_FORM_addrx3: return fixed(3);
    case DW_FORM_data4: case DW_FORM_ref4: case DW_FORM_strx4: case DW_FORM_addrx4: case DW_FORM_ref_sup4: return fixed(4);
    case DW_FORM_data8: case DW_FORM_ref8: case DW_FORM_ref_sig8: case DW_FORM_ref_sup8: return fixed(8);
    case DW_FORM_data16: return fixed(16);
    case DW_FORM_addr: return fixed(format.address_size);
    case DW_FORM_ref_addr: return fixed(format.ref_addr_size());
    case DW_FORM_strp: case DW_FORM_line_strp: case DW_FORM_sec_offset: case DW_FORM_strp_sup: case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt: return fixed(format.offset_size);
    case DW_FORM_udata: case DW_FORM_sdata: case DW_FORM_ref_udata: case DW_FORM_strx: case DW_FORM_addrx: case DW_FORM_loclistx:
    case DW_FORM_rnglistx: case DW_FORM_GNU_addr_index: case DW_FORM_GNU_str_index: return AbbrevTable::SkipStep{SkipKind::kLeb};
    case DW_FORM_block1: return AbbrevTable::SkipStep{SkipKind::kBlock1};
    case DW_FORM_block2: return AbbrevTable::SkipStep{SkipKind::kBlock2};
    case DW_FORM_block4: return AbbrevTable::SkipStep{SkipKind::kBlock4};
    case DW_FORM_block: case DW_FORM_exprloc: return AbbrevTable::SkipStep{SkipKind::kBlockLeb};
    case DW_FORM_string: return AbbrevTable::SkipStep{SkipKind::kString};
    case DW_FORM_indirect: return AbbrevTable::SkipStep{SkipKind::kIndirect};
    default: return std::nullopt;
  }
}

bool is_wanted(AbbrevTable::Plan plan, uint16_t attribute) {
  switch (attribute) {
    case DW_AT_low_pc: case DW_AT_high_pc: case DW_AT_ranges: case DW_AT_call_file: case DW_AT_call_line: case DW_AT_sibling: return plan == AbbrevTable::kCodePlan;
    case DW_AT_name: case DW_AT_linkage_name: case DW_AT_MIPS_linkage_name: case DW_AT_abstract_origin: case DW_AT_specification:
      return plan == AbbrevTable::kNamePlan;
    default: return false;
  }
}

}  // namespace

void AbbrevTable::run_other_step(ByteCursor& cursor, const SkipStep& step, const UnitFormat& format) {
  switch (step.kind) {
    case SkipKind::kFixed: cursor.skip(step.size); break;
    case SkipKind::kLeb: cursor.uleb128(); break;
    case SkipKind::kBlock1: cursor.skip(cursor.u8()); break;
    case SkipKind::kBlock2: cursor.skip(cursor.u16()); break;
    case SkipKind::kBlock4: cursor.skip(cursor.u32()); break;
    case SkipKind::kBlockLeb: cursor.skip(cursor.uleb128()); break;
    case SkipKind::kString: cursor.c_string(); break;
    case SkipKind::kIndirect: {
      const uint64_t form = cursor.uleb128();
      // an indirect form of an indirect form would be a loop without progress in the specification's sense; refuse it
      if (form == DW_FORM_indirect || form == DW_FORM_implicit_const || form > UINT16_MAX) return cursor.fail();
      skip_form(cursor, static_cast<uint16_t>(form), format);
      break;
    }
  }
}

void skip_form(ByteCursor& cursor, uint16_t form, const UnitFormat& format) {
  const auto step = step_of(form, format);
  if (!step) return cursor.fail();
  AbbrevTable::run_step(cursor, *step, format);
}

AbbrevTable AbbrevTable::parse(Bytes section, uint64_t offset, const UnitFormat& format, uint64_t& used_bytes) {
  AbbrevTable table;
  section = section.subspan(std::min<uint64_t>(offset, section.size()));
  section = section.first(std::min<uint64_t>(section.size(), kMaxTableBytes));
  ByteCursor cursor(section);
  for (;;) {
    Abbrev abbrev;
    abbrev.code = cursor.uleb128();
    if (abbrev.code == 0 || cursor.failed()) break;
    abbrev.tag = static_cast<uint16_t>(std::min<uint64_t>(cursor.uleb128(), UINT16_MAX));
    abbrev.has_children = cursor.u8() != 0;
    abbrev.specs_begin = static_cast<uint32_t>(table.specs_.size());
    abbrev.steps_begin = static_cast<uint32_t>(table.steps_.size());
    for (;;) {
      const uint64_t name = cursor.uleb128();
      const uint64_t form = cursor.uleb128();
      const int64_t implicit = form == DW_FORM_implicit_const ? cursor.sleb128() : 0;
      if (cursor.failed() || (name == 0 && form == 0)) break;
      const AttributeSpec spec{static_cast<uint16_t>(std::min<uint64_t>(name, UINT16_MAX)), static_cast<uint16_t>(std::min<uint64_t>(form, UINT16_MAX)), implicit};
      abbrev.has_sibling = abbrev.has_sibling || spec.name == DW_AT_sibling;
      table.specs_.push_back(spec);
      table.append_step(spec.form, format, abbrev.steps_begin);
    }
    if (cursor.failed()) break;
    abbrev.specs_end = static_cast<uint32_t>(table.specs_.size());
    abbrev.steps_end = static_cast<uint32_t>(table.steps_.size());
    table.dense_ = table.dense_ && abbrev.code == table.abbrevs_.size() + 1;
    table.abbrevs_.push_back(abbrev);
  }
  used_bytes = cursor.failed() ? section.size() : cursor.position();
  table.append_plans(format);
  if (!table.dense_) {
    std::stable_sort(table.abbrevs_.begin(), table.abbrevs_.end(), [](const Abbrev& a, const Abbrev& b) { return a.code < b.code; });
  }
  return table;
}

void AbbrevTable::append_step(uint16_t form, const UnitFormat& format, size_t first_step) {
  const SkipStep step = step_of(form, format).value_or(kImpossibleStep);
  if (step.kind == SkipKind::kFixed && steps_.size() > first_step && steps_.back().kind == SkipKind::kFixed) {
    const uint64_t sum = uint64_t{steps_.back().size} + step.size;
    steps_.back().size = static_cast<uint32_t>(std::min<uint64_t>(sum, UINT32_MAX));
  } else if (step.kind != SkipKind::kFixed || step.size != 0) {
    steps_.push_back(step);
  }
}

void AbbrevTable::append_plans(const UnitFormat& format) {
  for (Abbrev& abbrev : abbrevs_) {
    const bool has_linkage_name = std::any_of(specs_.begin() + abbrev.specs_begin, specs_.begin() + abbrev.specs_end, [](const AttributeSpec& spec) {
      return spec.name == DW_AT_linkage_name || spec.name == DW_AT_MIPS_linkage_name;
    });
    for (const Plan plan : {kCodePlan, kNamePlan}) {
      std::vector<PlanStep>& steps = plans_[plan];
      abbrev.plan_begin[plan] = static_cast<uint32_t>(steps.size());
      bool open = false;  // the last step may take more to skip
      for (uint32_t i = abbrev.specs_begin; i < abbrev.specs_end; ++i) {
        const AttributeSpec& spec = specs_[i];
        // The plain name comes first but loses: its string would be searched, far away in .debug_str, for nothing.
        if (is_wanted(plan, spec.name) && !(spec.name == DW_AT_name && has_linkage_name)) {
          if (!open) steps.emplace_back();
          steps.back().attribute = &spec;
          open = false;
          continue;
        }
        const SkipStep step = step_of(spec.form, format).value_or(kImpossibleStep);
        if (open && step.kind == SkipKind::kFixed && steps.back().skip.kind == SkipKind::kFixed) {
          steps.back().skip.size = static_cast<uint32_t>(std::min<uint64_t>(uint64_t{steps.back().skip.size} + step.size, UINT32_MAX));
        } else {
          steps.push_back({step, nullptr});
        }
        open = true;
      }
      abbrev.plan_end[plan] = static_cast<uint32_t>(steps.size());
    }
  }
}

const AbbrevTable::Abbrev* AbbrevTable::find(uint64_t code) const {
  if (dense_) return code - 1 < abbrevs_.size() ? &abbrevs_[code - 1] : nullptr;
  const auto at = std::lower_bound(abbrevs_.begin(), abbrevs_.end(), code, [](const Abbrev& a, uint64_t c) { return a.code < c; });
  return at != abbrevs_.end() && at->code == code ? &*at : nullptr;
}

void AbbrevTable::skip(ByteCursor& cursor, const Abbrev& abbrev, const UnitFormat& format) const {
  for (uint32_t i = abbrev.steps_begin; i < abbrev.steps_end; ++i) run_step(cursor, steps_[i], format);
}

}  // namespace cicada::symbolize
