// SPDX-License-Identifier: Apache-2.0
// One image as user space unwinds it: its rows for nearly every frame, steps by the image itself (image_step.h) for the rest.
//
// Owns the rows. Any thread.
#pragma once
#include <memory>
#include <string>

#include "unwind/rows/code_pieces.h"
#include "unwind/rows/unwind_rows.h"
#include "unwind/walk/image_step.h"

namespace cicada::unwind {

class ImageUnwinder {
 public:
  // What is wrong with `rows` is one line of diagnostics, and there are none then.
  ImageUnwinder(std::string name, Result<UnwindRows> rows, TakeSteps take_steps);
  // Compiles the rows, and takes its steps in this process.
  explicit ImageUnwinder(const std::shared_ptr<const elf::ElfFile>& elf);
  // The same image, of which more code has been read. `version`: of the rows; more than before.
  ImageUnwinder(const ImageUnwinder& before, UnwindRows rows, uint64_t version);

  const UnwindRows& rows() const { return rows_; }
  uint64_t version() const { return version_; }  // 0: what was compiled first
  const CodePieces& pieces() const { return *pieces_; }
  const std::string& name() const { return name_; }
  // One for each question. An image that cannot be read (any more) is one line of diagnostics, and malformed.
  std::vector<ImageStep> take_steps(uint32_t owner, std::span<const StepQuestion> questions) const;

 private:
  std::string name_;
  UnwindRows rows_;
  uint64_t version_ = 0;
  std::shared_ptr<const CodePieces> pieces_;
  TakeSteps take_steps_;
};

}  // namespace cicada::unwind
