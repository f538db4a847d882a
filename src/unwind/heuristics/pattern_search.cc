// SPDX-License-Identifier: Apache-2.0
#include "unwind/heuristics/pattern_search.h"

#include <algorithm>
#include <cstring>

#include "unwind/heuristics/start_code.h"

namespace cicada::unwind {
namespace {

constexpr uint64_t kStartBytes = 512;
constexpr uint64_t kEntryBytes = 64;  // _start of musl and of Go are half as long

}  // namespace

std::optional<LinkAddr> DefinedFunction::find() const {
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

void PatternSearch::search(Range<LinkAddr> range) {
  static constexpr uint8_t kNeedle[] = {0x0f, 0, 0, 0, 0x0f, 0x05};  // $15; syscall
  const Bytes code = bytes_of(range);
  const uint8_t* const begin = code.data();
  const uint8_t* at = begin;
  while (at != nullptr && static_cast<uint64_t>(begin + code.size() - at) >= sizeof kNeedle) {
    at = static_cast<const uint8_t*>(memmem(at, static_cast<size_t>(begin + code.size() - at), kNeedle, sizeof kNeedle));
    if (at == nullptr) return;
    const auto offset = static_cast<uint64_t>(at - begin);
    uint64_t lead = 0;
    if (offset >= 3 && at[-3] == 0x48 && at[-2] == 0xc7 && at[-1] == 0xc0) lead = 3;  // mov $15,%rax
    else if (offset >= 1 && at[-1] == 0xb8) lead = 1;                                // mov $15,%eax
    if (lead != 0) add(range.begin + (offset - lead), range.begin + (offset + sizeof kNeedle), rule_of_kind(CFA_SIGNAL), 1);
    at += sizeof kNeedle;
  }
}

void PatternSearch::search_entry(LinkAddr entry, LinkAddr end) {
  const Bytes code = bytes_of({entry, std::min(end, entry + kEntryBytes)});
  for (size_t i = 0; i + 1 < code.size(); ++i) {
    const bool near_call = code[i] == 0xe8;
    const bool indirect_call = code[i] == 0xff && (code[i + 1] == 0x15 || (code[i + 1] & 0xf8) == 0xd0);
    if (!near_call && !indirect_call) continue;
    const uint64_t length = near_call ? 5 : code[i + 1] == 0x15 ? 6 : 2;
    return add(entry, std::min(end, entry + i + length), rule_of_kind(CFA_OUTERMOST), 0);
  }
}

void PatternSearch::add_stubs(std::string_view name, Range<LinkAddr> part) {
  if (name != ".plt") return add(part.begin, part.end, rule_of_kind(CFA_OFFSET, 8), 0);
  if (part.size() < 32) return;
  const Bytes code = bytes_of(part);
  const bool endbr = code.size() >= 20 && code[16] == 0xf3 && code[17] == 0x0f && code[18] == 0x1e && code[19] == 0xfa;
  add(part.begin, part.begin + 6, rule_of_kind(CFA_OFFSET, 16), 0);
  add(part.begin + 6, part.begin + 16, rule_of_kind(CFA_OFFSET, 24), 0);
  add(part.begin + 16, part.end, rule_of_kind(CFA_PLT, endbr ? 9 : 11), 0);
}

void PatternSearch::search_exit(Range<LinkAddr> range, DefinedFunction& exit) {
  static constexpr uint8_t kNeedle[] = {0x89, 0xc7, 0xe8};
  constexpr size_t kLength = 7;
  const Bytes code = bytes_of(range);
  for (size_t at = 2; at + kLength <= code.size(); ++at) {
    if (std::memcmp(code.data() + at, kNeedle, sizeof kNeedle) != 0) continue;
    int32_t distance = 0;
    std::memcpy(&distance, code.data() + at + 3, sizeof distance);
    const bool behind_call = (code[at - 2] == 0xff && (code[at - 1] & 0xf8) == 0xd0) || (at >= 5 && code[at - 5] == 0xe8) ||
                             (at >= 6 && code[at - 6] == 0xff && code[at - 5] == 0x15);
    const LinkAddr callee((range.begin + at + kLength).value + static_cast<uint64_t>(int64_t{distance}));
    if (behind_call && exit.is_at(callee)) {
      add(range.begin + at, range.begin + (at + kLength), rule_of_kind(CFA_OUTERMOST), 1);
    }
  }
}

void PatternSearch::add_init(Range<LinkAddr> section) { add_start_code(section.begin, find_init_rules(bytes_of(section))); }

void PatternSearch::search_crtbegin(Range<LinkAddr> gap) {
  const Range<LinkAddr> begin{gap.begin, gap.begin + std::min(gap.size(), kStartBytes)};
  add_start_code(gap.begin, find_crtbegin_rules(bytes_of(begin), gap.begin.value & 15));
}

Bytes PatternSearch::bytes_of(Range<LinkAddr> range) const {
  const Bytes all = elf_.contents_at(range.begin);
  return all.first(std::min<uint64_t>(all.size(), range.size()));
}

void PatternSearch::add_start_code(LinkAddr base, const std::vector<CodeRule>& rules) {
  for (const CodeRule& rule : rules) add(base + rule.begin, base + rule.end, rule.rule, 0);
}

void PatternSearch::add(LinkAddr begin, LinkAddr end, const unwind_rule& rule, uint64_t before) {
  auto from = static_cast<uint32_t>(begin - table_.base);
  if (from >= before) from -= static_cast<uint32_t>(before);
  if (patches_.size() < kMaxPatches && begin < end) patches_.push_back({from, static_cast<uint32_t>(end - table_.base), rule});
}

}  // namespace cicada::unwind
