// SPDX-License-Identifier: Apache-2.0
#include "dwarf/frame_rules.h"

#include <algorithm>

#include "dwarf/cfi_program.h"
#include "dwarf/frame_sections.h"

namespace cicada::dwarf {
namespace {

constexpr size_t kMaxRemembered = 64;

// State of cfi_program.h that stops at the row of one address.
class FullState {
 public:
  FullState(const FrameRules& start, const FrameRules* initial, LinkAddr wanted) : rules(start), initial_(initial), wanted_(wanted) {}

  void cfa(uint64_t reg, int64_t offset) {
    rules.has_cfa = true;
    rules.cfa_by_expression = false;
    rules.cfa_register = reg;
    rules.cfa_offset = offset;
  }
  // After an expression DWARF does not allow it; libgcc goes back to the last offset, and libgcrypt relies on that.
  void cfa_register(uint64_t reg) {
    rules.cfa_by_expression = false;
    rules.cfa_register = reg;
  }
  void cfa_offset(int64_t offset) { rules.cfa_offset = offset; }
  void cfa_expression(Bytes expression) {
    rules.has_cfa = rules.cfa_by_expression = true;
    rules.cfa_expression = expression;
  }
  void saved_at(uint64_t reg, int64_t offset) { set(reg, {RegisterRule::kAtCfa, offset, {}}); }
  void value_is(uint64_t reg, int64_t offset) { set(reg, {RegisterRule::kCfaValue, offset, {}}); }
  void in_register(uint64_t reg, uint64_t other) { set(reg, {RegisterRule::kInRegister, static_cast<int64_t>(other), {}}); }
  void expression(uint64_t reg, Bytes e) { set(reg, {RegisterRule::kAtExpression, 0, e}); }
  void value_expression(uint64_t reg, Bytes e) { set(reg, {RegisterRule::kExpressionValue, 0, e}); }
  void undefined(uint64_t reg) { set(reg, {RegisterRule::kUndefined, 0, {}}); }
  void same_value(uint64_t reg) { set(reg, {RegisterRule::kSameValue, 0, {}}); }
  bool restore(uint64_t reg) {
    if (initial_ == nullptr) return false;
    if (reg < kRegisterCount) rules.registers[reg] = initial_->registers[reg];
    return true;
  }
  bool remember() {
    if (initial_ == nullptr || remembered_.size() == kMaxRemembered) return false;
    remembered_.push_back(rules);
    return true;
  }
  bool restore_state() {
    if (remembered_.empty()) return false;
    rules = remembered_.back();
    remembered_.pop_back();
    return true;
  }
  bool row(LinkAddr begin, LinkAddr end) {
    found = begin <= wanted_ && wanted_ < end;
    return !found;
  }

  FrameRules rules;
  bool found = false;

 private:
  void set(uint64_t reg, const RegisterRule& rule) {
    if (reg < kRegisterCount) rules.registers[reg] = rule;
  }
  const FrameRules* initial_;
  LinkAddr wanted_;
  std::vector<FrameRules> remembered_;
};

FrameStep to_step(Evaluation evaluation) {
  switch (evaluation) {
    case Evaluation::kDone: return FrameStep::kDone;
    case Evaluation::kUnknownRegister: return FrameStep::kUnknownRegister;
    case Evaluation::kUnreadable: return FrameStep::kUnreadable;
    case Evaluation::kMalformed:
    case Evaluation::kTooLong: break;
  }
  return FrameStep::kMalformed;
}

// `keep`: what an unspecified register does.
FrameStep restore_register(const RegisterRule& rule, unsigned reg, uint64_t cfa, const Memory& memory, const Registers& before,
                           Registers& after) {
  uint64_t value = 0;
  switch (rule.kind) {
    case RegisterRule::kUnspecified:
      if (reg == ARCH_SP) after.set(reg, cfa);
      else if ((ARCH_CALLEE_SAVED >> reg & 1) == 0) after.forget(reg);
      return FrameStep::kDone;
    case RegisterRule::kSameValue: return FrameStep::kDone;
    case RegisterRule::kUndefined: after.forget(reg); return FrameStep::kDone;
    case RegisterRule::kCfaValue: after.set(reg, cfa + static_cast<uint64_t>(rule.number)); return FrameStep::kDone;
    case RegisterRule::kInRegister:
      if (before.knows(static_cast<uint64_t>(rule.number))) after.set(reg, before.value[static_cast<size_t>(rule.number)]);
      else after.forget(reg);
      return FrameStep::kDone;
    case RegisterRule::kExpressionValue:
    case RegisterRule::kAtExpression: {
      const Evaluation evaluation = evaluate(rule.expression, before, memory, cfa, value);
      if (evaluation != Evaluation::kDone) return to_step(evaluation);
      if (rule.kind == RegisterRule::kExpressionValue) {
        after.set(reg, value);
        return FrameStep::kDone;
      }
      break;
    }
    case RegisterRule::kAtCfa: value = cfa + static_cast<uint64_t>(rule.number); break;
  }
  const auto word = memory.find_word(value);
  if (!word) return FrameStep::kUnreadable;
  after.set(reg, *word);
  return FrameStep::kDone;
}

}  // namespace

FrameStep step(const FrameRules& rules, const Memory& memory, Registers& registers) {
  const RegisterRule& return_rule = rules.registers[ARCH_RETURN];
  if (return_rule.kind == RegisterRule::kUndefined || return_rule.kind == RegisterRule::kUnspecified) return FrameStep::kOutermost;
  if (!rules.has_cfa) return FrameStep::kMalformed;
  uint64_t cfa = 0;
  if (rules.cfa_by_expression) {
    const Evaluation evaluation = evaluate(rules.cfa_expression, registers, memory, std::nullopt, cfa);
    if (evaluation != Evaluation::kDone) return to_step(evaluation);
  } else {
    if (!registers.knows(rules.cfa_register)) return FrameStep::kUnknownRegister;
    cfa = registers.value[rules.cfa_register] + static_cast<uint64_t>(rules.cfa_offset);
  }
  Registers caller = registers;
  for (unsigned reg = 0; reg < kRegisterCount; ++reg) {
    const FrameStep done = restore_register(rules.registers[reg], reg, cfa, memory, registers, caller);
    if (done == FrameStep::kDone) continue;
    // A scratch register that cannot be had is only lost; without the others the walk cannot go on.
    if ((ARCH_CALLEE_SAVED >> reg & 1) == 0 && reg != ARCH_RETURN) caller.forget(reg);
    else return done;
  }
  if (!caller.knows(ARCH_RETURN) || !caller.knows(ARCH_SP)) return FrameStep::kUnknownRegister;
  registers = caller;
  return FrameStep::kDone;
}

FrameIndex::FrameIndex(const elf::ElfFile& elf) {
  for (const CallFrameSection& section : find_frame_sections(elf)) {
    FdeReader reader(section);
    Part part;
    part.section = section;
    while (const auto fde = reader.next()) {
      if (fde->size != 0) part.fdes.push_back(*fde);
    }
    part.cies = reader.cies();
    std::stable_sort(part.fdes.begin(), part.fdes.end(), [](const Fde& a, const Fde& b) { return a.begin < b.begin; });
    parts_.push_back(std::move(part));
  }
}

std::optional<FrameRules> FrameIndex::find(LinkAddr address) const {
  for (const Part& part : parts_) {
    auto after = std::upper_bound(part.fdes.begin(), part.fdes.end(), address, [](LinkAddr a, const Fde& fde) { return a < fde.begin; });
    if (after == part.fdes.begin()) continue;
    const Fde& fde = *std::prev(after);
    if (address - fde.begin >= fde.size) continue;
    const Cie& cie = part.cies[fde.cie];
    if (cie.return_register != ARCH_RETURN) return std::nullopt;
    FullState start({}, nullptr, address);
    start.rules.signal_frame = cie.signal_frame;
    if (run_cfi_program(part.section, cie, cie.program_begin, cie.program_end, {}, start) != ProgramResult::kDone) return std::nullopt;
    FullState state(start.rules, &start.rules, address);
    const LinkAddr end = fde.size > ~fde.begin.value ? LinkAddr(~uint64_t{0}) : fde.begin + fde.size;
    const ProgramResult result = run_cfi_program(part.section, cie, fde.program_begin, fde.program_end, {fde.begin, end}, state);
    if (result == ProgramResult::kMalformed || !state.found) return std::nullopt;
    return state.rules;
  }
  return std::nullopt;
}

}  // namespace cicada::dwarf
