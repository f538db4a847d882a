// SPDX-License-Identifier: Apache-2.0
// One image as user space unwinds it: its rows for nearly every frame, its complete CFI for the rest.
//
// Owns the file (shared). Immutable but for the CFI index, which is built at first use; any thread.
#pragma once
#include <memory>
#include <mutex>
#include <optional>

#include "dwarf/frame_rules.h"
#include "unwind/rows/unwind_rows.h"

namespace cicada::unwind {

class ImageUnwinder {
 public:
  // Compiles the rows; what is wrong with them is one line of diagnostics.
  explicit ImageUnwinder(std::shared_ptr<const elf::ElfFile> elf);

  const UnwindRows& rows() const { return rows_; }
  const std::string& name() const { return elf_->name(); }
  std::optional<dwarf::FrameRules> find_rules(LinkAddr address) const;
  // The instructions from there on, as far as the file has them.
  Bytes code_at(LinkAddr address) const { return elf_->contents_at(address); }

 private:
  std::shared_ptr<const elf::ElfFile> elf_;
  UnwindRows rows_;
  mutable std::once_flag indexed_;
  mutable std::unique_ptr<dwarf::FrameIndex> index_;
};

}  // namespace cicada::unwind
