// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/image_step.h"

#include "unwind/arch.h"

namespace cicada::unwind {

using dwarf::FrameStep;

ImageStep ImageSteps::take(const StepQuestion& question) const {
  if (question.by == StepBy::kCallFrameInformation) return by_call_frame_information(question);
  ImageStep step;
  step.registers = question.registers;
  step.exact_ip = true;
  step.outcome = follow_handler_return(elf_->contents_at(question.address), *question.stack, step.registers);
  return step;
}

std::vector<ImageStep> ImageSteps::take(std::span<const StepQuestion> questions) const {
  std::vector<ImageStep> steps;
  steps.reserve(questions.size());
  for (const StepQuestion& question : questions) steps.push_back(take(question));
  return steps;
}

// OpenSSL's AES-GCM keeps its CFA in rax across calls of helpers that leave rax alone; libgcc follows it because a register of which CFI
// says nothing has the same value for it. So do we, and say so.
ImageStep ImageSteps::by_call_frame_information(const StepQuestion& question) const {
  std::call_once(indexed_, [this] { index_ = std::make_unique<dwarf::FrameIndex>(*elf_); });
  ImageStep step;
  const auto rules = index_->find(question.address);
  if (!rules) return step;
  step.exact_ip = rules->signal_frame;
  step.registers = question.registers;
  step.outcome = dwarf::step(*rules, *question.stack, step.registers);
  if (step.outcome != FrameStep::kUnknownRegister) return step;
  step.assumed = true;
  step.registers = question.registers;
  step.registers.known |= ARCH_ALL_REGISTERS;
  step.outcome = dwarf::step(*rules, *question.stack, step.registers);
  step.registers.known &= ARCH_CALLEE_SAVED | 1u << ARCH_RETURN;
  return step;
}

}  // namespace cicada::unwind
