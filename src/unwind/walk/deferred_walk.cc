// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/deferred_walk.h"

#include <array>
#include <bit>
#include <cstring>

#include "abi/mapping.h"
#include "unwind/arch.h"

namespace {

// The copied part of the stack, for both kinds of step.
class StackReader final : public cicada::dwarf::Memory {
 public:
  StackReader(cicada::Bytes stack, uint64_t begin, uint64_t pages) : stack_(stack), begin_(begin), pages_(pages) {}

  std::optional<uint64_t> find_word(uint64_t address) const override {
    uint64_t word = 0;
    if (address < begin_ || address > ~uint64_t{0} - sizeof word) return std::nullopt;
    const auto at = find_offset(address), last = find_offset(address + sizeof word - 1);  // a word may lie in two pages
    if (!at || !last || *last - *at != sizeof word - 1) return std::nullopt;
    std::memcpy(&word, stack_.data() + *at, sizeof word);
    return word;
  }

 private:
  static constexpr uint64_t kPage = 4096;

  std::optional<uint64_t> find_offset(uint64_t address) const {
    const uint64_t page = address / kPage - begin_ / kPage;
    uint64_t offset = address - begin_;
    if (~pages_ != 0) {
      if (page >= 64 || (pages_ >> page & 1) == 0) return std::nullopt;
      const uint64_t below = (uint64_t{1} << page) - 1;
      const auto missing = static_cast<uint64_t>(std::popcount(~pages_ & below));
      offset -= missing * kPage;
      if (page != 0 && (pages_ & 1) == 0) offset += begin_ % kPage;  // the first page would have begun at the stack pointer
    }
    if (offset >= stack_.size()) return std::nullopt;
    return offset;
  }

  cicada::Bytes stack_;
  uint64_t begin_, pages_;
};

}  // namespace

static inline int unwind_read(void* reader, __u64 address, __u64* value) {
  const auto word = static_cast<const StackReader*>(reader)->find_word(address);
  *value = word.value_or(0);
  return word ? 0 : 1;
}
#include "abi/unwind_step.h"

namespace cicada::unwind {

namespace {

class Walk {
 public:
  Walk(const StackCopy& from, AddressSpaceView& view) : view_(view), reader_(from.stack, from.gpr[ARCH_SP], from.pages), mode_(from.mode) {
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
      end = from.is_32_bit ? unwind_step_frame_pointer_32(&reader_, &regs_) : step(RuntimeAddr(address), frame);
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
        return unwind_step(&reader_, &rule, &regs_);
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
    if (is_handler_return(rule)) return step_to_handler(image->code_at(link));
    if (rule.cfa_kind == CFA_UNSUPPORTED) return step_by_cfi(*image, link);
    const unwind_regs before = regs_;
    const int end = unwind_step(&reader_, &rule, &regs_);
    if (end == END_UNSUPPORTED_RULE) {  // a rule of the table, but it needs a register that only the full CFI may still know
      regs_ = before;
      return step_by_cfi(*image, link);
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
    const int end = unwind_step_frame_pointer(&reader_, &regs_);
    known_ = ARCH_CALLEE_SAVED;
    return end == END_BAD_FRAME_POINTER ? otherwise : end;
  }

  int step_by_cfi(const ImageUnwinder& image, LinkAddr link) {
    const auto rules = image.find_rules(link);
    if (!rules) return END_UNSUPPORTED_RULE;
    dwarf::Registers registers = known_registers(known_);
    dwarf::FrameStep step = dwarf::step(*rules, reader_, registers);
    if (step == dwarf::FrameStep::kUnknownRegister) step = step_by_same_values(*rules, registers);
    switch (step) {
      case dwarf::FrameStep::kDone: break;
      case dwarf::FrameStep::kOutermost: return END_OUTERMOST;
      case dwarf::FrameStep::kUnreadable: return END_UNREADABLE;
      case dwarf::FrameStep::kMalformed:
      case dwarf::FrameStep::kUnknownRegister: return END_UNSUPPORTED_RULE;
    }
    return take(registers, rules->signal_frame);
  }

  // `code`: what the leaf, or the frame below a signal's, is about to do.
  int step_to_handler(Bytes code) {
    if (!regs_.exact_ip || known_ != ARCH_ALL_REGISTERS) return END_UNSUPPORTED_RULE;
    dwarf::Registers registers = known_registers(known_);
    switch (follow_handler_return(code, reader_, registers)) {
      case dwarf::FrameStep::kDone: return take(registers, true);
      case dwarf::FrameStep::kUnreadable: return END_UNREADABLE;
      default: return END_UNSUPPORTED_RULE;
    }
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

  dwarf::Registers known_registers(uint32_t known) const {
    dwarf::Registers registers;
    for (unsigned i = 0; i < ARCH_REGISTERS; ++i) registers.value[i] = regs_.gpr[i];
    registers.known = known;
    registers.set(ARCH_RETURN, regs_.ip);
    return registers;
  }

  // OpenSSL's AES-GCM keeps its CFA in rax across calls of helpers that leave rax alone; libgcc follows it because a register of which CFI
  // says nothing has the same value for it. So do we where the value passes for a CFA: above the stack pointer, on the copied stack, and a return
  // address into a mapping below it.
  dwarf::FrameStep step_by_same_values(const dwarf::FrameRules& rules, dwarf::Registers& registers) {
    registers = known_registers(ARCH_ALL_REGISTERS);
    const dwarf::FrameStep step = dwarf::step(rules, reader_, registers);
    const bool plausible = step == dwarf::FrameStep::kDone && registers.value[ARCH_SP] > regs_.gpr[ARCH_SP] &&
                           view_.find_mapping(RuntimeAddr(registers.value[ARCH_RETURN] - 1));
    registers.known &= ARCH_CALLEE_SAVED | 1u << ARCH_RETURN;
    return plausible ? step : dwarf::FrameStep::kUnknownRegister;
  }

  AddressSpaceView& view_;
  unwind_regs regs_{};
  uint32_t known_;  // general-purpose registers whose value is that of the frame at hand
  StackReader reader_;
  uint32_t mode_;
};

}  // namespace

DeferredStack finish_walk(const StackCopy& from, AddressSpaceView& view, size_t max_frames) {
  return Walk(from, view).run(max_frames, from);
}

}  // namespace cicada::unwind
