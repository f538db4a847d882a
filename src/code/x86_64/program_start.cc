// SPDX-License-Identifier: Apache-2.0
#include "code/x86_64/program_start.h"

#include "code/x86_64/instruction.h"

namespace cicada::code {
namespace {

constexpr int kMaxInstructions = 32;

bool is_endbr64(const Instruction& insn) { return insn.is(1, 0x1e) && insn.mod == 3; }
bool passes_stack_pointer(const Instruction& insn) {
  return insn.wide && insn.mod == 3 && ((insn.is(0, 0x89) && insn.reg == kRsp && insn.rm == kRdi) || (insn.is(0, 0x8b) && insn.reg == kRdi && insn.rm == kRsp));
}
bool writes_first_argument(const Instruction& insn) {
  const bool pops = insn.is(0, 0x5f) && insn.reg == kRdi;
  return pops || insn.writes(kRdi) || insn.writes_unsaid(kRdi);
}

}  // namespace

bool begins_program(Bytes entry) {
  auto insn = decode_instruction(entry);
  if (insn && is_endbr64(*insn)) insn = decode_instruction(entry.subspan(insn->length));
  if (!insn) return false;
  const bool clears_frame = (insn->is(0, 0x31) || insn->is(0, 0x33)) && insn->mod == 3 && insn->reg == kRbp && insn->rm == kRbp;
  return clears_frame || passes_stack_pointer(*insn);
}

std::optional<FirstCall> find_first_call(Bytes code) {
  FirstCall call;
  size_t at = 0;
  for (int i = 0; i < kMaxInstructions; ++i) {
    const auto insn = decode_instruction(code.subspan(at));
    if (!insn) return std::nullopt;
    at += insn->length;
    const auto from_here = [&](int64_t distance) { return static_cast<int64_t>(at) + distance; };
    const Flow flow = insn->flow();
    if (flow == Flow::kCall || flow == Flow::kJump) call.target = from_here(insn->immediate);
    if (call.target || flow == Flow::kIndirectCall || flow == Flow::kIndirectJump) {
      call.halts_behind = at < code.size() && code[at] == 0xf4;
      return call;
    }
    if (flow != Flow::kNext) return std::nullopt;
    if (!writes_first_argument(*insn)) continue;
    call = {};
    call.passes_stack = passes_stack_pointer(*insn);
    if (insn->loads_address() && insn->reg == kRdi && insn->wide) call.argument_offset = from_here(insn->displacement);
    if (insn->loads_immediate()) call.argument_number = static_cast<uint64_t>(insn->immediate);
  }
  return std::nullopt;
}

}  // namespace cicada::code
