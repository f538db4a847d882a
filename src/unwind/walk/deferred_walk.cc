// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/deferred_walk.h"

#include <array>
#include <cstring>

#include "abi/mapping.h"
#include "unwind/arch.h"

static inline int unwind_read(void* reader, __u64 address, __u64* value) {
  const auto word = static_cast<const cicada::unwind::CopiedStack*>(reader)->find_word(address);
  *value = word.value_or(0);
  return word ? 0 : 1;
}
#include "abi/unwind_step.h"

namespace cicada::unwind {

namespace {

class Walk {
 public:
  Walk(const StackCopy& from, AddressSpaceView& view) : view_(view), stack_(from.stack, from.gpr[ARCH_SP], from.pages), mode_(from.mode) {
    std::memcpy(regs_.gpr, from.gpr, sizeof regs_.gpr);
    regs_.ip = from.ip;
    regs_.exact_ip = from.exact_ip;
    regs_.all_registers = from.all_registers;
    known_ = from.all_registers ? ARCH_ALL_REGISTERS : ARCH_CALLEE_SAVED;
  }

  DeferredStack run(size_t max_frames, const StackCopy& from) {
    DeferredStack result;
    int end = END_NONE;
    while (end == END_NONE) {
      if (result.frames.size() == max_frames) {
        end = END_DEPTH_LIMIT;
        break;
      }
      const uint64_t address = unwind_lookup_address(&regs_);
      uint64_t frame = from.is_32_bit ? frame_at(FRAME_USER_32, address) : frame_at(FRAME_UNKNOWN, address);
      end = from.is_32_bit ? unwind_step_frame_pointer_32(&stack_, &regs_) : step(RuntimeAddr(address), frame);
      result.frames.push_back(frame);
    }
    const auto count = static_cast<uint32_t>(result.frames.size());
    if (from.new_task &&
        unwind_has_no_caller(result.frames.front(), result.frames.back(), count, static_cast<uint32_t>(end), from.new_stack)) {
      result.frames.resize(1);
      end = END_OUTERMOST;
    }
    const bool complete = end == END_OUTERMOST || end == END_ZERO_RA;
    const bool stuck = result.frames.size() == 1 && (end == END_UNSUPPORTED_RULE || end == END_NO_RULE || end == END_UNMAPPED_PC);
    result.end = complete ? END_DEFERRED : stuck ? END_DEFERRED_FAILED : static_cast<end_reason>(end);
    return result;
  }

 private:
  // One frame up. `frame` is named on the way.
  int step(RuntimeAddr address, uint64_t& frame) {
    const auto mapping = view_.find_mapping(address);
    if (!mapping) return END_UNMAPPED_PC;
    if ((mapping->flags & MAPPING_JIT) != 0) {
      frame = frame_at(FRAME_JIT, address.value);
      if (returns_into_trampoline()) {
        const unwind_rule rule = unwind_trampoline_rule();
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
    if (is_handler_return(rule))
      return known_ == ARCH_ALL_REGISTERS && regs_.exact_ip ? step_by_image(*image, StepBy::kHandlerReturn, link) : END_UNSUPPORTED_RULE;
    if (rule.cfa_kind == CFA_UNSUPPORTED) return step_by_image(*image, StepBy::kCallFrameInformation, link);
    const unwind_regs before = regs_;
    const int end = unwind_step(&stack_, &rule, &regs_);
    if (end == END_UNSUPPORTED_RULE) {  // a rule of the table, but it needs a register that only the full CFI may still know
      regs_ = before;
      return step_by_image(*image, StepBy::kCallFrameInformation, link);
    }
    known_ = regs_.all_registers ? ARCH_ALL_REGISTERS : ARCH_CALLEE_SAVED;
    return end;
  }

  bool returns_into_trampoline() {
    uint64_t code = 0;
    std::array<uint8_t, ARCH_TRAMPOLINE_BYTES> bytes;
    if (regs_.exact_ip || !view_.read_code(RuntimeAddr(regs_.ip), bytes)) return false;
    std::memcpy(&code, bytes.data(), bytes.size());
    return arch_is_trampoline(code);
  }

  // `otherwise`: what it means if the frame pointer leads nowhere.
  int step_by_frame_pointer(int otherwise) {
    if (mode_ == UNWIND_TABLE) return END_NO_RULE;
    const int end = unwind_step_frame_pointer(&stack_, &regs_);
    known_ = ARCH_CALLEE_SAVED;
    return end == END_BAD_FRAME_POINTER ? otherwise : end;
  }

  // Believes nothing of the answer but registers, which the next step doubts as those of the stack.
  int step_by_image(const ImageUnwinder& image, StepBy by, LinkAddr link) {
    const ImageStep step = image.take_step({by, link, stack_, known_registers()});
    if (step.assumed && (step.outcome != dwarf::FrameStep::kDone || !is_plausible(step.registers))) return END_UNSUPPORTED_RULE;
    switch (step.outcome) {
      case dwarf::FrameStep::kDone:
        return take(step.registers, step.exact_ip);
      case dwarf::FrameStep::kOutermost: return END_OUTERMOST;
      case dwarf::FrameStep::kUnreadable: return END_UNREADABLE;
      case dwarf::FrameStep::kMalformed:
      case dwarf::FrameStep::kUnknownRegister:
        break;
    }
    return END_UNSUPPORTED_RULE;
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
  bool is_plausible(const dwarf::Registers& caller) const {
    return caller.value[ARCH_SP] > regs_.gpr[ARCH_SP] && view_.find_mapping(RuntimeAddr(caller.value[ARCH_RETURN] - 1));
  }

  AddressSpaceView& view_;
  unwind_regs regs_{};
  uint32_t known_;  // general-purpose registers whose value is that of the frame at hand
  CopiedStack stack_;
  uint32_t mode_;
};

}  // namespace

DeferredStack finish_walk(const StackCopy& from, AddressSpaceView& view, size_t max_frames) {
  return Walk(from, view).run(max_frames, from);
}

}  // namespace cicada::unwind
