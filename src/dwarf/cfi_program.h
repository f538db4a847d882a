// SPDX-License-Identifier: Apache-2.0
// Runs call-frame instructions against a state of the caller's choice: the packed rule that tables are made of
// (unwind/rule_state.h), or complete rules (dwarf/frame_rules.h). One decoder, so that both read every instruction alike.
//
// State provides:
//   void cfa(reg, offset)   void cfa_register(reg)   void cfa_offset(offset)   void cfa_expression(Bytes)
//   void saved_at(reg, offset_from_cfa)   void value_is(reg, offset_from_cfa)   void in_register(reg, other)
//   void expression(reg, Bytes)   void value_expression(reg, Bytes)
//   void undefined(reg)   void same_value(reg)   bool restore(reg)   bool remember()   bool restore_state()
//   bool row(begin, end)    what the state says now holds for [begin, end); false: seen enough
// bool: false means malformed (nothing remembered, no initial state, too deep), except for row().
// Offsets are in bytes, factors already applied. Source: DWARF 5 section 6.4.2; GNU extensions: GCC unwind-dw2.c.
#pragma once
#include <cstdint>
#include <optional>

#include "dwarf/call_frame_section.h"

namespace cicada::dwarf {

enum class ProgramResult : uint8_t { kDone, kStopped, kMalformed };

struct LongNumber {
  uint64_t value = 0, end = 0;
  bool good = false;
};
[[gnu::noinline]] inline LongNumber read_long_number(Bytes program, uint64_t at, bool is_signed) {
  ByteCursor cursor(program, at);
  LongNumber number;
  number.value = is_signed ? static_cast<uint64_t>(cursor.sleb128()) : cursor.uleb128();
  number.end = cursor.position();
  number.good = !cursor.failed();
  return number;
}

// `code` is empty for the initial instructions of a CIE, which may not advance.
template <typename State>
ProgramResult run_cfi_program(const CallFrameSection& section, const Cie& cie, uint64_t begin, uint64_t end,
                              Range<LinkAddr> code, State& state) {
  // The cursor's address must not escape, or it lives in memory (a fifth of the whole time): hence everything that touches it is
  // inlined, and numbers of more than one byte are read by another cursor in a function of their own.
  const Bytes program = section.bytes.subspan(begin, end - begin);
  ByteCursor cursor(program);
  const auto go_on_behind = [&](const LongNumber& number) __attribute__((always_inline)) {
    if (number.good) cursor = ByteCursor(program, number.end);
    else cursor.fail();
    return number.value;
  };
  const auto uleb = [&]() __attribute__((always_inline)) -> uint64_t {
    const uint8_t byte = cursor.u8();
    if (byte < 0x80) [[likely]] return byte;
    return go_on_behind(read_long_number(program, cursor.position() - 1, false));
  };
  const auto sleb = [&]() __attribute__((always_inline)) -> int64_t {
    return static_cast<int64_t>(go_on_behind(read_long_number(program, cursor.position(), true)));
  };
  const auto block = [&]() __attribute__((always_inline)) -> Bytes {
    const uint64_t size = uleb();
    if (size > cursor.remaining()) {
      cursor.fail();
      return {};
    }
    const uint64_t at = cursor.position();
    cursor = ByteCursor(program, at + size);
    return program.subspan(at, size);
  };
  // Products wrap around: a hostile factor gives a wrong offset, which is the file's own loss.
  const auto factored = [&](uint64_t n) { return static_cast<int64_t>(n * static_cast<uint64_t>(cie.data_factor)); };

  LinkAddr location = code.begin;
  // Nothing: go on.
  const auto advance = [&](uint64_t delta) __attribute__((always_inline)) -> std::optional<ProgramResult> {
    uint64_t distance = delta;
    if (cie.code_factor != 1 && __builtin_mul_overflow(delta, cie.code_factor, &distance)) distance = ~uint64_t{0};
    if (distance >= code.end - location) [[unlikely]] {
      if (distance == 0 && code.empty()) return std::nullopt;
      if (code.empty()) return ProgramResult::kMalformed;
      return state.row(location, code.end) ? ProgramResult::kDone : ProgramResult::kStopped;
    }
    if (distance == 0) [[unlikely]] return std::nullopt;
    const LinkAddr from = location;
    location = location + distance;
    if (!state.row(from, location)) [[unlikely]] return ProgramResult::kStopped;
    return std::nullopt;
  };
  while (!cursor.at_end()) {
    const uint8_t opcode = cursor.u8();
    const uint8_t low = opcode & 0x3f;
    uint64_t delta = 0;
    switch (opcode >> 6) {
      case 1:
        if (const auto result = advance(low)) return *result;
        continue;
      case 2: {  // DW_CFA_offset
        const uint64_t offset = uleb();
        state.saved_at(low, factored(offset));
        continue;
      }
      case 3:
        if (!state.restore(low)) return ProgramResult::kMalformed;
        continue;
      default:
        switch (opcode) {
          case 0x00: continue;  // nop: padding
          case 0x01: {          // DW_CFA_set_loc
            PointerBases bases = section.bases;
            bases.section = section.address + begin;
            bases.function = code.begin;
            ByteCursor rest(program, cursor.position());
            const auto to = read_pointer(rest, cie.pointer_encoding, bases);
            if (!to || *to < location.value) return ProgramResult::kMalformed;
            cursor = ByteCursor(program, rest.position());
            if (*to == location.value) continue;
            if (code.empty()) return ProgramResult::kMalformed;
            const LinkAddr row_end = LinkAddr(*to < code.end.value ? *to : code.end.value);
            if (!state.row(location, row_end)) return ProgramResult::kStopped;
            if (row_end == code.end) return ProgramResult::kDone;
            location = row_end;
            continue;
          }
          case 0x02: delta = cursor.u8(); break;
          case 0x03: delta = cursor.u16(); break;
          case 0x04: delta = cursor.u32(); break;
          case 0x05: {  // DW_CFA_offset_extended
            const uint64_t reg = uleb();
            state.saved_at(reg, factored(uleb()));
            continue;
          }
          case 0x06:
            if (!state.restore(uleb())) return ProgramResult::kMalformed;
            continue;
          case 0x07: state.undefined(uleb()); continue;
          case 0x08: state.same_value(uleb()); continue;
          case 0x09: {  // DW_CFA_register
            const uint64_t reg = uleb();
            state.in_register(reg, uleb());
            continue;
          }
          case 0x0a:
            if (!state.remember()) return ProgramResult::kMalformed;
            continue;
          case 0x0b:
            if (!state.restore_state()) return ProgramResult::kMalformed;
            continue;
          case 0x0c: {  // DW_CFA_def_cfa
            const uint64_t reg = uleb();
            state.cfa(reg, static_cast<int64_t>(uleb()));
            continue;
          }
          case 0x0d: state.cfa_register(uleb()); continue;
          case 0x0e: state.cfa_offset(static_cast<int64_t>(uleb())); continue;
          case 0x0f: state.cfa_expression(block()); continue;
          case 0x10: {  // DW_CFA_expression
            const uint64_t reg = uleb();
            state.expression(reg, block());
            continue;
          }
          case 0x11: {  // DW_CFA_offset_extended_sf
            const uint64_t reg = uleb();
            state.saved_at(reg, factored(static_cast<uint64_t>(sleb())));
            continue;
          }
          case 0x12: {  // DW_CFA_def_cfa_sf
            const uint64_t reg = uleb();
            state.cfa(reg, factored(static_cast<uint64_t>(sleb())));
            continue;
          }
          case 0x13: state.cfa_offset(factored(static_cast<uint64_t>(sleb()))); continue;
          case 0x14: {  // DW_CFA_val_offset
            const uint64_t reg = uleb();
            state.value_is(reg, factored(uleb()));
            continue;
          }
          case 0x15: {  // DW_CFA_val_offset_sf
            const uint64_t reg = uleb();
            state.value_is(reg, factored(static_cast<uint64_t>(sleb())));
            continue;
          }
          case 0x16: {  // DW_CFA_val_expression
            const uint64_t reg = uleb();
            state.value_expression(reg, block());
            continue;
          }
          case 0x1d: delta = cursor.u64(); break;  // DW_CFA_MIPS_advance_loc8
          case 0x2e: uleb(); continue;             // DW_CFA_GNU_args_size: of interest to exceptions only
          case 0x2f: {                             // DW_CFA_GNU_negative_offset_extended
            const uint64_t reg = uleb();
            state.saved_at(reg, static_cast<int64_t>(-static_cast<uint64_t>(factored(uleb()))));
            continue;
          }
          default: return ProgramResult::kMalformed;
        }
    }
    if (cursor.failed()) break;
    if (const auto result = advance(delta)) return *result;
  }
  if (cursor.failed()) return ProgramResult::kMalformed;
  if (!code.empty() && !state.row(location, code.end)) return ProgramResult::kStopped;
  return ProgramResult::kDone;
}

}  // namespace cicada::dwarf
