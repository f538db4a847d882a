// SPDX-License-Identifier: Apache-2.0
#include "elf/go_functions.h"

namespace cicada::elf {
namespace {

constexpr uint32_t kGo118 = 0xfffffff0, kGo120 = 0xfffffff1;

}  // namespace

std::optional<GoFunctions> GoFunctions::find(const ElfFile& elf) {
  const Section* section = elf.find_section(".gopclntab");
  if (section == nullptr) section = elf.find_section(".data.rel.ro.gopclntab");
  return section == nullptr ? std::nullopt : read(elf.contents(*section));
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
  return !header.failed() && (magic_ == kGo118 || magic_ == kGo120) && quantum == 1 && word == 8 && text_.value != 0 && functions_ <= bytes_.size() &&
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
