// SPDX-License-Identifier: Apache-2.0
#include "symbolize/symbols/plt_symbols.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/seeded_hash.h"
#include "base/work_budget.h"
#include "names/demangle.h"
#include "symbolize/symbols/dynamic_section.h"
#include "symbolize/x86_64/plt_stub.h"

namespace cicada::symbolize {
namespace {

constexpr uint64_t kMaxRelocations = 4 << 20;
constexpr size_t kMaxStubs = 1 << 20;
constexpr uint64_t kMaxNameBytes = 64 << 20;  // of all names that are read

constexpr std::string_view kHeader = ".plt";  // as perf calls it; objdump says puts@plt-0x10

// What calls through a slot of the GOT reach.
struct Slot {
  std::string_view name;
  uint64_t chooser = 0;  // without a name: the function that chooses the implementation
};

class SlotReader {
 public:
  explicit SlotReader(const DynamicSection& dynamic) : dynamic_(dynamic) {}

  void append(Bytes relocations) {
    const uint64_t count = std::min<uint64_t>(relocations.size() / sizeof(Elf64_Rela), kMaxRelocations);
    for (uint64_t i = 0; i < count && !budget_.exhausted(); ++i) {
      Elf64_Rela rela;
      std::memcpy(&rela, relocations.data() + i * sizeof rela, sizeof rela);
      const uint64_t type = ELF64_R_TYPE(rela.r_info);
      if (x86_64::binds_slot_at_start(type)) {
        const auto chooser = static_cast<uint64_t>(rela.r_addend);
        slots.emplace(rela.r_offset, Slot{name_of_chooser(chooser), chooser});
      } else if (x86_64::binds_slot_to_symbol(type)) {
        const auto symbol = find_subspan(dynamic_.symbols(), ELF64_R_SYM(rela.r_info) * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
        if (!symbol) continue;
        if (const std::string_view name = name_at(ByteCursor(*symbol).u32()); !name.empty()) slots.emplace(rela.r_offset, Slot{name, 0});
      }
    }
  }

  std::unordered_map<uint64_t, Slot, SeededHash> slots;

 private:
  std::string_view name_at(uint64_t offset) {
    const std::string_view name = text_at(dynamic_.strings(), offset);
    return budget_.spend(name.size() + 1) ? names::strip_version(name) : std::string_view();
  }

  // Functions whose implementation is chosen at start, by the address of who chooses: a slot for one of the image's own has that address
  // and no symbol (libc calls its string functions so, and a child's first call after a fork is a page fault there).
  std::string_view name_of_chooser(uint64_t chooser) {
    if (!std::exchange(choosers_read_, true)) {
      const uint64_t count = dynamic_.symbols().size() / sizeof(Elf64_Sym);
      for (uint64_t i = 0; i < count; ++i) {
        Elf64_Sym symbol;
        std::memcpy(&symbol, dynamic_.symbols().data() + i * sizeof symbol, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC || symbol.st_shndx == SHN_UNDEF) continue;
        if (const std::string_view name = name_at(symbol.st_name); !name.empty()) choosers_.emplace(symbol.st_value, name);
      }
    }
    const auto found = choosers_.find(chooser);
    return found == choosers_.end() ? std::string_view() : found->second;
  }

  const DynamicSection& dynamic_;
  WorkBudget budget_{kMaxNameBytes};
  std::unordered_map<uint64_t, std::string_view, SeededHash> choosers_;
  bool choosers_read_ = false;
};

}  // namespace

PltSymbols PltSymbols::read(const elf::ElfFile& elf) {
  PltSymbols plt;
  const bool any = std::any_of(elf.sections().begin(), elf.sections().end(), [](const elf::Section& s) { return s.name.starts_with(".plt"); });
  if (!any) return plt;
  const DynamicSection dynamic = DynamicSection::read(elf);
  SlotReader reader(dynamic);
  reader.append(dynamic.plt_relocations());
  if (dynamic.plt_got().value != 0) reader.slots.emplace(dynamic.plt_got().value + x86_64::kLazyHeaderSlot, Slot{kHeader, 0});
  if (const elf::Section* dyn = elf.find_section(".rela.dyn"); dyn != nullptr && elf.find_section(".plt.got") != nullptr) reader.append(elf.contents(*dyn));
  WorkBudget budget(kMaxNameBytes);  // any number of sections may have the same bytes, of stubs the same slot
  for (const elf::Section& section : elf.sections()) {
    if (!section.name.starts_with(".plt") || (section.flags & SHF_EXECINSTR) == 0) continue;
    const Bytes code = elf.contents(section);
    if (!budget.spend(code.size())) break;
    const uint64_t step = x86_64::stub_bytes(section.name, section.entry_size);
    for (uint64_t offset = 0; offset + step <= code.size() && plt.stubs_.size() < kMaxStubs; offset += step) {
      const LinkAddr begin = section.address + offset;
      const auto at = x86_64::find_slot(code.subspan(offset, step), begin.value);
      const auto found = at ? reader.slots.find(*at) : reader.slots.end();
      if (found == reader.slots.end()) continue;
      const Slot& slot = found->second;
      if (!budget.spend(slot.name.size())) break;
      std::string name = slot.name.empty() ? fmt::format("*ABS*+{:#x}@plt", slot.chooser) : fmt::format("{}@plt", slot.name);
      if (slot.name == kHeader) name = kHeader;
      plt.stubs_.push_back({{begin, begin + step}, std::move(name)});
    }
    // With lazy binding and -z ibtplt the .plt stubs only push an index; their names are in .plt.sec.
  }
  return plt;
}

void PltSymbols::append_to(SymbolIndexBuilder& builder) const {
  for (const Stub& stub : stubs_) builder.append(stub.code, stub.name, profile::NameSource::kPlt);
}

}  // namespace cicada::symbolize
