// SPDX-License-Identifier: Apache-2.0
// Found backwards: from where the stack pointer is taken to what wrote that register last, and so on.
#include "unwind/x86_64/machine_stack.h"

#include <vector>

#include "code/arch.h"

namespace cicada::unwind {
namespace {

using code::Flow;
using code::GeneralRegister;
using code::Instruction;
using code::saved_index;

constexpr int32_t kMostWords = 255;  // what a rule can say
constexpr int kMostTaken = 64;       // LuaJIT takes it at ten places

struct Place {
  uint32_t at;
  Instruction insn;
  uint32_t end() const { return at + insn.length; }
};
using Places = std::vector<Place>;

bool is_load(const Instruction& insn, uint8_t to) { return insn.is(0, 0x8b) && insn.wide && insn.mod != 3 && !insn.indexed && insn.rm < code::kRip && insn.reg == to; }
bool is_mask(const Instruction& insn, uint8_t of) { return insn.is_group(0x83, 4) && insn.wide && insn.mod == 3 && insn.rm == of && insn.immediate >= -8 && insn.immediate < 0; }

// The register that the stack pointer is taken from.
uint8_t source_of_stack(const Instruction& insn) {
  if (!insn.wide || insn.mod != 3) return code::kNoRegister;
  if (insn.is(0, 0x89) && insn.rm == code::kRsp) return insn.reg;
  return insn.is(0, 0x8b) && insn.reg == code::kRsp ? insn.rm : uint8_t{code::kNoRegister};
}

bool writes(const Instruction& insn, GeneralRegister reg) {
  const Flow flow = insn.flow();
  if (flow == Flow::kCall || flow == Flow::kIndirectCall) return !saved_index(reg);
  return insn.writes(reg) || insn.writes_unsaid(reg) || (insn.map == 0 && !insn.vex && (insn.opcode & 0xf8) == 0x58 && insn.reg == reg);  // pop
}

class Function {
 public:
  Function(Bytes code, const unwind_rule& rule) : rule_(rule) {
    for (uint32_t at = 0; at < code.size();) {
      const auto insn = code::decode_instruction(code.subspan(at));
      if (!insn) break;
      places_.push_back({at, *insn});
      at += insn->length;
    }
  }

  std::optional<CodeRule> find() const {
    int count = 0;
    for (size_t taken = 0; taken < places_.size() && count < kMostTaken; ++taken) {
      const uint8_t reg = source_of_stack(places_[taken].insn);
      if (reg >= code::kRip) continue;
      ++count;
      const size_t begin = begin_of(taken);
      if (const auto rule = trace(begin, taken, taken, reg)) return CodeRule{places_[begin].at, places_[taken].end(), *rule};
      // A jump into this line, from the end of the one before.
      if (begin == 0 || places_[begin - 1].insn.flow() != Flow::kJump) continue;
      const size_t jump = begin - 1, first = begin_of(jump);
      const size_t target = find(int64_t{places_[jump].end()} + places_[jump].insn.immediate, begin, taken);
      const auto rule = trace(first, jump, taken, reg);
      if (rule && target <= taken && !last_write(target, taken, reg)) return CodeRule{places_[first].at, places_[taken].end(), with_loads(*rule, reg, target, taken)};
    }
    return std::nullopt;
  }

 private:
  // Where the straight line of a place begins.
  size_t begin_of(size_t place) const {
    while (place > 0 && !places_[place - 1].insn.ends_block()) --place;
    return place;
  }
  // In [first, last).
  std::optional<size_t> last_write(size_t first, size_t last, uint8_t reg) const {
    while (last-- > first) {
      if (writes(places_[last].insn, static_cast<GeneralRegister>(reg))) return last;
    }
    return std::nullopt;
  }

  // The one of [first, last] that begins at `at`; behind `last`: none.
  size_t find(int64_t at, size_t first, size_t last) const {
    while (first <= last && places_[first].at != at) ++first;
    return first;
  }

  // How `reg` came to hold the stack pointer at `last`, in a line from `first` on; it is taken at `taken`.
  std::optional<unwind_rule> trace(size_t first, size_t last, size_t taken, uint8_t reg) const {
    const auto mask = last_write(first, last, reg);
    if (!mask || !is_mask(places_[*mask].insn, reg)) return std::nullopt;
    const auto kept = last_write(first, *mask, reg);
    if (!kept || !is_load(places_[*kept].insn, reg)) return std::nullopt;
    const Instruction& from_thread = places_[*kept].insn;
    const auto thread = last_write(first, *kept, from_thread.rm);
    if (!thread || !is_load(places_[*thread].insn, from_thread.rm)) return std::nullopt;
    const Instruction& from_machine = places_[*thread].insn;
    if (!saved_index(from_machine.rm) || last_write(first, *thread, from_machine.rm) || last_write(*thread + 1, taken, from_machine.rm)) return std::nullopt;
    const auto words = [](int32_t bytes) { return bytes >= 0 && bytes % 8 == 0 && bytes / 8 <= kMostWords ? bytes / 8 : -1; };
    const int32_t low = words(from_thread.displacement), high = words(rule_.cfa_offset);
    if (low < 0 || high < 0) return std::nullopt;
    unwind_rule rule = rule_;
    rule.cfa_kind = CFA_DEREF_TWICE;
    rule.cfa_reg = code::dwarf_number(from_machine.rm);
    rule.cfa_offset = from_machine.displacement;
    rule.cfa_addend = static_cast<__s16>(static_cast<uint16_t>(low | high << 8));
    return rule;
  }

  // What is loaded from where the stack pointer will be: registers that generated code uses, and CFI leaves alone.
  unwind_rule with_loads(unwind_rule rule, uint8_t reg, size_t from, size_t taken) const {
    for (size_t i = from; i < taken; ++i) {
      const Instruction& insn = places_[i].insn;
      const auto to = saved_index(insn.reg);
      if (!to || insn.rm != reg || !is_load(insn, insn.reg) || rule.saved[*to] != 0) continue;
      const int64_t words = (int64_t{insn.displacement} - rule_.cfa_offset) / 8;
      if (insn.displacement % 8 == 0 && words < 0 && words >= INT8_MIN) rule.saved[*to] = static_cast<__s8>(words);
    }
    return rule;
  }

  const unwind_rule& rule_;
  Places places_;
};

}  // namespace

std::optional<CodeRule> find_machine_stack(Bytes code, const unwind_rule& rule) {
  if (rule.cfa_kind != CFA_OFFSET || rule.cfa_reg != ARCH_SP || rule.via_base != 0) return std::nullopt;
  return Function(code, rule).find();
}

}  // namespace cicada::unwind
