// SPDX-License-Identifier: Apache-2.0
#include "code/image_functions.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/work_budget.h"
#include "code/executable_ranges.h"
#include "code/program_start.h"
#include "elf/dynamic_entries.h"

namespace cicada::code {
namespace {

constexpr size_t kMaxSymbols = 1 << 18, kMaxRelocations = 1 << 18;  // of one section
constexpr uint64_t kMaxNameBytes = 4096;                            // a longer name says nothing here
constexpr size_t kStubBytes = 8;  // or a multiple
constexpr uint64_t kSmallestCode = 16, kMaxLooks = 32 << 20;        // for padding, of all gaps together
constexpr size_t kMaxOdd = 1 << 20;
constexpr uint64_t kNearBytes = 1 << 20, kMaxCallBytes = 96 << 20, kFunctionAlignment = 16;
constexpr uint64_t kLeastWorkBytes = 64 << 20, kUsualRatio = 4;     // of all sections, which may share tables and names; to the file's size

bool never_returns(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "abort", "exit", "_exit", "_Exit", "quick_exit", "__assert_fail", "__assert", "__stack_chk_fail", "__chk_fail", "__fortify_fail", "longjmp",
      "_longjmp", "siglongjmp", "__longjmp_chk", "pthread_exit", "thrd_exit", "err", "errx", "verr", "verrx", "__libc_fatal", "_Unwind_Resume",
      "__cxa_throw", "__cxa_rethrow", "__cxa_bad_cast", "__cxa_bad_typeid", "__cxa_throw_bad_array_new_length", "__cxa_call_unexpected", "_ZSt9terminatev"};
  if (name.starts_with("_ZSt") && name.find("__throw_") != std::string_view::npos) return true;
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// Parts that the compiler has put elsewhere have symbols like functions: what jumps to them knows their stack.
bool is_part(std::string_view name) { return name.find(".cold") != std::string_view::npos; }

// The code that is asked for, ascending.
class Wanted {
 public:
  Wanted(const std::vector<Range<LinkAddr>>& code, LinkAddr base) : code_(code) {
    if (!code.empty()) all_ = {std::max(base, code.front().begin), std::min(base + UINT32_MAX, code.back().end)};
  }
  bool contains(LinkAddr address) const {
    if (!all_.contains(address)) return false;
    const auto after = std::upper_bound(code_.begin(), code_.end(), address, [](LinkAddr at, const Range<LinkAddr>& range) { return at < range.begin; });
    return after != code_.begin() && std::prev(after)->contains(address);
  }

 private:
  const std::vector<Range<LinkAddr>>& code_;
  Range<LinkAddr> all_;
};

// use(entry) of each of a table's, until it says false.
template <typename Entry, typename Use>
void for_each(Bytes table, Use use) {
  for (size_t at = 0; at + sizeof(Entry) <= table.size(); at += sizeof(Entry)) {
    Entry entry;
    std::memcpy(&entry, table.data() + at, sizeof entry);
    if (!use(entry)) return;
  }
}

void add_symbols(const elf::ElfFile& elf, const elf::Section& section, const Wanted& wanted, LinkAddr base, WorkBudget& budget, StackDepths& depths) {
  if (section.link >= elf.sections().size()) return;
  const Bytes strings = elf.contents(elf.sections()[section.link]);
  size_t kept = 0;
  for_each<Elf64_Sym>(elf.contents(section), [&](const Elf64_Sym& symbol) {
    const LinkAddr begin(symbol.st_value);
    const uint8_t type = ELF64_ST_TYPE(symbol.st_info);
    if (!budget.spend(sizeof symbol)) return false;
    if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC) || begin < base || begin - base > UINT32_MAX) return true;
    const std::string_view text = text_at(strings, symbol.st_name, kMaxNameBytes);
    if (!budget.spend(text.empty() && symbol.st_name != 0 ? kMaxNameBytes : text.size())) return false;
    if (is_part(text)) return true;
    if (never_returns(text)) depths.add_never_returning(static_cast<uint32_t>(begin - base));
    if (!wanted.contains(begin)) return true;
    depths.add_function(static_cast<uint32_t>(begin - base), static_cast<uint32_t>(std::min<uint64_t>(symbol.st_size, UINT32_MAX)));
    return ++kept < kMaxSymbols;
  });
}

// Pointers to functions in data, of an image that is relocated, and slots of functions of other images.
void add_pointers(const elf::ElfFile& elf, const elf::Section& section, const Wanted& wanted, LinkAddr base, WorkBudget& budget, StackDepths& depths) {
  Bytes symbols, strings;
  if (section.link < elf.sections().size() && elf.sections()[section.link].type == SHT_DYNSYM) {
    const elf::Section& dynsym = elf.sections()[section.link];
    symbols = elf.contents(dynsym);
    if (dynsym.link < elf.sections().size()) strings = elf.contents(elf.sections()[dynsym.link]);
  }
  size_t kept = 0;
  for_each<Elf64_Rela>(elf.contents(section), [&](const Elf64_Rela& relocation) {
    const LinkAddr slot(relocation.r_offset), target(static_cast<uint64_t>(relocation.r_addend));
    const uint64_t type = ELF64_R_TYPE(relocation.r_info);
    if (!budget.spend(sizeof relocation)) return false;
    if ((type == ARCH_RELOCATION_JUMP_SLOT || type == ARCH_RELOCATION_GLOB_DAT) && slot >= base && slot - base <= UINT32_MAX) {
      const uint32_t name = ByteCursor(symbols, ELF64_R_SYM(relocation.r_info) * sizeof(Elf64_Sym)).u32();
      const std::string_view text = name == 0 ? std::string_view() : text_at(strings, name, kMaxNameBytes);
      if (!budget.spend(text.empty() ? kMaxNameBytes : text.size())) return false;
      if (never_returns(text)) depths.add_never_returning_slot(static_cast<uint32_t>(slot - base));
    }
    if (type != ARCH_RELOCATION_RELATIVE || !wanted.contains(target)) return true;
    depths.add_candidate(static_cast<uint32_t>(target - base));
    return ++kept < kMaxRelocations;
  });
}

// The same of linkers that pack them: an even word says where a pointer is, the bits of an odd one which of the words behind that are pointers, too. They are there
// themselves. Source: gABI, SHT_RELR.
void add_packed_pointers(const elf::ElfFile& elf, const elf::Section& section, const Wanted& wanted, LinkAddr base, WorkBudget& budget, StackDepths& depths) {
  constexpr uint64_t kWordBytes = 8, kBits = 63;
  size_t kept = 0;
  const auto look_at = [&](LinkAddr slot) {
    if (!budget.spend(kWordBytes)) return false;
    const LinkAddr target(ByteCursor(elf.contents_at(slot)).u64());
    if (wanted.contains(target)) {
      depths.add_candidate(static_cast<uint32_t>(target - base));
      ++kept;
    }
    return kept < kMaxRelocations;
  };
  ByteCursor entries(elf.contents(section));
  LinkAddr next;
  while (entries.remaining() >= kWordBytes && budget.spend(kWordBytes)) {
    const uint64_t entry = entries.u64();
    const bool is_address = (entry & 1) == 0;
    if (is_address && !look_at(LinkAddr(entry))) return;
    for (uint64_t bits = is_address ? 0 : entry >> 1; bits != 0; bits &= bits - 1) {
      if (!look_at(next + static_cast<uint64_t>(std::countr_zero(bits)) * kWordBytes)) return;
    }
    next = is_address ? LinkAddr(entry + kWordBytes) : next + kBits * kWordBytes;
  }
}

// Of functions of other images: which slot one jumps to tells whether its caller goes on.
void add_stubs(const elf::ElfFile& elf, const elf::Section& section, LinkAddr base, WorkBudget& budget, StackDepths& depths) {
  const Bytes code = elf.contents(section);
  for (size_t at = 0; at < code.size() && budget.spend(kStubBytes); at += kStubBytes) {
    size_t jump = at;
    auto insn = decode_instruction(code.subspan(jump));
    if (insn && insn->is_branch_target()) insn = decode_instruction(code.subspan(jump += insn->length));
    if (!insn || insn->flow() != Flow::kIndirectJump || !insn->is_ip_relative()) continue;
    const LinkAddr stub = section.address + at, slot = section.address + (jump + insn->length + static_cast<uint64_t>(insn->displacement));
    if (stub >= base && stub - base <= UINT32_MAX && slot >= base && slot - base <= UINT32_MAX) depths.add_stub(static_cast<uint32_t>(stub - base), static_cast<uint32_t>(slot - base));
  }
}

// A function that is not called by its name has its address in data.
void add_entries_of_assembly(const elf::ElfFile& elf, const elf::Section& section, const Wanted& wanted, LinkAddr base, WorkBudget& budget, StackDepths& depths) {
  if (section.type == SHT_RELA) {
    for_each<Elf64_Rela>(elf.contents(section), [&, kept = size_t{0}](const Elf64_Rela& relocation) mutable {
      const LinkAddr target(static_cast<uint64_t>(relocation.r_addend));
      if (!budget.spend(sizeof relocation)) return false;
      if (ELF64_R_TYPE(relocation.r_info) != ARCH_RELOCATION_RELATIVE || !wanted.contains(target)) return true;
      depths.add_candidate(static_cast<uint32_t>(target - base));
      return ++kept < kMaxRelocations;
    });
    return;
  }
  for_each<Elf64_Sym>(elf.contents(section), [&, kept = size_t{0}](const Elf64_Sym& symbol) mutable {
    const LinkAddr begin(symbol.st_value);
    const uint8_t type = ELF64_ST_TYPE(symbol.st_info);
    if (!budget.spend(sizeof symbol)) return false;
    if (symbol.st_shndx == SHN_UNDEF || type > STT_FUNC || type == STT_OBJECT || !wanted.contains(begin)) return true;
    // Assemblers' labels have no type.
    if (type == STT_FUNC) depths.add_function(static_cast<uint32_t>(begin - base), static_cast<uint32_t>(std::min<uint64_t>(symbol.st_size, UINT32_MAX)));
    else depths.add_candidate(static_cast<uint32_t>(begin - base));
    return ++kept < kMaxSymbols;
  });
}

// What is near some of `code`, which ascends: ascending, disjoint.
std::vector<Range<LinkAddr>> find_near(const std::vector<Range<LinkAddr>>& code) {
  std::vector<Range<LinkAddr>> near;
  for (const Range<LinkAddr>& range : code) {
    const LinkAddr begin = range.begin - std::min(range.begin.value, kNearBytes), end = range.end + std::min(UINT64_MAX - range.end.value, kNearBytes);
    if (!near.empty() && begin <= near.back().end) near.back().end = end;
    else near.push_back({begin, end});
  }
  return near;
}

// What bytes that look like calls lead to: of every hundred bytes one or two do, and few of those that are none lead to `code`, fewer where functions begin or twice to one
// place.
void add_called(const elf::ElfFile& elf, const std::vector<Range<LinkAddr>>& code, const Wanted& wanted, LinkAddr base, StackDepths& depths) {
  const auto sections = ExecutableRanges::find_code(elf);
  if (!sections) return;
  const std::vector<Range<LinkAddr>> all_near = find_near(code);
  uint64_t looks = kMaxCallBytes;
  std::vector<uint32_t> once;  // at odd places
  for (const Range<LinkAddr>& range : sections->ranges()) {
    for (const Range<LinkAddr>& part : all_near) {
      const Range<LinkAddr> near{std::max(range.begin, part.begin), std::min(range.end, part.end)};
      if (near.empty()) continue;
      const Bytes all = elf.contents_at(near.begin), bytes = all.first(std::min<uint64_t>({all.size(), near.size(), looks}));
      looks -= bytes.size();
      find_possible_calls(bytes, [&](int64_t offset) {
        const LinkAddr target(near.begin.value + static_cast<uint64_t>(offset));
        if (!wanted.contains(target)) return;
        const auto begin = static_cast<uint32_t>(target - base);
        if (target.value % kFunctionAlignment == 0) depths.add_candidate(begin);
        else if (once.size() < kMaxOdd) once.push_back(begin);
      });
    }
  }
  std::sort(once.begin(), once.end());
  for (auto at = std::adjacent_find(once.begin(), once.end()); at != once.end(); at = std::adjacent_find(std::upper_bound(at, once.end(), *at), once.end())) depths.add_candidate(*at);
}

void add_code(const elf::ElfFile& elf, const std::vector<Range<LinkAddr>>& code, LinkAddr base, StackDepths& depths) {
  for (const Range<LinkAddr>& range : code) {
    if (range.begin < base || range.begin - base > UINT32_MAX) continue;
    const Bytes bytes = elf.contents_at(range.begin);
    depths.add_code(static_cast<uint32_t>(range.begin - base), bytes.first(std::min<uint64_t>(bytes.size(), range.size())));
  }
}

}  // namespace

bool is_compiled_without_cfi(const elf::ElfFile& elf, uint64_t covered, uint64_t total) {
  // Linkers write CFI for their stubs.
  for (const elf::Section& section : elf.sections()) {
    if (!section.name.starts_with(".plt") || (section.flags & SHF_EXECINSTR) == 0) continue;
    covered -= std::min(covered, section.size);
    total -= std::min(total, section.size);
  }
  // Old linkers give libraries an entry, and a static program that may lie anywhere has no interpreter.
  const bool is_library = elf.type() == ET_DYN && elf.interpreter().empty() && (elf::DynamicEntries(elf).find(DT_FLAGS_1).value_or(0) & DF_1_PIE) == 0;
  return covered < total / (is_library ? 8 : 2);
}

StackDepths read_functions(const elf::ElfFile& elf, const std::vector<Range<LinkAddr>>& code, LinkAddr base) {
  StackDepths depths;
  add_code(elf, code, base, depths);
  const Wanted wanted(code, base);
  WorkBudget budget(kLeastWorkBytes + kUsualRatio * elf.bytes().size());
  for (const elf::Section& section : elf.sections()) {
    if (section.type == SHT_SYMTAB || section.type == SHT_DYNSYM) add_symbols(elf, section, wanted, base, budget, depths);
    if (section.type == SHT_RELA) add_pointers(elf, section, wanted, base, budget, depths);
    if (section.type == SHT_RELR) add_packed_pointers(elf, section, wanted, base, budget, depths);
  }
  if (elf.entry().value != 0 && wanted.contains(elf.entry())) depths.add_candidate(static_cast<uint32_t>(elf.entry() - base));
  for (const elf::Section& section : elf.sections()) {
    if (section.name.starts_with(".plt") && (section.flags & SHF_EXECINSTR) != 0) add_stubs(elf, section, base, budget, depths);
  }
  add_called(elf, code, wanted, base, depths);
  // What the entry calls is not followed from there: nothing called the entry.
  const auto program = find_program_start(elf);
  if (program && program->main && wanted.contains(*program->main)) depths.add_function(static_cast<uint32_t>(*program->main - base), 0);
  if (elf.type() == ET_EXEC) depths.set_absolute(base.value);
  return depths;
}

StackDepths read_assembly(const elf::ElfFile& elf, const std::vector<Range<LinkAddr>>& code, LinkAddr base) {
  StackDepths depths;
  depths.set_assembly();
  if (code.empty()) return depths;
  add_code(elf, code, base, depths);
  const Wanted wanted(code, base);
  WorkBudget budget(kLeastWorkBytes + kUsualRatio * elf.bytes().size());
  for (const elf::Section& section : elf.sections()) {
    if (section.type == SHT_SYMTAB || section.type == SHT_DYNSYM || section.type == SHT_RELA) add_entries_of_assembly(elf, section, wanted, base, budget, depths);
    if (section.type == SHT_RELR) add_packed_pointers(elf, section, wanted, base, budget, depths);
  }
  return depths;
}

StackDepths read_some(const elf::ElfFile& elf, bool compiled, const std::vector<Range<LinkAddr>>& code, const std::vector<Range<LinkAddr>>& all, LinkAddr base) {
  StackDepths depths = compiled ? read_functions(elf, code, base) : read_assembly(elf, code, base);
  for (const Range<LinkAddr>& range : all) {
    if (range.begin >= base && range.end - base <= UINT32_MAX) depths.add_unread(static_cast<uint32_t>(range.begin - base), static_cast<uint32_t>(range.end - base));
  }
  return depths;
}

std::vector<Range<LinkAddr>> without_padding(const elf::ElfFile& elf, std::vector<Range<LinkAddr>> gaps) {
  uint64_t looks = kMaxLooks;
  std::erase_if(gaps, [&](Range<LinkAddr>& gap) {
    Bytes bytes = elf.contents_at(gap.begin);
    while (gap.size() >= kSmallestCode) {
      if (looks == 0 || bytes.empty()) return true;
      --looks;
      const auto insn = decode_instruction(bytes);
      if (!insn || !insn->is_padding()) return false;
      bytes = bytes.subspan(insn->length);
      gap.begin = gap.begin + insn->length;
    }
    return true;
  });
  return gaps;
}

}  // namespace cicada::code
