// SPDX-License-Identifier: Apache-2.0
#include "symbolize/symbols/symbol_index.h"

#include <algorithm>

#include "base/work_budget.h"
#include "elf/go_functions.h"
#include "names/demangle.h"
#include "symbolize/symbols/dynamic_section.h"

namespace cicada::symbolize {
namespace {

constexpr uint64_t kLeastNameBytes = 16 << 20, kMaxNamesRatio = 8;  // of all names together, to the string table; linkers share tails
constexpr uint64_t kMaxSymbols = 16 << 20;  // the largest known, of a browser with debug information, have 5 million

using Kind = SymbolIndexBuilder::Kind;

Kind kind_of(uint8_t type) { return type == STT_FUNC ? Kind::kFunction : type == STT_GNU_IFUNC ? Kind::kIndirect : Kind::kLabel; }

uint8_t rank_of(Kind kind, uint8_t binding) {
  const int by_type = static_cast<int>(kind);
  const int by_binding = binding == STB_GLOBAL || binding == STB_GNU_UNIQUE ? 0 : binding == STB_WEAK ? 1 : 2;
  return static_cast<uint8_t>(by_type * 4 + by_binding);
}

size_t leading_underscores(std::string_view name) { return std::min(name.find_first_not_of('_'), name.size()); }

// The end of the executable section that holds `address`, or of the executable segment where there are no sections; 0: none.
class ExecutableEnds {
 public:
  explicit ExecutableEnds(const elf::ElfFile& elf) {
    for (const elf::Section& section : elf.sections()) {
      if ((section.flags & SHF_EXECINSTR) == 0 || section.size == 0) continue;
      append(section.address.value, section.size);
    }
    if (!elf.sections().empty() && !ranges_.empty()) {
      std::sort(ranges_.begin(), ranges_.end());
      return;
    }
    for (const elf::Segment& segment : elf.segments()) {
      if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0) append(segment.address.value, segment.memory_size);
    }
    std::sort(ranges_.begin(), ranges_.end());
  }
  std::optional<std::pair<uint64_t, uint64_t>> find(uint64_t address) const {
    auto at = std::upper_bound(ranges_.begin(), ranges_.end(), std::pair{address, UINT64_MAX});
    if (at == ranges_.begin()) return std::nullopt;
    --at;
    if (address >= at->second) return std::nullopt;
    return *at;
  }

 private:
  void append(uint64_t begin, uint64_t size) {
    if (begin + size > begin) ranges_.emplace_back(begin, begin + size);
  }
  std::vector<std::pair<uint64_t, uint64_t>> ranges_;
};

}  // namespace

std::optional<Symbol> SymbolIndex::find(LinkAddr address) const {
  auto at = std::upper_bound(ranges_.begin(), ranges_.end(), address.value, [](uint64_t a, const Piece& p) { return a < p.begin; });
  if (at == ranges_.begin()) return std::nullopt;
  --at;
  if (address.value >= at->end) return std::nullopt;
  const Entry& entry = entries_[at->entry];
  return Symbol{{LinkAddr(at->begin), LinkAddr(at->end)}, LinkAddr(entry.begin), entry.name, entry.source};
}

void SymbolIndexBuilder::append_section(const elf::ElfFile& elf, std::string_view name, profile::NameSource source) {
  const elf::Section* section = elf.find_section(name);
  if (section == nullptr || section->link >= elf.sections().size()) return;
  append_table(elf, elf.contents(*section), elf.contents(elf.sections()[section->link]), source);
}

void SymbolIndexBuilder::append_dynamic(const elf::ElfFile& elf) {
  const DynamicSection dynamic = DynamicSection::read(elf);
  append_table(elf, dynamic.symbols(), dynamic.strings(), profile::NameSource::kDynsym);
}

void SymbolIndexBuilder::append_go(const elf::ElfFile& elf) {
  const auto functions = elf::GoFunctions::find(elf);
  if (!functions) return;
  WorkBudget names(std::max(kLeastNameBytes, functions->bytes() * kMaxNamesRatio));
  functions->for_each([&](const elf::GoFunction& function) {
    const std::string_view name = functions->name(function);
    if (candidates_.size() >= kMaxSymbols || !names.spend(name.empty() ? kMaxTextAtBytes : name.size())) return false;
    append({functions->text() + function.begin, functions->text() + function.end}, name, profile::NameSource::kGoTable);
    return true;
  });
}

void SymbolIndexBuilder::append(Range<LinkAddr> code, std::string_view name, profile::NameSource source) {
  if (code.empty() || name.empty()) return;
  candidates_.push_back({code.begin.value, code.size(), code.end.value, name, source, 11, Kind::kFunction});
}

void SymbolIndexBuilder::append_table(const elf::ElfFile& elf, Bytes symbols, Bytes strings, profile::NameSource source) {
  const ExecutableEnds executable(elf);
  const uint64_t count = std::min<uint64_t>(symbols.size() / sizeof(Elf64_Sym), kMaxSymbols);
  WorkBudget names_budget(kLeastNameBytes + kMaxNamesRatio * strings.size());
  for (uint64_t i = 0; i < count; ++i) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, symbols.data() + i * sizeof symbol, sizeof symbol);
    const uint8_t type = ELF64_ST_TYPE(symbol.st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) continue;
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS || symbol.st_shndx == SHN_COMMON) continue;
    const auto around = executable.find(symbol.st_value);
    if (!around) continue;
    const std::string_view name = names::strip_version(text_at(strings, symbol.st_name));
    if (!names_budget.spend(name.empty() && symbol.st_name != 0 ? kMaxTextAtBytes : name.size())) break;
    if (name.empty()) continue;
    uint64_t limit = around->second;
    if (symbol.st_size == 0 && source == profile::NameSource::kDynsym && around->first != symbol.st_value) limit = symbol.st_value + 1;
    candidates_.push_back({symbol.st_value, std::min(symbol.st_size, limit - symbol.st_value), limit, name, source,
                           rank_of(kind_of(type), ELF64_ST_BIND(symbol.st_info)), kind_of(type)});
  }
}

bool SymbolIndexBuilder::better(const Candidate& a, const Candidate& b) {
  if (a.size != b.size) return a.size > b.size;
  if (a.rank != b.rank) return a.rank < b.rank;
  if (a.name == b.name) return a.source < b.source;
  if (leading_underscores(a.name) != leading_underscores(b.name)) return leading_underscores(a.name) < leading_underscores(b.name);
  if (a.name.size() != b.name.size()) return a.name.size() < b.name.size();
  return a.name < b.name;
}

// In the order of their addresses, one an address. Sorts addresses and numbers, not candidates, which are four times as large.
void SymbolIndexBuilder::keep_best() {
  std::vector<std::pair<uint64_t, uint32_t>> order;
  order.reserve(candidates_.size());
  for (uint32_t i = 0; i < candidates_.size(); ++i) order.emplace_back(candidates_[i].begin, i);
  std::sort(order.begin(), order.end());
  std::vector<Candidate> best;
  best.reserve(order.size());
  for (const auto& [begin, i] : order) {
    if (best.empty() || best.back().begin != begin) {
      best.push_back(candidates_[i]);
    } else if (better(candidates_[i], best.back())) {
      best.back() = candidates_[i];
    }
  }
  candidates_ = std::move(best);
}

SymbolIndex SymbolIndexBuilder::build() {
  CHECK(candidates_.size() < UINT32_MAX);
  keep_best();

  SymbolIndex index;
  index.entries_.reserve(candidates_.size());
  index.ranges_.reserve(candidates_.size());
  // A sweep with the stack of symbols that are open: `covered` is how far the output reaches.
  std::vector<uint32_t> open;
  uint64_t covered = 0;
  const auto end_of = [&](uint32_t i) { return candidates_[i].begin + candidates_[i].size; };
  const auto emit = [&](uint64_t begin, uint64_t end, uint32_t entry) {
    if (begin >= end) return;
    if (!index.ranges_.empty() && index.ranges_.back().entry == entry && index.ranges_.back().end == begin) {
      index.ranges_.back().end = end;
    } else {
      index.ranges_.push_back({begin, end, entry});
    }
  };
  const auto close_until = [&](uint64_t position) {
    while (!open.empty()) {
      const uint32_t top = open.back();
      const uint64_t end = std::min(end_of(top), position);
      emit(std::max(covered, candidates_[top].begin), end, top);
      covered = std::max(covered, end);
      if (end_of(top) > position) return;
      open.pop_back();
    }
  };
  for (uint32_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& candidate = candidates_[i];
    index.entries_.push_back({candidate.begin, candidate.name, candidate.source});
    close_until(candidate.begin);
    covered = std::max(covered, candidate.begin);
    if (candidate.size != 0) {
      open.push_back(i);
    } else if (open.empty()) {
      const uint64_t next = i + 1 < candidates_.size() ? candidates_[i + 1].begin : UINT64_MAX;
      emit(candidate.begin, std::min(next, candidate.limit), i);
      covered = std::min(next, candidate.limit);
    }
  }
  close_until(UINT64_MAX);
  candidates_.clear();
  return index;
}

}  // namespace cicada::symbolize
