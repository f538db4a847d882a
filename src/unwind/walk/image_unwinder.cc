// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/image_unwinder.h"

#include "base/diagnostics.h"
#include "unwind/row_compiler.h"

namespace cicada::unwind {

ImageUnwinder::ImageUnwinder(std::shared_ptr<const elf::ElfFile> elf) : elf_(std::move(elf)) {
  if (auto rows = compile_rows(*elf_)) rows_ = std::move(*rows);
  else diagnostics().warn(name(), "no unwind table: {}", rows.error().message());
  if (const uint64_t malformed = rows_.stats().malformed_fdes; malformed != 0) {
    diagnostics().warn(name(), "{} malformed call-frame entries: stacks end at the functions concerned", malformed);
  }
}

std::optional<dwarf::FrameRules> ImageUnwinder::find_rules(LinkAddr address) const {
  std::call_once(indexed_, [this] { index_ = std::make_unique<dwarf::FrameIndex>(*elf_); });
  return index_->find(address);
}

}  // namespace cicada::unwind
