// SPDX-License-Identifier: Apache-2.0
#include "unwind/heuristics/heuristic_rules.h"

#include <algorithm>

#include "unwind/heuristics/compiled_code.h"
#include "unwind/heuristics/go_code.h"
#include "unwind/heuristics/pattern_search.h"
#include "unwind/rows/row_editor.h"

namespace cicada::unwind {
namespace {

constexpr uint64_t kMaxSearchedBytes = 32 << 20;
constexpr uint64_t kSmallestStartCode = 96;  // crtbegin.o's code is the first of .text that has no CFI
constexpr uint64_t kMaxInitBytes = 256;      // sections that are longer hold more than crti.o's

// The begin of the part of `gaps` that can matter to `range`.
auto first_gap(const std::vector<Range<LinkAddr>>& gaps, const Range<LinkAddr>& range) {
  return std::lower_bound(gaps.begin(), gaps.end(), range.begin,
                          [](const Range<LinkAddr>& gap, LinkAddr begin) { return gap.end <= begin; });
}

Range<LinkAddr> intersect(const Range<LinkAddr>& a, const Range<LinkAddr>& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

// Those of `rules` (ascending) that lie in gaps: CFI knows better.
std::vector<CodeRule> within(std::vector<CodeRule> rules, const std::vector<Range<LinkAddr>>& gaps, LinkAddr base) {
  auto gap = gaps.begin();
  std::erase_if(rules, [&](const CodeRule& rule) {
    while (gap != gaps.end() && gap->end < base + rule.end) ++gap;
    return gap == gaps.end() || base + rule.begin < gap->begin;
  });
  return rules;
}

bool is_init_section(std::string_view name) { return name == ".init" || name == ".fini"; }

bool is_stub_section(std::string_view name) { return name == ".plt" || name == ".plt.sec" || name == ".plt.got" || name == ".iplt"; }

void apply(std::vector<CodeRule> patches, RowTable& table) {
  if (patches.empty()) return;
  std::sort(patches.begin(), patches.end(), [](const CodeRule& a, const CodeRule& b) { return a.begin < b.begin; });
  if (table.rules.empty()) table.rules.push_back(unwind_rule{});
  RowEditor editor(table.rows, table.rules);
  for (const CodeRule& patch : patches) editor.overwrite(patch);
  editor.finish();
}

}  // namespace

void add_code_patterns(const elf::ElfFile& elf, const ExecutableRanges& code, const std::vector<Range<LinkAddr>>& gaps,
                       RowTable& table) {
  PatternSearch search(elf, table);
  std::vector<CodeRule> by_frame_pointer;
  uint64_t budget = kMaxSearchedBytes;
  const auto search_part = [&](Range<LinkAddr> range) {
    const uint64_t size = std::min(range.size(), budget);
    budget -= size;
    search.search({range.begin, range.begin + size});
  };
  const Bytes pclntab = find_pclntab(elf);
  const bool go = !pclntab.empty() || elf.find_section(".note.go.buildid") != nullptr;
  const bool program = elf.type() == ET_EXEC || !elf.interpreter().empty();  // the entry of a library means nothing
  const auto sections = ExecutableRanges::find_code(elf);
  if (!sections) return;
  // A libc without CFI, or a static program with one in it.
  const bool starts_programs = elf.type() == ET_EXEC || elf.entry().value != 0 || table.stats.covered_bytes * 2 < code.total_bytes();
  const bool may_hold_libc = !go && elf.interpreter().empty() && starts_programs;
  DefinedFunction exit(elf, "exit");
  for (const Range<LinkAddr>& range : sections->ranges()) {
    size_t hint = 0;
    if (!code.contains(range, hint)) continue;
    if (go) search_part(range);
    for (auto gap = first_gap(gaps, range); gap != gaps.end() && gap->begin < range.end; ++gap) {
      const Range<LinkAddr> part = intersect(*gap, range);
      if (part.empty()) continue;
      if (program && part.contains(elf.entry())) search.search_entry(elf.entry(), part.end);
      if (!go && part.size() >= kSmallestPatternGap) search_part(part);
      if (may_hold_libc && part.size() >= kSmallestPatternGap) search.search_exit({part.begin, part.begin + std::min(part.size(), kMaxSearchedBytes)}, exit);
      if (!go && part.size() >= kSmallestStartCode) search.search_crtbegin(part);
      if (table.stats.fdes == 0 && by_frame_pointer.size() < kMaxPatches) {
        by_frame_pointer.push_back({static_cast<uint32_t>(part.begin - table.base), static_cast<uint32_t>(part.end - table.base),
                                    rule_of_kind(CFA_FRAME_POINTER)});
      }
    }
  }
  for (const CodeRule& patch : search.patches()) table.stats.signal_trampolines += patch.rule.cfa_kind == CFA_SIGNAL;
  for (const elf::Section& section : elf.sections()) {
    const bool init = is_init_section(section.name) && section.size <= kMaxInitBytes;
    if ((section.flags & SHF_EXECINSTR) == 0 || !(init || is_stub_section(section.name)) || section.size > kMaxSearchedBytes) continue;
    const Range<LinkAddr> whole{section.address, section.address + section.size};
    size_t hint = 0;
    const auto gap = first_gap(gaps, whole);
    if (gap == gaps.end() || gap->begin > whole.begin || gap->end < whole.end || !code.contains(whole, hint)) continue;
    if (init) search.add_init(whole);
    else search.add_stubs(section.name, whole);
  }
  std::vector<CodeRule> go_code;
  if (go) go_code = within(find_go_rules(pclntab, table.base), gaps, table.base);
  std::vector<CodeRule> compiled;
  if (!go && table.stats.covered_bytes * 2 < sections->total_bytes()) {
    compiled = within(find_compiled_code_rules(elf, sections->ranges(), table.base), gaps, table.base);
  }
  // An image without any FDE has no table unless something is to be said; it is walked by frame pointer as a whole.
  if (table.stats.fdes == 0 && search.patches().empty() && go_code.empty() && compiled.empty()) return;
  apply(std::move(by_frame_pointer), table);
  apply(std::move(compiled), table);
  apply(std::move(go_code), table);
  apply(search.take(), table);
}

}  // namespace cicada::unwind
