// SPDX-License-Identifier: Apache-2.0
#include "symbolize/symbols/unnamed_functions.h"

#include <algorithm>

#include "code/executable_ranges.h"
#include "code/image_functions.h"
#include "dwarf/frame_sections.h"

namespace cicada::symbolize {
namespace {

// The last of `all` that begins at the address or before it, if it contains it.
template <typename T>
const T* find_in(const std::vector<T>& all, LinkAddr address, Range<LinkAddr> T::*code) {
  const auto after = std::upper_bound(all.begin(), all.end(), address, [code](LinkAddr a, const T& one) { return a < (one.*code).begin; });
  return after != all.begin() && ((*std::prev(after)).*code).contains(address) ? &*std::prev(after) : nullptr;
}
const Range<LinkAddr>* find_in(const std::vector<Range<LinkAddr>>& all, LinkAddr address) {
  const auto after = std::upper_bound(all.begin(), all.end(), address, [](LinkAddr a, const Range<LinkAddr>& one) { return a < one.begin; });
  return after != all.begin() && std::prev(after)->contains(address) ? &*std::prev(after) : nullptr;
}

// Its own table names all of it.
bool is_go(const elf::ElfFile& elf) { return elf.find_section(".gopclntab") != nullptr || elf.find_section(".note.go.buildid") != nullptr; }

}  // namespace

void UnnamedFunctions::read_tables() {
  tables_.emplace();
  for (const dwarf::CallFrameSection& section : dwarf::find_frame_sections(elf_)) {
    dwarf::FdeReader reader(section);
    while (const auto fde = reader.next()) {
      if (fde->size != 0 && fde->begin.value + fde->size > fde->begin.value) tables_->push_back({fde->begin, fde->begin + fde->size});
    }
  }
  std::sort(tables_->begin(), tables_->end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  const auto sections = code::ExecutableRanges::find_code(elf_);
  if (sections && !is_go(elf_)) gaps_ = code::subtract(sections->ranges(), *tables_);
}

std::string_view UnnamedFunctions::name_of(LinkAddr begin) const {
  if (!start_) return {};
  return begin == start_->start ? "_start" : begin == start_->main ? "main" : "";
}

std::optional<UnnamedFunctions::Function> UnnamedFunctions::find(LinkAddr address) {
  if (!tables_) read_tables();
  if (const Range<LinkAddr>* const found = find_in(*tables_, address)) return Function{found->begin, name_of(found->begin)};
  if (find_in(gaps_, address) == nullptr) return std::nullopt;
  if (!followed_) followed_ = follow_code();
  const Code* const found = find_in(*followed_, address, &Code::code);
  if (found == nullptr) return std::nullopt;
  return Function{found->function, name_of(found->function)};
}

std::vector<UnnamedFunctions::NamedFunction> UnnamedFunctions::named() {
  std::vector<NamedFunction> found;
  if (!start_) return found;
  if (!tables_) read_tables();
  for (const std::optional<LinkAddr> begin : {std::optional(start_->start), start_->main}) {
    const Range<LinkAddr>* const code = begin ? find_in(*tables_, *begin) : nullptr;
    if (code != nullptr && code->begin == *begin) found.push_back({*code, name_of(*begin)});
  }
  return found;
}

std::vector<UnnamedFunctions::Code> UnnamedFunctions::follow_code() const {
  const auto sections = code::ExecutableRanges::find_code(elf_);
  if (!sections || sections->ranges().empty()) return {};
  const LinkAddr base(sections->ranges().front().begin.value & ~uint64_t{0xffff});
  const bool has_tables = !code::is_compiled_without_cfi(elf_, sections->total_bytes() - code::total_bytes(gaps_), sections->total_bytes());
  code::StackDepths depths = has_tables ? code::read_assembly(elf_, code::without_padding(elf_, gaps_), base) : code::read_functions(elf_, sections->ranges(), base);
  // Nothing in the image calls these.
  if (!has_tables && start_ && start_->start >= base) depths.add_function(static_cast<uint32_t>(start_->start - base), 0);
  if (!has_tables && start_ && start_->main && *start_->main >= base) depths.add_function(static_cast<uint32_t>(*start_->main - base), 0);
  std::vector<Code> functions;
  for (const code::StackDepths::FunctionCode& found : depths.find_functions()) functions.push_back({{base + found.begin, base + found.end}, base + found.function});
  return functions;
}

}  // namespace cicada::symbolize
