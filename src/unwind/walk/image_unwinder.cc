// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/image_unwinder.h"

#include "base/diagnostics.h"
#include "unwind/row_compiler.h"

namespace cicada::unwind {

ImageUnwinder::ImageUnwinder(std::string name, Result<UnwindRows> rows, Open open) : name_(std::move(name)), open_(std::move(open)) {
  if (rows) rows_ = std::move(*rows);
  else diagnostics().warn(name_, "no unwind table: {}", rows.error().message());
  if (const uint64_t malformed = rows_.stats().malformed_fdes; malformed != 0) {
    diagnostics().warn(name_, "{} malformed call-frame entries: stacks end at the functions concerned", malformed);
  }
}

ImageUnwinder::ImageUnwinder(const std::shared_ptr<const elf::ElfFile>& elf)
    : ImageUnwinder(elf->name(), compile_rows(*elf), [elf]() -> Result<std::shared_ptr<const elf::ElfFile>> { return elf; }) {}

const elf::ElfFile* ImageUnwinder::file() const {
  std::call_once(opened_, [this] {
    auto elf = open_();
    if (elf) elf_ = std::move(*elf);
    else diagnostics().warn(name_, "its call-frame information cannot be read: {}", elf.error().message());
  });
  return elf_.get();
}

std::optional<dwarf::FrameRules> ImageUnwinder::find_rules(LinkAddr address) const {
  std::call_once(indexed_, [this] {
    if (const elf::ElfFile* elf = file()) index_ = std::make_unique<dwarf::FrameIndex>(*elf);
  });
  return index_ == nullptr ? std::nullopt : index_->find(address);
}

Bytes ImageUnwinder::code_at(LinkAddr address) const {
  const elf::ElfFile* elf = file();
  return elf == nullptr ? Bytes() : elf->contents_at(address);
}

}  // namespace cicada::unwind
