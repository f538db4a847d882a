// SPDX-License-Identifier: Apache-2.0
#include "symbolize/symbols/plt_symbols.h"

#include <algorithm>
#include <unordered_map>

#include "base/seeded_hash.h"
#include "names/demangle.h"
#include "symbolize/symbols/dynamic_section.h"

namespace cicada::symbolize {
namespace {

constexpr uint64_t kMaxRelocations = 4 << 20;
constexpr size_t kMaxStubs = 1 << 20;

using SlotNames = std::unordered_map<uint64_t, std::string, SeededHash>;
constexpr std::string_view kHeader = ".plt";  // as perf calls it; objdump says puts@plt-0x10

std::string_view name_at(Bytes strings, uint64_t offset) {
  ByteCursor cursor(strings, offset);
  const std::string_view name = cursor.c_string();
  return cursor.failed() ? std::string_view() : names::strip_version(name);
}

// Functions whose implementation is chosen at start, by the address of who chooses: a slot for one of the image's own has that address
// and no symbol (libc calls its string functions so, and a child's first call after a fork is a page fault there).
std::unordered_map<uint64_t, std::string_view, SeededHash> chosen_at_start(const DynamicSection& dynamic) {
  std::unordered_map<uint64_t, std::string_view, SeededHash> names;
  const uint64_t count = dynamic.symbols().size() / sizeof(Elf64_Sym);
  for (uint64_t i = 0; i < count; ++i) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, dynamic.symbols().data() + i * sizeof symbol, sizeof symbol);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC || symbol.st_shndx == SHN_UNDEF) continue;
    if (const std::string_view name = name_at(dynamic.strings(), symbol.st_name); !name.empty()) names.emplace(symbol.st_value, name);
  }
  return names;
}

void append_slots(Bytes relocations, const DynamicSection& dynamic, SlotNames& slots) {
  std::optional<std::unordered_map<uint64_t, std::string_view, SeededHash>> chosen;
  const uint64_t count = std::min<uint64_t>(relocations.size() / sizeof(Elf64_Rela), kMaxRelocations);
  for (uint64_t i = 0; i < count; ++i) {
    Elf64_Rela rela;
    std::memcpy(&rela, relocations.data() + i * sizeof rela, sizeof rela);
    const uint64_t type = ELF64_R_TYPE(rela.r_info);
    if (type == R_X86_64_IRELATIVE) {
      if (!chosen) chosen = chosen_at_start(dynamic);
      const auto chooser = static_cast<uint64_t>(rela.r_addend);
      const auto name = chosen->find(chooser);
      slots.emplace(rela.r_offset, name == chosen->end() ? fmt::format("*ABS*+{:#x}", chooser) : std::string(name->second));
      continue;
    }
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
    const auto symbol = find_subspan(dynamic.symbols(), ELF64_R_SYM(rela.r_info) * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
    if (!symbol) continue;
    const std::string_view name = name_at(dynamic.strings(), ByteCursor(*symbol).u32());
    if (!name.empty()) slots.emplace(rela.r_offset, std::string(name));
  }
}

// The GOT slot an instruction `jmp *disp(%rip)` (ff 25 disp32) in this stub reads.
std::optional<uint64_t> find_slot(Bytes stub, uint64_t address) {
  for (size_t i = 0; i + 6 <= stub.size(); ++i) {
    if (stub[i] != 0xff || stub[i + 1] != 0x25) continue;
    const int32_t displacement = ByteCursor(stub, i + 2).s32();
    return address + i + 6 + static_cast<uint64_t>(int64_t{displacement});
  }
  return std::nullopt;
}

}  // namespace

PltSymbols PltSymbols::read(const elf::ElfFile& elf) {
  PltSymbols plt;
  const bool any = std::any_of(elf.sections().begin(), elf.sections().end(), [](const elf::Section& s) { return s.name.starts_with(".plt"); });
  if (!any) return plt;
  const DynamicSection dynamic = DynamicSection::read(elf);
  SlotNames slots;
  append_slots(dynamic.plt_relocations(), dynamic, slots);
  // The first stub, which all unbound ones go through, jumps where the third word of the GOT says.
  if (dynamic.plt_got().value != 0) slots.emplace(dynamic.plt_got().value + 16, kHeader);
  if (const elf::Section* dyn = elf.find_section(".rela.dyn"); dyn != nullptr && elf.find_section(".plt.got") != nullptr) {
    append_slots(elf.contents(*dyn), dynamic, slots);
  }
  for (const elf::Section& section : elf.sections()) {
    if (!section.name.starts_with(".plt") || (section.flags & SHF_EXECINSTR) == 0) continue;
    const Bytes code = elf.contents(section);
    const uint64_t step = section.name == ".plt.got" && section.entry_size == 8 ? 8 : 16;
    for (uint64_t offset = 0; offset + step <= code.size() && plt.stubs_.size() < kMaxStubs; offset += step) {
      const LinkAddr begin = section.address + offset;
      const auto slot = find_slot(code.subspan(offset, step), begin.value);
      const auto name = slot ? slots.find(*slot) : slots.end();
      if (name == slots.end()) continue;
      plt.stubs_.push_back({{begin, begin + step}, name->second == kHeader ? name->second : name->second + "@plt"});
    }
    // With lazy binding and -z ibtplt the .plt stubs only push an index; their names are in .plt.sec.
  }
  return plt;
}

void PltSymbols::append_to(SymbolIndexBuilder& builder) const {
  for (const Stub& stub : stubs_) builder.append(stub.code, stub.name, profile::NameSource::kPlt);
}

}  // namespace cicada::symbolize
