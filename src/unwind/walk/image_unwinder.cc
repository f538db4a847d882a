// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/image_unwinder.h"

#include "base/diagnostics.h"
#include "unwind/row_compiler.h"

namespace cicada::unwind {

ImageUnwinder::ImageUnwinder(std::string name, Result<UnwindRows> rows, TakeSteps take_steps)
    : name_(std::move(name)), take_steps_(std::move(take_steps)) {
  if (rows) rows_ = std::move(*rows);
  else diagnostics().warn(name_, "no unwind table: {}", rows.error().message());
  pieces_ = std::make_shared<const CodePieces>(rows_);
  if (const uint64_t malformed = rows_.stats().malformed_fdes; malformed != 0) {
    diagnostics().warn(name_, "{} malformed call-frame entries: stacks end at the functions concerned", malformed);
  }
}

ImageUnwinder::ImageUnwinder(const std::shared_ptr<const elf::ElfFile>& elf)
    : ImageUnwinder(
          elf->name(), compile_rows(*elf),
          [steps = std::make_shared<ImageSteps>(elf)](uint32_t, std::span<const StepQuestion> questions) -> Result<std::vector<ImageStep>> {
            return steps->take(questions);
          }) {}

ImageUnwinder::ImageUnwinder(const ImageUnwinder& before, UnwindRows rows, uint64_t version)
    : name_(before.name_), rows_(std::move(rows)), version_(version), pieces_(before.pieces_), take_steps_(before.take_steps_) {}

std::vector<ImageStep> ImageUnwinder::take_steps(uint32_t owner, std::span<const StepQuestion> questions) const {
  auto steps = take_steps_(owner, questions);
  if (steps && steps->size() == questions.size()) return *std::move(steps);
  if (!steps) diagnostics().warn(name_, "its call-frame information cannot be read: {}", steps.error().message());
  return std::vector<ImageStep>(questions.size());
}

}  // namespace cicada::unwind
