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
  const Code* const found = find_in(follow(address), address, &Code::code);
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

// What the piece of the address has; all there is, if that is one piece.
const std::vector<UnnamedFunctions::Code>& UnnamedFunctions::follow(LinkAddr address) {
  if (!unnamed_) unnamed_ = find_unnamed();
  static const std::vector<Code> kNothing;
  const uint64_t number = unnamed_->at_once ? 0 : unnamed_->pieces.number_of(address);
  const auto known = followed_.find(number);
  if (known != followed_.end()) return known->second;
  if (!unnamed_->at_once && followed_bytes_ >= kMaxInPiecesBytes) return kNothing;
  const Range<LinkAddr> wanted = unnamed_->at_once ? Range<LinkAddr>{unnamed_->base, LinkAddr(UINT64_MAX)} : unnamed_->pieces.range_of(number);
  const std::vector<Range<LinkAddr>> code = unnamed_->at_once ? unnamed_->pieces.all() : unnamed_->pieces.code_of(number);
  followed_bytes_ += code::total_bytes(code);
  return followed_.emplace(number, follow_code(*unnamed_, code, wanted)).first->second;
}

UnnamedFunctions::Unnamed UnnamedFunctions::find_unnamed() const {
  Unnamed unnamed;
  const auto sections = code::ExecutableRanges::find_code(elf_);
  if (!sections || sections->ranges().empty()) return unnamed;
  const uint64_t total = sections->total_bytes(), covered = total - code::total_bytes(gaps_);
  unnamed.base = LinkAddr(sections->ranges().front().begin.value & ~uint64_t{0xffff});
  unnamed.compiled = code::is_compiled_without_cfi(elf_, covered, total);
  unnamed.pieces = code::Pieces(code::without_padding(elf_, gaps_), unnamed.base, covered);
  // What is compiled is followed with what has CFI.
  unnamed.at_once = (unnamed.compiled ? total : code::total_bytes(unnamed.pieces.all())) <= kMaxAtOnceBytes;
  if (unnamed.at_once && unnamed.compiled) unnamed.pieces = code::Pieces(sections->ranges(), unnamed.base, covered);
  return unnamed;
}

std::vector<UnnamedFunctions::Code> UnnamedFunctions::follow_code(const Unnamed& unnamed, const std::vector<Range<LinkAddr>>& code, Range<LinkAddr> wanted) const {
  code::StackDepths depths = code::read_some(elf_, unnamed.compiled, code, unnamed.pieces.all(), unnamed.base);
  // Nothing in the image calls these.
  if (unnamed.compiled && start_ && start_->start >= unnamed.base) depths.add_function(static_cast<uint32_t>(start_->start - unnamed.base), 0);
  if (unnamed.compiled && start_ && start_->main && *start_->main >= unnamed.base) depths.add_function(static_cast<uint32_t>(*start_->main - unnamed.base), 0);
  std::vector<Code> functions;
  for (const code::StackDepths::FunctionCode& found : depths.find_functions()) {
    const Range<LinkAddr> part{std::max(unnamed.base + found.begin, wanted.begin), std::min(unnamed.base + found.end, wanted.end)};
    if (!part.empty()) functions.push_back({part, unnamed.base + found.function});
  }
  return functions;
}

size_t UnnamedFunctions::memory_bytes() const {
  size_t bytes = tables_ ? (tables_->capacity() + gaps_.capacity()) * sizeof gaps_[0] : 0;
  if (unnamed_) bytes += unnamed_->pieces.all().capacity() * sizeof gaps_[0];
  for (const auto& [number, functions] : followed_) bytes += functions.capacity() * sizeof(Code);
  return bytes;
}

}  // namespace cicada::symbolize
