// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/image_unwinder.h"

#include "base/diagnostics.h"
#include "unwind/row_compiler.h"

namespace cicada::unwind {

ImageUnwinder::ImageUnwinder(std::string name, Result<UnwindRows> rows, TakeStep take_step)
    : name_(std::move(name)), take_step_(std::move(take_step)) {
  if (rows) rows_ = std::move(*rows);
  else diagnostics().warn(name_, "no unwind table: {}", rows.error().message());
  if (const uint64_t malformed = rows_.stats().malformed_fdes; malformed != 0) {
    diagnostics().warn(name_, "{} malformed call-frame entries: stacks end at the functions concerned", malformed);
  }
}

ImageUnwinder::ImageUnwinder(const std::shared_ptr<const elf::ElfFile>& elf)
    : ImageUnwinder(elf->name(), compile_rows(*elf),
                    [steps = std::make_shared<ImageSteps>(elf)](const StepQuestion& question) -> Result<ImageStep> {
                      return steps->take(question);
                    }) {}

ImageStep ImageUnwinder::take_step(const StepQuestion& question) const {
  auto step = take_step_(question);
  if (step) return *std::move(step);
  diagnostics().warn(name_, "its call-frame information cannot be read: {}", step.error().message());
  return {};
}

}  // namespace cicada::unwind
