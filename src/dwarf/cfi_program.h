// SPDX-License-Identifier: Apache-2.0
// Runs call-frame instructions against a state of the caller's choice: the packed rule that tables are made of
// (unwind/rows/rule_state.h), or complete rules (dwarf/frame_rules.h). One decoder, so that both read every instruction alike.
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

// The program's bytes one by one. A ByteCursor would do, but the compiler keeps one in memory as soon as any of its functions is not
// inlined, and that was a third of the time of a whole table. So: single bytes here, bounds checked here, everything longer
// by a ByteCursor in a function that gets and returns values.
class ProgramBytes {
 public:
  explicit ProgramBytes(Bytes program) : at_(program.data()), end_(program.data() + program.size()) {}
  bool at_end() const { return at_ == end_; }
  bool failed() const { return failed_; }
  void fail() {
    failed_ = true;
    at_ = end_;
  }
  Bytes rest() const { return {at_, end_}; }
  [[gnu::always_inline]] uint8_t u8() {
    if (at_ == end_) [[unlikely]] {
      fail();
      return 0;
    }
    return *at_++;
  }
  [[gnu::always_inline]] uint64_t uleb128() {
    if (at_ != end_ && *at_ < 0x80) [[likely]] return *at_++;
    return take(read_number(rest(), 0));
  }
  [[gnu::always_inline]] int64_t sleb128() { return static_cast<int64_t>(take(read_number(rest(), 1))); }
  // Fixed width, 2, 4 or 8 bytes.
  [[gnu::always_inline]] uint64_t fixed(unsigned size) { return take(read_number(rest(), size)); }
  [[gnu::always_inline]] Bytes block() {
    const uint64_t size = uleb128();
    if (size > static_cast<uint64_t>(end_ - at_)) {
      fail();
      return {};
    }
    at_ += size;
    return {at_ - size, size};
  }
  void skip(uint64_t size) {
    if (size > static_cast<uint64_t>(end_ - at_)) return fail();
    at_ += size;
  }

 private:
  struct Number {
    uint64_t value, size;  // 0: malformed
  };
  // `kind` 0 is unsigned LEB128, 1 signed, else a fixed size.
  [[gnu::noinline]] static Number read_number(Bytes bytes, unsigned kind) {
    ByteCursor cursor(bytes);
    Number number{};
    switch (kind) {
      case 0: number.value = cursor.uleb128(); break;
      case 1: number.value = static_cast<uint64_t>(cursor.sleb128()); break;
      case 2: number.value = cursor.u16(); break;
      case 4: number.value = cursor.u32(); break;
      default: number.value = cursor.u64();
    }
    number.size = cursor.failed() ? 0 : cursor.position();
    return number;
  }
  [[gnu::always_inline]] uint64_t take(Number number) {
    if (number.size == 0) {
      fail();
      return 0;
    }
    at_ += number.size;
    return number.value;
  }
  const uint8_t* at_;
  const uint8_t* end_;
  bool failed_ = false;
};

// `code` is empty for the initial instructions of a CIE, which may not advance.
template <typename State>
ProgramResult run_cfi_program(const CallFrameSection& section, const Cie& cie, uint64_t begin, uint64_t end,
                              Range<LinkAddr> code, State& state) {
  const Bytes program = section.bytes.subspan(begin, end - begin);
  ProgramBytes cursor(program);
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
        const uint64_t offset = cursor.uleb128();
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
            bases.section = section.address + (end - cursor.rest().size());
            bases.function = code.begin;
            ByteCursor pointer(cursor.rest());
            const auto to = read_pointer(pointer, cie.pointer_encoding, bases);
            if (!to || *to < location.value) return ProgramResult::kMalformed;
            cursor.skip(pointer.position());
            if (*to == location.value) continue;
            if (code.empty()) return ProgramResult::kMalformed;
            const LinkAddr row_end = LinkAddr(*to < code.end.value ? *to : code.end.value);
            if (!state.row(location, row_end)) return ProgramResult::kStopped;
            if (row_end == code.end) return ProgramResult::kDone;
            location = row_end;
            continue;
          }
          case 0x02: delta = cursor.u8(); break;
          case 0x03: delta = cursor.fixed(2); break;
          case 0x04: delta = cursor.fixed(4); break;
          case 0x05: {  // DW_CFA_offset_extended
            const uint64_t reg = cursor.uleb128();
            state.saved_at(reg, factored(cursor.uleb128()));
            continue;
          }
          case 0x06:
            if (!state.restore(cursor.uleb128())) return ProgramResult::kMalformed;
            continue;
          case 0x07: state.undefined(cursor.uleb128()); continue;
          case 0x08: state.same_value(cursor.uleb128()); continue;
          case 0x09: {  // DW_CFA_register
            const uint64_t reg = cursor.uleb128();
            state.in_register(reg, cursor.uleb128());
            continue;
          }
          case 0x0a:
            if (!state.remember()) return ProgramResult::kMalformed;
            continue;
          case 0x0b:
            if (!state.restore_state()) return ProgramResult::kMalformed;
            continue;
          case 0x0c: {  // DW_CFA_def_cfa
            const uint64_t reg = cursor.uleb128();
            state.cfa(reg, static_cast<int64_t>(cursor.uleb128()));
            continue;
          }
          case 0x0d: state.cfa_register(cursor.uleb128()); continue;
          case 0x0e: state.cfa_offset(static_cast<int64_t>(cursor.uleb128())); continue;
          case 0x0f: state.cfa_expression(cursor.block()); continue;
          case 0x10: {  // DW_CFA_expression
            const uint64_t reg = cursor.uleb128();
            state.expression(reg, cursor.block());
            continue;
          }
          case 0x11: {  // DW_CFA_offset_extended_sf
            const uint64_t reg = cursor.uleb128();
            state.saved_at(reg, factored(static_cast<uint64_t>(cursor.sleb128())));
            continue;
          }
          case 0x12: {  // DW_CFA_def_cfa_sf
            const uint64_t reg = cursor.uleb128();
            state.cfa(reg, factored(static_cast<uint64_t>(cursor.sleb128())));
            continue;
          }
          case 0x13: state.cfa_offset(factored(static_cast<uint64_t>(cursor.sleb128()))); continue;
          case 0x14: {  // DW_CFA_val_offset
            const uint64_t reg = cursor.uleb128();
            state.value_is(reg, factored(cursor.uleb128()));
            continue;
          }
          case 0x15: {  // DW_CFA_val_offset_sf
            const uint64_t reg = cursor.uleb128();
            state.value_is(reg, factored(static_cast<uint64_t>(cursor.sleb128())));
            continue;
          }
          case 0x16: {  // DW_CFA_val_expression
            const uint64_t reg = cursor.uleb128();
            state.value_expression(reg, cursor.block());
            continue;
          }
          case 0x1d: delta = cursor.fixed(8); break;  // DW_CFA_MIPS_advance_loc8
          case 0x2e: cursor.uleb128(); continue;             // DW_CFA_GNU_args_size: of interest to exceptions only
          case 0x2f: {                             // DW_CFA_GNU_negative_offset_extended
            const uint64_t reg = cursor.uleb128();
            state.saved_at(reg, static_cast<int64_t>(-static_cast<uint64_t>(factored(cursor.uleb128()))));
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
