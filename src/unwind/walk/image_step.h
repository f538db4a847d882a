// SPDX-License-Identifier: Apache-2.0
// A step up that needs more of an image than its rows: all of its call-frame information, or the instructions ahead. It reads the image and
// the copied stack, both of which strangers have made; so parsers do it (parser/remote_step.h), or this process where there are none.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "dwarf/frame_rules.h"
#include "unwind/walk/copied_stack.h"

namespace cicada::unwind {

enum class StepBy : uint8_t {
  kCallFrameInformation,
  kHandlerReturn,  // the rest of a function that returns to an exception's handler (handler_return.h)
};

struct ImageStep {
  dwarf::FrameStep outcome = dwarf::FrameStep::kMalformed;
  bool exact_ip = false;  // what comes next is no return address
  bool assumed = false;   // that registers of which nothing is known have the value for the caller that they have now
  dwarf::Registers registers;
};

// The frame to go up from.
struct StepQuestion {
  StepBy by;
  LinkAddr address;
  const CopiedStack* stack;
  dwarf::Registers registers;  // also values that are not known
};

// Steps up stacks of processes of `owner`, as many as are asked for. Fails: the image cannot be read.
using TakeSteps = std::function<Result<std::vector<ImageStep>>(uint32_t owner, std::span<const StepQuestion> questions)>;

// Steps by one image. Owns it (shared). Any thread.
class ImageSteps {
 public:
  explicit ImageSteps(std::shared_ptr<const elf::ElfFile> elf) : elf_(std::move(elf)) {}
  ImageStep take(const StepQuestion& question) const;
  std::vector<ImageStep> take(std::span<const StepQuestion> questions) const;

 private:
  ImageStep by_call_frame_information(const StepQuestion& question) const;

  std::shared_ptr<const elf::ElfFile> elf_;
  mutable std::once_flag indexed_;
  mutable std::unique_ptr<dwarf::FrameIndex> index_;
};

}  // namespace cicada::unwind
