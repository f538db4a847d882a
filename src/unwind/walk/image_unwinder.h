// SPDX-License-Identifier: Apache-2.0
// One image as user space unwinds it: its rows for nearly every frame, steps by the image itself (image_step.h) for the rest.
//
// Owns the rows. Any thread.
#pragma once
#include <memory>
#include <string>

#include "unwind/rows/unwind_rows.h"
#include "unwind/walk/image_step.h"

namespace cicada::unwind {

class ImageUnwinder {
 public:
  // What is wrong with `rows` is one line of diagnostics, and there are none then.
  ImageUnwinder(std::string name, Result<UnwindRows> rows, TakeSteps take_steps);
  // Compiles the rows, and takes its steps in this process.
  explicit ImageUnwinder(const std::shared_ptr<const elf::ElfFile>& elf);

  const UnwindRows& rows() const { return rows_; }
  const std::string& name() const { return name_; }
  // One for each question. An image that cannot be read (any more) is one line of diagnostics, and malformed.
  std::vector<ImageStep> take_steps(uint32_t owner, std::span<const StepQuestion> questions) const;

 private:
  std::string name_;
  UnwindRows rows_;
  TakeSteps take_steps_;
};

}  // namespace cicada::unwind
