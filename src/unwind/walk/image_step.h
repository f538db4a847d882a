// SPDX-License-Identifier: Apache-2.0
// A step up that needs more of an image than its rows: all of its call-frame information, or the instructions ahead. It reads the image and
// the copied stack, both of which strangers have made: a question with few words in and out, so that it can be asked elsewhere.
#pragma once
#include <functional>
#include <memory>
#include <mutex>

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
  const CopiedStack& stack;
  dwarf::Registers registers;  // also values that are not known
};

// Fails: the image cannot be read.
using TakeStep = std::function<Result<ImageStep>(const StepQuestion& question)>;

// Steps by one image. Owns it (shared). Any thread.
class ImageSteps {
 public:
  explicit ImageSteps(std::shared_ptr<const elf::ElfFile> elf) : elf_(std::move(elf)) {}
  ImageStep take(const StepQuestion& question) const;

 private:
  ImageStep by_call_frame_information(const StepQuestion& question) const;

  std::shared_ptr<const elf::ElfFile> elf_;
  mutable std::once_flag indexed_;
  mutable std::unique_ptr<dwarf::FrameIndex> index_;
};

}  // namespace cicada::unwind
