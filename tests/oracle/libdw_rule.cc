// SPDX-License-Identifier: Apache-2.0
#include "libdw_rule.h"

#include <dwarf.h>
#include <fmt/format.h>

namespace cicada::oracle {
namespace {

struct Ops {
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
};

std::string print(Ops e) {
  std::string text = "[";
  for (size_t i = 0; i < e.count; ++i) text += fmt::format(" {:#x}:{}", e.ops[i].atom, static_cast<int64_t>(e.ops[i].number));
  return text + " ]";
}

// breg N, or bregx R N.
bool is_base(const Dwarf_Op& op, uint64_t& reg, int64_t& offset) {
  if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31) {
    reg = op.atom - DW_OP_breg0;
    offset = static_cast<int64_t>(op.number);
    return true;
  }
  if (op.atom == DW_OP_bregx) {
    reg = op.number;
    offset = static_cast<int64_t>(op.number2);
    return true;
  }
  return false;
}

// reg + before, or *(reg + before) + after.
struct Form {
  bool known = false, dereferenced = false;
  uint64_t reg = 0;
  int64_t before = 0, after = 0;
};

Form find_form(Ops e) {
  Form form;
  if (e.count == 0 || !is_base(e.ops[0], form.reg, form.before)) return form;
  for (size_t i = 1; i < e.count; ++i) {
    int64_t& part = form.dereferenced ? form.after : form.before;
    if (e.ops[i].atom == DW_OP_deref && !form.dereferenced) {
      form.dereferenced = true;
    } else if (e.ops[i].atom == DW_OP_plus_uconst) {
      part += static_cast<int64_t>(e.ops[i].number);
    } else if (i + 1 < e.count && (e.ops[i + 1].atom == DW_OP_plus || e.ops[i + 1].atom == DW_OP_minus)) {
      int64_t n = static_cast<int64_t>(e.ops[i].number);
      if (e.ops[i].atom >= DW_OP_lit0 && e.ops[i].atom <= DW_OP_lit31) n = e.ops[i].atom - DW_OP_lit0;
      else if (e.ops[i].atom < DW_OP_const1u || e.ops[i].atom > DW_OP_consts) return form;
      part += e.ops[i + 1].atom == DW_OP_plus ? n : -n;
      ++i;
    } else {
      return form;
    }
  }
  form.known = true;
  return form;
}

bool is_plt(Ops e, int64_t bound) {
  const uint8_t want[] = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, static_cast<uint8_t>(DW_OP_lit0 + bound),
                          DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,   DW_OP_plus};
  if (e.count != sizeof want || e.ops[0].number != 8 || e.ops[1].number != 0) return false;
  for (size_t i = 0; i < e.count; ++i) {
    if (e.ops[i].atom != want[i]) return false;
  }
  return true;
}

// A register's location as libdw gives it: nothing (undefined or unchanged), [call_frame_cfa, plus_uconst/consts plus], or an
// expression that may begin with call_frame_cfa (and drop it); stack_value at the end means the value itself.
struct Saved {
  enum Kind { kUndefined, kSame, kAtCfa, kAtAligned, kValue, kExpression } kind = kUndefined;
  int64_t offset = 0;
  int64_t mask = 0;  // kAtAligned: at ((CFA - 8) & mask) + offset
  Form form;
  Ops ops;
};

Saved find_saved(Dwarf_Frame* frame, int reg, Dwarf_Op* memory) {
  Saved saved;
  if (dwarf_frame_register(frame, reg, memory, &saved.ops.ops, &saved.ops.count) != 0) return saved;
  Ops e = saved.ops;
  if (e.count == 0) {
    saved.kind = e.ops == nullptr ? Saved::kSame : Saved::kUndefined;
    // libdw 0.188, backends/x86_64_cfi.c, lists rax (0) where it means rbx (3) among the registers that keep their value unless
    // told otherwise. So an untouched rbx comes out as undefined.
    if (reg == 3) saved.kind = Saved::kSame;
    return saved;
  }
  if (e.ops[e.count - 1].atom == DW_OP_stack_value || (e.count == 1 && e.ops[0].atom == DW_OP_regx) ||
      (e.count == 1 && e.ops[0].atom >= DW_OP_reg0 && e.ops[0].atom <= DW_OP_reg31)) {
    saved.kind = Saved::kValue;
    if (e.ops[0].atom == DW_OP_call_frame_cfa && e.count == 2) saved.offset = 0;
    else saved.offset = 1;  // not simply the CFA
    return saved;
  }
  saved.kind = Saved::kExpression;
  if (e.ops[0].atom != DW_OP_call_frame_cfa) {
    saved.form = find_form(e);
    return saved;
  }
  ++e.ops;
  --e.count;
  if (e.count == 0) {
    saved.kind = Saved::kAtCfa;
  } else if (e.count == 1 && e.ops[0].atom == DW_OP_plus_uconst) {
    saved.kind = Saved::kAtCfa;
    saved.offset = static_cast<int64_t>(e.ops[0].number);
  } else if (e.count == 2 && e.ops[0].atom == DW_OP_consts && e.ops[1].atom == DW_OP_plus) {
    saved.kind = Saved::kAtCfa;
    saved.offset = static_cast<int64_t>(e.ops[0].number);
  } else if (e.count == 6 && e.ops[0].atom == DW_OP_lit8 && e.ops[1].atom == DW_OP_minus && e.ops[2].atom == DW_OP_const4s &&
             e.ops[3].atom == DW_OP_and && e.ops[4].atom == DW_OP_const4s && e.ops[5].atom == DW_OP_plus) {
    saved.kind = Saved::kAtAligned;
    saved.mask = static_cast<int64_t>(e.ops[2].number);
    saved.offset = static_cast<int64_t>(e.ops[4].number);
  } else {
    if (e.ops[0].atom == DW_OP_drop) ++e.ops, --e.count;
    saved.form = find_form(e);
  }
  return saved;
}

constexpr int kSavedRegister[SAVED_COUNT] = {3, 6, 12, 13, 14, 15};

bool cfa_equals(Ops cfa, const unwind_rule& rule) {
  const Form form = find_form(cfa);
  switch (rule.cfa_kind) {
    case CFA_OFFSET:
      return form.known && !form.dereferenced && form.reg == rule.cfa_reg && form.before == rule.cfa_offset;
    case CFA_DEREF:
      return form.known && form.dereferenced && form.reg == rule.cfa_reg && form.before == rule.cfa_offset &&
             form.after == rule.cfa_addend;
    case CFA_PLT: return is_plt(cfa, rule.cfa_offset);
    default: return false;
  }
}

bool saved_equals(const Saved& saved, const unwind_rule& rule, unsigned slot) {
  static constexpr uint64_t kBase[] = {6, 3, 7, 10};  // enum unwind_save_base
  const int64_t offset = 8 * int64_t{rule.saved[slot]};
  if ((rule.via_base >> slot & 1) != 0 && rule.via_align != 0) {
    return saved.kind == Saved::kAtAligned && saved.mask == -(int64_t{1} << rule.via_align) && saved.offset == offset;
  }
  if ((rule.via_base >> slot & 1) != 0) {
    return saved.kind == Saved::kExpression && saved.form.known && !saved.form.dereferenced &&
           saved.form.reg == kBase[rule.via_base >> 6] && saved.form.before == offset;
  }
  if (rule.saved[slot] == 0) return saved.kind == Saved::kSame;
  return saved.kind == Saved::kAtCfa && saved.offset == offset;
}

// Would libdw's rule fit unwind_rule? Deliberately coarse: true only for the plainest rules, which must never be given up on.
bool is_plain(Ops cfa, Dwarf_Frame* frame) {
  const Form form = find_form(cfa);
  if (!form.known || form.reg > 15 || form.before != static_cast<int32_t>(form.before) ||
      form.after != static_cast<int16_t>(form.after)) {
    return false;
  }
  Dwarf_Op memory[3];
  const Saved ra = find_saved(frame, 16, memory);
  if (ra.kind != Saved::kAtCfa || ra.offset != -8) return false;
  const Saved rsp = find_saved(frame, 7, memory);
  if (rsp.kind != Saved::kSame && !(rsp.kind == Saved::kValue && rsp.offset == 0)) return false;
  for (const int reg : kSavedRegister) {
    const Saved saved = find_saved(frame, reg, memory);
    if (saved.kind == Saved::kSame) continue;
    if (saved.kind != Saved::kAtCfa || saved.offset == 0 || saved.offset % 8 != 0 || saved.offset < -1024 || saved.offset > 1016) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string compare(Dwarf_Frame* frame, bool signal_frame, const unwind_rule& rule) {
  Ops cfa;
  if (dwarf_frame_cfa(frame, &cfa.ops, &cfa.count) != 0) return "libdw has no CFA";
  Dwarf_Op memory[3];
  const Saved ra = find_saved(frame, 16, memory);
  const Form form = find_form(cfa);
  if (rule.cfa_kind == CFA_NONE) return "no row of ours, libdw: " + print(cfa);
  if (rule.cfa_kind == CFA_OUTERMOST) {
    return ra.kind == Saved::kUndefined ? "" : "ours: outermost, libdw: return address " + print(ra.ops);
  }
  if (rule.cfa_kind == CFA_UNSUPPORTED) {
    return !signal_frame && is_plain(cfa, frame) ? "ours: unsupported, libdw: plain " + print(cfa) : "";
  }
  if (rule.cfa_kind == CFA_SIGNAL) {
    const bool same = signal_frame && form.known && form.dereferenced && form.reg == 7 && form.before == rule.cfa_offset + 160 &&
                      ra.kind == Saved::kExpression && ra.form.reg == 7 && ra.form.before == rule.cfa_offset + 168;
    return same ? "" : "ours: signal frame, libdw: " + print(cfa);
  }
  if (signal_frame) return "libdw: signal frame, ours: an ordinary one";
  if (!cfa_equals(cfa, rule)) {
    return fmt::format("CFA: ours kind {} reg {} offset {} addend {}, libdw {}", rule.cfa_kind, rule.cfa_reg, rule.cfa_offset,
                       rule.cfa_addend, print(cfa));
  }
  if (ra.kind != Saved::kAtCfa || ra.offset != -8) return "return address: ours CFA-8, libdw " + print(ra.ops);
  for (unsigned slot = 0; slot < SAVED_COUNT; ++slot) {
    const Saved saved = find_saved(frame, kSavedRegister[slot], memory);
    if (!saved_equals(saved, rule, slot)) {
      return fmt::format("register {}: ours {}{}, libdw kind {} {}", kSavedRegister[slot], rule.saved[slot],
                         (rule.via_base >> slot & 1) != 0 ? " via base" : "", static_cast<int>(saved.kind), print(saved.ops));
    }
  }
  return "";
}

}  // namespace cicada::oracle
