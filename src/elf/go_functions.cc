// SPDX-License-Identifier: Apache-2.0
#include "elf/go_functions.h"

#include <algorithm>

namespace cicada::elf {
namespace {

constexpr uint32_t kGo118 = 0xfffffff0, kGo120 = 0xfffffff1;
constexpr size_t kAlignment = 32;           // of the table
constexpr size_t kMaxSearched = 256 << 20;  // bytes of relocated data
constexpr int kMaxTried = 64;

bool is_magic(uint32_t magic) { return magic == kGo118 || magic == kGo120; }

}  // namespace

std::optional<GoFunctions> GoFunctions::find(const ElfFile& elf) {
  const Section* section = elf.find_section(".gopclntab");
  if (section == nullptr) section = elf.find_section(".data.rel.ro.gopclntab");
  return section == nullptr ? search(elf) : read(elf.contents(*section));
}

// The system's linker, which makes programs with cgo and position-independent ones, puts the table amid other data that is relocated.
std::optional<GoFunctions> GoFunctions::search(const ElfFile& elf) {
  const Section* const section = elf.find_section(".data.rel.ro");
  if (section == nullptr || elf.find_section(".note.go.buildid") == nullptr) return std::nullopt;
  const Bytes data = elf.contents(*section);
  int tried = 0;
  for (size_t at = (0 - section->address.value) % kAlignment; at + sizeof(uint32_t) <= std::min(data.size(), kMaxSearched); at += kAlignment) {
    if (!is_magic(ByteCursor(data, at).u32())) continue;
    auto found = read(data.subspan(at));
    if (found && found->begins_functions_in(elf)) return found;
    if (++tried == kMaxTried) break;
  }
  return std::nullopt;
}

// What only looks like a table does not.
bool GoFunctions::begins_functions_in(const ElfFile& elf) const {
  const auto& sections = elf.sections();
  return count_ != 0 && ByteCursor(bytes_, functions_).u32() == 0 && std::any_of(sections.begin(), sections.end(), [&](const Section& section) {
    return (section.flags & SHF_EXECINSTR) != 0 && text_ >= section.address && text_ - section.address < section.size;
  });
}

std::optional<GoFunctions> GoFunctions::read(Bytes bytes) {
  GoFunctions functions(bytes);
  if (!functions.read_header()) return std::nullopt;
  return functions;
}

bool GoFunctions::read_header() {
  ByteCursor header(bytes_);
  magic_ = header.u32();
  header.skip(2);
  const uint8_t quantum = header.u8(), word = header.u8();
  count_ = header.u64();
  header.u64();
  text_ = LinkAddr(header.u64());
  names_ = header.u64();
  header.skip(16);
  pc_tables_ = header.u64();
  functions_ = header.u64();
  return !header.failed() && is_magic(magic_) && quantum == 1 && word == 8 && text_.value != 0 && functions_ <= bytes_.size() &&
         count_ <= bytes_.size() / 8;
}

std::optional<GoFunction> GoFunctions::read_function(uint32_t begin, uint32_t end, uint64_t offset) const {
  ByteCursor function(bytes_, offset);
  function.skip(4);
  const uint32_t name = function.u32();
  function.skip(8);
  const uint32_t steps = function.u32();
  function.skip(magic_ == kGo118 ? 17 : 21);
  const uint8_t flags = function.u8();
  if (function.failed()) return std::nullopt;
  return GoFunction{begin, end, name, steps, flags};
}

}  // namespace cicada::elf
