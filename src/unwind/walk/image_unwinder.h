// SPDX-License-Identifier: Apache-2.0
// One image as user space unwinds it: its rows for nearly every frame, its complete CFI for the rest. The file is opened when something is
// asked that the rows do not say.
//
// Owns the rows, and the file (shared) once it is open. Immutable but for what is made at first use; any thread.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "dwarf/frame_rules.h"
#include "unwind/rows/unwind_rows.h"

namespace cicada::unwind {

class ImageUnwinder {
 public:
  using Open = std::function<Result<std::shared_ptr<const elf::ElfFile>>()>;
  // What is wrong with `rows` is one line of diagnostics, and there are none then.
  ImageUnwinder(std::string name, Result<UnwindRows> rows, Open open);
  // Compiles the rows.
  explicit ImageUnwinder(const std::shared_ptr<const elf::ElfFile>& elf);

  const UnwindRows& rows() const { return rows_; }
  const std::string& name() const { return name_; }
  std::optional<dwarf::FrameRules> find_rules(LinkAddr address) const;
  // The instructions from there on, as far as the file has them.
  Bytes code_at(LinkAddr address) const;

 private:
  const elf::ElfFile* file() const;  // null: it cannot be opened

  std::string name_;
  UnwindRows rows_;
  Open open_;
  mutable std::once_flag opened_, indexed_;
  mutable std::shared_ptr<const elf::ElfFile> elf_;
  mutable std::unique_ptr<dwarf::FrameIndex> index_;
};

}  // namespace cicada::unwind
