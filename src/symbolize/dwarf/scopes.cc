// SPDX-License-Identifier: Apache-2.0
// Why this is fast: of 100 entries some 95 are types, parameters, locations. They cost one abbreviation look-up and a merged
// skip each, or nothing where a DW_AT_sibling leads past their whole subtree (GCC writes them; LLVM does not).
#include "symbolize/dwarf/scopes.h"

#include <dwarf.h>

#include <algorithm>

namespace cicada::symbolize {
namespace {

enum class Interest : uint8_t { kSkip, kDescend, kCode };

Interest interest_of(uint16_t tag) {
  switch (tag) {
    case DW_TAG_subprogram: case DW_TAG_inlined_subroutine: case DW_TAG_lexical_block: case DW_TAG_try_block: case DW_TAG_catch_block:
    case DW_TAG_with_stmt: return Interest::kCode;
    // Rust puts functions below the types they belong to, without siblings to skip by
    case DW_TAG_compile_unit: case DW_TAG_partial_unit: case DW_TAG_skeleton_unit: case DW_TAG_namespace: case DW_TAG_module: case DW_TAG_common_block:
      return Interest::kDescend;
    default: return Interest::kSkip;
  }
}

struct CodeEntry {
  AttributeValue low, high, ranges;
  uint64_t call_file = 0, call_line = 0, sibling = 0;
};

CodeEntry read_code_entry(const DwarfUnit& unit, ByteCursor& cursor, const AbbrevTable::Abbrev& abbrev) {
  CodeEntry entry;
  unit.abbrevs().run(AbbrevTable::kCodePlan, cursor, abbrev, unit.header().format, [&](const AttributeSpec& attribute) {
    const AttributeValue value = unit.read(cursor, attribute);
    switch (attribute.name) {
      case DW_AT_low_pc: entry.low = value; break;
      case DW_AT_high_pc: entry.high = value; break;
      case DW_AT_ranges: entry.ranges = value; break;
      case DW_AT_call_file: entry.call_file = value.number; break;
      case DW_AT_call_line: entry.call_line = value.number; break;
      default: entry.sibling = value.number; break;
    }
  });
  return entry;
}

uint64_t read_sibling(const DwarfUnit& unit, ByteCursor& cursor, const AbbrevTable::Abbrev& abbrev) {
  uint64_t sibling = 0;
  for (const AttributeSpec* spec = unit.abbrevs().specs_begin(abbrev); spec != unit.abbrevs().specs_end(abbrev); ++spec) {
    if (spec->name == DW_AT_sibling) {
      sibling = unit.read(cursor, *spec).number;
      if (sibling > cursor.position()) return sibling;
      continue;
    }
    skip_form(cursor, spec->form, unit.header().format);
  }
  return sibling > cursor.position() ? sibling : 0;
}

Scope to_scope(uint64_t offset, uint16_t tag, const CodeEntry& entry) {
  const auto narrow = [](uint64_t value) { return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX)); };
  return {offset, tag == DW_TAG_inlined_subroutine, narrow(entry.call_file), narrow(entry.call_line)};
}

}  // namespace

void find_scopes(const DwarfUnit& unit, std::span<const uint64_t> addresses, ScopeTree& tree, WorkBudget& budget) {
  if (!budget.spend(unit.header().end - unit.header().offset)) return;
  ByteCursor cursor(unit.sections().info.first(unit.header().end), unit.header().entries);
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  uint64_t depth = 0;
  uint64_t skip_above = UINT64_MAX;  // entries deeper than this are passed over
  while (!cursor.at_end()) {
    const uint64_t offset = cursor.position();
    const uint64_t code = cursor.uleb128();
    if (code == 0) {
      if (depth <= 1) return;
      --depth;
      if (depth <= skip_above) skip_above = UINT64_MAX;
      continue;
    }
    const AbbrevTable::Abbrev* abbrev = unit.abbrevs().find(code);
    if (abbrev == nullptr) return;
    if (depth > skip_above) {
      unit.abbrevs().skip(cursor, *abbrev, unit.header().format);
      depth += abbrev->has_children ? 1 : 0;
      continue;
    }
    const Interest interest = interest_of(abbrev->tag);
    if (interest == Interest::kCode) {
      const CodeEntry entry = read_code_entry(unit, cursor, *abbrev);
      ranges.clear();
      unit.append_pc_ranges(entry.low, entry.high, entry.ranges, ranges, budget);
      bool wanted = false;
      uint32_t around = UINT32_MAX, node = 0;  // neighbours are in the same scopes
      for (const auto& [begin, end] : ranges) {
        for (auto at = std::lower_bound(addresses.begin(), addresses.end(), begin); at != addresses.end() && *at < end; ++at) {
          wanted = true;
          if (abbrev->tag != DW_TAG_subprogram && abbrev->tag != DW_TAG_inlined_subroutine) break;
          uint32_t& innermost = tree.innermost[static_cast<size_t>(at - addresses.begin())];
          const uint32_t outer = tree.nodes[innermost].depth;
          if (!budget.spend(sizeof(Scope)) || outer >= kMaxScopes) continue;
          // Assembler sources have an entry for each alias of a function (clone3, __clone3, __GI___clone3): one is enough.
          if (abbrev->tag == DW_TAG_subprogram && innermost != 0) continue;
          if (innermost != 0 && tree.nodes[innermost].scope.entry == offset) continue;  // a range list may name an address twice
          if (innermost != around) {
            if (tree.nodes.size() == kMaxScopeNodes) continue;
            around = innermost;
            node = static_cast<uint32_t>(tree.nodes.size());
            tree.nodes.push_back({to_scope(offset, abbrev->tag, entry), around, outer + 1});
          }
          innermost = node;
        }
      }
      if (!abbrev->has_children) continue;
      // a block without addresses of its own belongs to what is around it
      const bool descend = wanted || (ranges.empty() && abbrev->tag != DW_TAG_subprogram);
      if (!descend && entry.sibling > cursor.position() && entry.sibling < unit.header().end) {
        cursor.seek(entry.sibling);
        continue;
      }
      if (!descend) skip_above = depth;
      ++depth;
    } else if (interest == Interest::kSkip && abbrev->has_children && abbrev->has_sibling) {
      const uint64_t sibling = read_sibling(unit, cursor, *abbrev);
      if (sibling != 0 && sibling < unit.header().end) {
        cursor.seek(sibling);
      } else {
        return;
      }
    } else {
      unit.abbrevs().skip(cursor, *abbrev, unit.header().format);
      depth += abbrev->has_children ? 1 : 0;
    }
  }
}

}  // namespace cicada::symbolize
