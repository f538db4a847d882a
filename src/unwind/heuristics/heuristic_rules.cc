// SPDX-License-Identifier: Apache-2.0
#include "unwind/heuristics/heuristic_rules.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "code/image_functions.h"
#include "unwind/arch.h"
#include "unwind/heuristics/go_code.h"
#include "unwind/rows/row_editor.h"

namespace cicada::unwind {
namespace {

constexpr uint64_t kMaxSearchedBytes = 32 << 20;
constexpr uint64_t kMaxMovedBytes = 256 << 10;
constexpr uint64_t kStartBytes = 512;  // in which crtbegin.o's functions are
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

// What of `code` no FDE covers, no pattern explains and is no padding; of images that have CFI for the most of their code it is hand-written assembly.
std::vector<Range<LinkAddr>> find_unexplained(const elf::ElfFile& elf, const std::vector<Range<LinkAddr>>& code, const std::vector<Range<LinkAddr>>& gaps, const std::vector<CodeRule>& explained,
                                              LinkAddr base, bool compiled) {
  std::vector<Range<LinkAddr>> parts, known;
  for (const Range<LinkAddr>& range : code) {
    for (auto gap = first_gap(gaps, range); gap != gaps.end() && gap->begin < range.end; ++gap) {
      const Range<LinkAddr> part = intersect(*gap, range);
      // Where a program or the loader begins there is nothing called.
      if (part.begin >= base && part.end - base <= UINT32_MAX && (compiled || !part.contains(elf.entry()))) parts.push_back(part);
    }
  }
  for (const CodeRule& rule : explained) known.push_back({base + rule.begin, base + rule.end});
  std::sort(known.begin(), known.end());
  return code::without_padding(elf, code::subtract(parts, known));
}

// Of `unmoved` functions those that do move the stack pointer. Few at most, so that they can be read at once.
std::vector<Range<LinkAddr>> find_moved(const elf::ElfFile& elf, const std::vector<Range<LinkAddr>>& unmoved) {
  std::vector<Range<LinkAddr>> moved;
  uint64_t searched = 0, found = 0;
  for (const Range<LinkAddr>& function : unmoved) {
    if (function.size() > kMaxMovedBytes - found || function.size() > kMaxSearchedBytes - searched) continue;
    searched += function.size();
    const Bytes bytes = elf.contents_at(function.begin);
    if (!rounds_stack_down(bytes.first(std::min<uint64_t>(bytes.size(), function.size())))) continue;
    found += function.size();
    moved.push_back(function);
  }
  return moved;
}

// Ascending, disjoint, offsets from `base`.
std::vector<CodeRule> rules_of(code::StackDepths depths, bool assembly) {
  std::vector<CodeRule> rules;
  for (const code::StackRange& range : depths.find()) {
    unwind_rule rule = range.state.to_rule();
    if (assembly) rule.via_align |= UNWIND_KEEPS_REGISTERS;
    if (!rules.empty() && rules.back().end == range.begin && std::memcmp(&rules.back().rule, &rule, sizeof rule) == 0) rules.back().end = range.end;
    else rules.push_back({range.begin, range.end, rule});
  }
  return rules;
}

std::vector<CodeRule> as_unread(const std::vector<Range<LinkAddr>>& code, LinkAddr base) {
  std::vector<CodeRule> rules;
  for (const Range<LinkAddr>& range : code) rules.push_back({static_cast<uint32_t>(range.begin - base), static_cast<uint32_t>(range.end - base), unread_rule()});
  return rules;
}

bool is_init_section(std::string_view name) { return name == ".init" || name == ".fini"; }

// A function that the image defines, looked for when first asked for: a millisecond of libLLVM's symbols.
class DefinedFunction {
 public:
  DefinedFunction(const elf::ElfFile& elf, std::string_view name) : elf_(elf), name_(name) {}
  // Never, if it is not there, or the image is stripped.
  bool is_at(LinkAddr address) {
    if (!searched_) address_ = find().value_or(LinkAddr{});
    searched_ = true;
    return address_.value != 0 && address_ == address;
  }

 private:
  // Symbols of libraries first.
  std::optional<LinkAddr> find() const {
    for (const char* const name : {".dynsym", ".symtab"}) {
      const elf::Section* const section = elf_.find_section(name);
      if (section == nullptr || section->link >= elf_.sections().size()) continue;
      const Bytes symbols = elf_.contents(*section), strings = elf_.contents(elf_.sections()[section->link]);
      for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_name >= strings.size()) continue;
        const Bytes rest = strings.subspan(symbol.st_name);
        if (rest.size() > name_.size() && rest[name_.size()] == 0 && std::memcmp(rest.data(), name_.data(), name_.size()) == 0) {
          return LinkAddr(symbol.st_value);
        }
      }
    }
    return std::nullopt;
  }
  const elf::ElfFile& elf_;
  std::string_view name_;
  bool searched_ = false;
  LinkAddr address_;
};

// Rules of bytes of the image, as rules of the table.
class Patches {
 public:
  Patches(const elf::ElfFile& elf, LinkAddr base) : elf_(elf), base_(base) {}

  Bytes bytes_of(Range<LinkAddr> range) const {
    const Bytes all = elf_.contents_at(range.begin);
    return all.first(std::min<uint64_t>(all.size(), range.size()));
  }
  // `rules` have offsets from `begin`; they also hold for `before` bytes in front of them.
  void add(LinkAddr begin, std::span<const CodeRule> rules, uint32_t before = 0) {
    const auto at = static_cast<uint32_t>(begin - base_);
    for (const CodeRule& rule : rules) {
      if (rules_.size() == kMaxPatternRules || rule.begin >= rule.end) continue;
      rules_.push_back({at + rule.begin - std::min(at + rule.begin, before), at + rule.end, rule.rule});
    }
  }
  std::vector<CodeRule>& rules() { return rules_; }

 private:
  const elf::ElfFile& elf_;
  LinkAddr base_;
  std::vector<CodeRule> rules_;
};

void apply(std::vector<CodeRule> patches, RowTable& table) {
  if (patches.empty()) return;
  std::sort(patches.begin(), patches.end(), [](const CodeRule& a, const CodeRule& b) { return a.begin < b.begin; });
  RowEditor editor(table);
  for (const CodeRule& patch : patches) editor.overwrite(patch);
  editor.finish();
}

}  // namespace

void add_heuristic_rules(const elf::ElfFile& elf, const code::ExecutableRanges& code, const std::vector<Range<LinkAddr>>& gaps,
                         const std::vector<Range<LinkAddr>>& unmoved, uint64_t max_read_bytes, RowTable& table) {
  Patches patches(elf, table.base);
  std::vector<CodeRule> by_frame_pointer;
  uint64_t budget = kMaxSearchedBytes;
  const auto find_trampolines = [&](Range<LinkAddr> range) {
    const uint64_t size = std::min(range.size(), budget);
    budget -= size;
    const std::vector<CodeRule> found = find_signal_trampolines(patches.bytes_of({range.begin, range.begin + size}));
    patches.add(range.begin, found, 1);
    table.stats.signal_trampolines += found.size();
  };
  const auto go_functions = elf::GoFunctions::find(elf);
  const bool go = go_functions || elf.find_section(".note.go.buildid") != nullptr;
  const bool program = elf.type() == ET_EXEC || !elf.interpreter().empty();  // the entry of a library means nothing
  const auto sections = code::ExecutableRanges::find_code(elf);
  if (!sections) return;
  // A libc without CFI, or a static program with one in it.
  const bool starts_programs = elf.type() == ET_EXEC || elf.entry().value != 0 || table.stats.covered_bytes * 2 < code.total_bytes();
  const bool may_hold_libc = !go && elf.interpreter().empty() && starts_programs;
  DefinedFunction exit(elf, "exit");
  for (const Range<LinkAddr>& range : sections->ranges()) {
    size_t hint = 0;
    if (!code.contains(range, hint)) continue;
    if (go) find_trampolines(range);
    for (auto gap = first_gap(gaps, range); gap != gaps.end() && gap->begin < range.end; ++gap) {
      const Range<LinkAddr> part = intersect(*gap, range);
      if (part.empty()) continue;
      const Bytes bytes = patches.bytes_of(part);
      if (program && part.contains(elf.entry())) {
        if (const auto rule = find_entry_rule(bytes.subspan(std::min<uint64_t>(bytes.size(), elf.entry() - part.begin)))) patches.add(elf.entry(), {&*rule, 1});
      }
      if (!go && part.size() >= kSmallestTrampoline) find_trampolines(part);
      if (may_hold_libc) {
        const auto is_exit = [&](int64_t callee) { return exit.is_at(LinkAddr(part.begin.value + static_cast<uint64_t>(callee))); };
        patches.add(part.begin, find_exit_calls(bytes.first(std::min<uint64_t>(bytes.size(), kMaxSearchedBytes)), is_exit), 1);
      }
      if (!go && part.size() >= kSmallestStartCode) {
        patches.add(part.begin, find_crtbegin_rules(bytes.first(std::min<uint64_t>(bytes.size(), kStartBytes)), part.begin.value & 15));
      }
      if (table.stats.fdes == 0 && by_frame_pointer.size() < kMaxPatternRules) {
        by_frame_pointer.push_back({static_cast<uint32_t>(part.begin - table.base), static_cast<uint32_t>(part.end - table.base),
                                    rule_of_kind(CFA_FRAME_POINTER)});
      }
    }
  }
  for (const elf::Section& section : elf.sections()) {
    const bool init = is_init_section(section.name) && section.size <= kMaxInitBytes;
    if ((section.flags & SHF_EXECINSTR) == 0 || !(init || is_stub_section(section.name)) || section.size > kMaxSearchedBytes) continue;
    const Range<LinkAddr> whole{section.address, section.address + section.size};
    size_t hint = 0;
    const auto gap = first_gap(gaps, whole);
    if (gap == gaps.end() || gap->begin > whole.begin || gap->end < whole.end || !code.contains(whole, hint)) continue;
    const Bytes bytes = patches.bytes_of(whole);
    patches.add(whole.begin, init ? find_init_rules(bytes) : find_stub_rules(section.name, bytes));
  }
  std::vector<CodeRule> go_code;
  if (go_functions) go_code = within(find_go_rules(*go_functions, table.base, [&](LinkAddr at) { return elf.contents_at(at); }), gaps, table.base);
  std::vector<CodeRule> read, moved;
  if (!go) {
    const bool compiled = code::is_compiled_without_cfi(elf, table.stats.covered_bytes, sections->total_bytes());
    const std::vector<Range<LinkAddr>> unexplained = find_unexplained(elf, sections->ranges(), gaps, patches.rules(), table.base, compiled);
    if (code::total_bytes(unexplained) > max_read_bytes) read = as_unread(unexplained, table.base);
    else if (compiled) read = within(rules_of(code::read_functions(elf, sections->ranges(), table.base), false), gaps, table.base);
    else read = rules_of(code::read_assembly(elf, unexplained, table.base), true);
    if (!compiled) moved = rules_of(code::read_assembly(elf, find_moved(elf, unmoved), table.base), true);
  }
  // An image without any FDE has no table unless something is to be said; it is walked by frame pointer as a whole.
  if (table.stats.fdes == 0 && patches.rules().empty() && go_code.empty() && read.empty()) return;
  apply(std::move(by_frame_pointer), table);
  apply(std::move(read), table);
  apply(std::move(moved), table);
  apply(std::move(go_code), table);
  apply(std::move(patches.rules()), table);
}

std::vector<CodeRule> read_code(const elf::ElfFile& elf, const CodeQuestion& question) {
  const auto sections = code::ExecutableRanges::find_code(elf);
  if (!sections) return {};
  const bool compiled = code::is_compiled_without_cfi(elf, question.covered_bytes, sections->total_bytes());
  return rules_of(code::read_some(elf, compiled, question.code, question.all, question.base), !compiled);
}

}  // namespace cicada::unwind
