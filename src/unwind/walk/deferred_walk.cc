// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/deferred_walk.h"

#include <cstring>
#include <map>

#include "abi/mapping.h"
#include "abi/unwind_step.h"
#include "unwind/arch.h"

static inline int unwind_read(void* reader, __u64 address, __u64* value) {
  const auto word = static_cast<const cicada::unwind::CopiedStack*>(reader)->find_word(address);
  *value = word.value_or(0);
  return word ? 0 : 1;
}

namespace cicada::unwind {

class DeferredWalk::Walk {
 public:
  Walk(const StackCopy& from, AddressSpaceView& view, size_t max_frames)
      : view_(view),
        max_frames_(max_frames),
        stack_(from.stack, from.gpr[ARCH_SP] - from.below, from.pages),
        mode_(from.mode),
        is_32_bit_(from.is_32_bit),
        new_task_(from.new_task),
        new_stack_(from.new_stack) {
    std::memcpy(regs_.gpr, from.gpr, sizeof regs_.gpr);
    regs_.ip = from.ip;
    regs_.exact_ip = from.exact_ip;
    regs_.all_registers = from.all_registers;
    known_ = from.all_registers ? ARCH_ALL_REGISTERS : ARCH_CALLEE_SAVED;
  }

  std::optional<Asked> advance() {
    while (end_ == END_NONE) {
      if (frames_.size() == max_frames_) {
        end_ = END_DEPTH_LIMIT;
        break;
      }
      const uint64_t address = unwind_lookup_address(&regs_);
      uint64_t frame = is_32_bit_ ? frame_at(FRAME_USER_32, address) : frame_at(FRAME_UNKNOWN, address);
      end_ = is_32_bit_ ? unwind_step_frame_pointer_32(&stack_, &regs_) : step(RuntimeAddr(address), frame);
      frames_.push_back(frame);
      if (end_ == kAsksImage) return asked_;
    }
    return std::nullopt;
  }

  // Believes nothing of the answer but registers, which the next step doubts as those of the stack.
  void answer(const ImageStep& step) { end_ = end_of(step); }

  DeferredStack take() {
    if (end_ == kAsksImage) end_ = END_UNSUPPORTED_RULE;
    const auto count = static_cast<uint32_t>(frames_.size());
    if (new_task_ && unwind_has_no_caller(frames_.front(), frames_.back(), count, static_cast<uint32_t>(end_), new_stack_)) {
      frames_.resize(1);
      end_ = END_OUTERMOST;
    }
    const bool complete = end_ == END_OUTERMOST || end_ == END_ZERO_RA;
    const bool stuck = frames_.size() == 1 && (end_ == END_UNSUPPORTED_RULE || end_ == END_NO_RULE || end_ == END_UNMAPPED_PC);
    return {std::move(frames_), complete ? END_DEFERRED : stuck ? END_DEFERRED_FAILED : static_cast<end_reason>(end_)};
  }

 private:
  static constexpr int kAsksImage = -1;  // beside the reasons to end

  // One frame up, or kAsksImage. `frame` is named on the way.
  int step(RuntimeAddr address, uint64_t& frame) {
    const auto mapping = view_.find_mapping(address);
    if (!mapping) return END_UNMAPPED_PC;
    if ((mapping->flags & MAPPING_JIT) != 0) {
      frame = frame_at(FRAME_JIT, address.value);
      unwind_rule rule{};
      const end_reason told = view_.find_rule_of_code(address, rule);
      if (told != END_NONE && told != END_NO_RULE) return told;
      if (told == END_NONE || returns_into_trampoline()) {
        if (told != END_NONE) rule = unwind_trampoline_rule();
        known_ = ARCH_CALLEE_SAVED;
        return unwind_step(&stack_, &rule, &regs_);
      }
      if (regs_.gpr[ARCH_FP] == 0) return END_BAD_FRAME_POINTER;  // no stack begins in JIT code
      return step_by_frame_pointer(END_BAD_FRAME_POINTER);
    }
    const LinkAddr link(address.value - mapping->bias);
    frame = frame_in_image(mapping->image, link.value);
    if ((mapping->flags & MAPPING_NO_CFI) != 0 || mode_ == UNWIND_FRAME_POINTER) return step_by_frame_pointer(END_BAD_FRAME_POINTER);
    const ImageUnwinder* image = view_.find_image(mapping->image);
    if (image == nullptr) return END_NO_TABLE;
    const unwind_rule& rule = image->rows().find(link);
    if (rule.cfa_kind == CFA_NONE || rule.cfa_kind == CFA_FRAME_POINTER) return step_by_frame_pointer(END_NO_RULE);
    if (is_unread(rule)) return !image->pieces().empty() && view_.waits_for_code(mapping->image, link) ? static_cast<int>(END_NO_TABLE) : step_by_frame_pointer(END_NO_RULE);
    rule_ = {};
    if (is_handler_return(rule))
      return known_ == ARCH_ALL_REGISTERS && regs_.exact_ip ? step_by_image(*image, StepBy::kHandlerReturn, link) : END_UNSUPPORTED_RULE;
    if (rule.cfa_kind == CFA_UNSUPPORTED) return step_by_image(*image, StepBy::kCallFrameInformation, link);
    const unwind_regs before = regs_;
    const int end = unwind_step(&stack_, &rule, &regs_);
    if (end == END_UNSUPPORTED_RULE) {  // a rule of the table, but it needs a register that only the full CFI may still know
      regs_ = before;
      rule_ = rule;
      return step_by_image(*image, StepBy::kCallFrameInformation, link);
    }
    known_ = regs_.all_registers ? ARCH_ALL_REGISTERS : ARCH_CALLEE_SAVED;
    return end;
  }

  bool returns_into_trampoline() {
    if (regs_.exact_ip) return false;
    const auto code = view_.read_code(RuntimeAddr(regs_.ip));
    return code && arch_is_trampoline(*code);
  }

  // `otherwise`: what it means if the frame pointer leads nowhere.
  int step_by_frame_pointer(int otherwise) {
    if (mode_ == UNWIND_TABLE) return END_NO_RULE;
    const int end = unwind_step_frame_pointer(&stack_, &regs_);
    known_ = ARCH_CALLEE_SAVED;
    return end == END_BAD_FRAME_POINTER ? otherwise : end;
  }

  int step_by_image(const ImageUnwinder& image, StepBy by, LinkAddr link) {
    asked_.emplace(Asked{&image, {by, link, &stack_, known_registers()}});
    return kAsksImage;
  }

  int end_of(const ImageStep& step) {
    if (step.assumed && (step.outcome != dwarf::FrameStep::kDone || !is_plausible(step.registers.value[ARCH_SP], step.registers.value[ARCH_RETURN]))) return END_UNSUPPORTED_RULE;
    switch (step.outcome) {
      case dwarf::FrameStep::kDone:
        return take(step.registers, step.exact_ip);
      case dwarf::FrameStep::kOutermost: return END_OUTERMOST;
      case dwarf::FrameStep::kUnreadable: return END_UNREADABLE;
      case dwarf::FrameStep::kMalformed:
      case dwarf::FrameStep::kUnknownRegister:
        break;
    }
    return step_by_assumption();
  }

  // Assembly without call-frame information, which keeps its stack pointer in a register while it calls its own helpers, leaves it alone there.
  int step_by_assumption() {
    unwind_regs caller = regs_;
    caller.all_registers = true;
    if (rule_.cfa_kind != CFA_OFFSET || unwind_step(&stack_, &rule_, &caller) != END_NONE || !is_plausible(caller.gpr[ARCH_SP], caller.ip)) return END_UNSUPPORTED_RULE;
    regs_ = caller;
    regs_.all_registers = false;
    known_ = ARCH_CALLEE_SAVED;
    return END_NONE;
  }

  // The next frame's registers.
  int take(const dwarf::Registers& registers, bool exact_ip) {
    for (unsigned i = 0; i < ARCH_REGISTERS; ++i) regs_.gpr[i] = registers.value[i];
    known_ = registers.known & ARCH_ALL_REGISTERS;
    regs_.ip = registers.value[ARCH_RETURN];
    regs_.exact_ip = exact_ip;
    regs_.all_registers = known_ == ARCH_ALL_REGISTERS;
    if (regs_.ip == 0) return exact_ip ? END_UNMAPPED_PC : END_ZERO_RA;
    return regs_.ip >= ARCH_USER_END ? END_UNMAPPED_PC : END_NONE;
  }

  dwarf::Registers known_registers() const {
    dwarf::Registers registers;
    for (unsigned i = 0; i < ARCH_REGISTERS; ++i) registers.value[i] = regs_.gpr[i];
    registers.known = known_;
    registers.set(ARCH_RETURN, regs_.ip);
    return registers;
  }

  // Where the CFA came from a register that the callee may have changed: it is above the stack pointer, and a return address into a mapping
  // is below it.
  bool is_plausible(uint64_t sp, uint64_t return_address) const {
    return sp > regs_.gpr[ARCH_SP] && view_.find_mapping(RuntimeAddr(return_address - 1));
  }

  AddressSpaceView& view_;
  const size_t max_frames_;
  unwind_regs regs_{};
  uint32_t known_;  // general-purpose registers whose value is that of the frame at hand
  CopiedStack stack_;
  const uint32_t mode_;
  const bool is_32_bit_, new_task_, new_stack_;
  std::vector<uint64_t> frames_;
  int end_ = END_NONE;
  std::optional<Asked> asked_;
  unwind_rule rule_{};  // of the table, for the frame that asks; it needs a register that is not known
};

DeferredWalk::DeferredWalk(const StackCopy& from, AddressSpaceView& view, size_t max_frames)
    : walk_(std::make_unique<Walk>(from, view, max_frames)) {}
DeferredWalk::DeferredWalk(DeferredWalk&&) noexcept = default;
DeferredWalk::~DeferredWalk() = default;
std::optional<DeferredWalk::Asked> DeferredWalk::advance() { return walk_->advance(); }
void DeferredWalk::answer(const ImageStep& step) { walk_->answer(step); }
DeferredStack DeferredWalk::take() { return walk_->take(); }

void finish_walks(std::span<DeferredWalk> walks, uint32_t owner, const std::function<bool()>& goes_on) {
  struct OfImage {
    std::vector<DeferredWalk*> walks;
    std::vector<StepQuestion> questions;
  };
  for (;;) {
    std::map<const ImageUnwinder*, OfImage> asked;
    for (DeferredWalk& walk : walks) {
      const auto wanted = walk.advance();
      if (!wanted) continue;
      OfImage& of = asked[wanted->image];
      of.walks.push_back(&walk);
      of.questions.push_back(wanted->question);
    }
    if (asked.empty()) return;
    for (const auto& [image, of] : asked) {
      if (!goes_on()) return;
      const std::vector<ImageStep> steps = image->take_steps(owner, of.questions);
      for (size_t i = 0; i < steps.size(); ++i) of.walks[i]->answer(steps[i]);
    }
  }
}

DeferredStack finish_walk(const StackCopy& from, AddressSpaceView& view, size_t max_frames) {
  DeferredWalk walk(from, view, max_frames);
  finish_walks({&walk, 1}, 0);
  return walk.take();
}

}  // namespace cicada::unwind
