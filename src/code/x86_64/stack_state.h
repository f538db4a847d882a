// SPDX-License-Identifier: Apache-2.0
// What is known of the stack at one instruction of code without CFI, and what an instruction makes of it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

#include "abi/unwind_table.h"
#include "code/x86_64/instruction.h"

namespace cicada::code {

// In unwind_rule's order; nothing: functions may write to it.
std::optional<size_t> saved_index(uint8_t reg);
__u8 dwarf_number(uint8_t reg);

// All in bytes below the CFA, but `saved`.
struct StackState {
  static constexpr int32_t kUnknown = INT32_MIN;
  int32_t stack = 8;         // where rsp points
  int32_t frame = kUnknown;  // where rbp points
  int32_t copy = kUnknown;   // where the register points that rsp was copied to last, or GCC's end of a loop of stack probes (r11)
  // Once rsp has been rounded down it is not known how far. What it was may be kept in memory, so far above it:
  int32_t kept_at = kUnknown;
  int32_t kept = kUnknown;  // where the address that is kept points
  uint8_t copy_register = kNoRegister;
  uint8_t written = 0;                       // bits as of saved[]: the register has been written to since it was saved
  std::array<uint8_t, SAVED_COUNT> saved{};  // words below the CFA where a register's value in the caller is; 0: still in the register

  bool operator==(const StackState& other) const;
  // As on entry of a function, so that any function can be jumped to: what has been written to is restored.
  bool is_entry() const { return stack == 8 && written == 0; }
  bool has_callers_frame() const { return frame == kUnknown && saved[SAVED_RBP] == 0; }  // in rbp
  // All that matters while the stack pointer can be followed.
  bool same_stack(const StackState& other) const { return stack == other.stack && same_saved(other); }
  // Without what does not matter for rules: a register that was not written to needs no slot that has left the stack; whether others were does not matter.
  StackState settled() const;
  bool has_rule() const { return stack != kUnknown || frame != kUnknown || copy != kUnknown || is_kept(); }
  unwind_rule to_rule() const;

  // False: compilers write no such thing. Not for jumps, calls (which change nothing here) and returns.
  bool apply(const Instruction& insn);
  // Of an instruction that two ways lead to. Nothing: they contradict each other.
  static std::optional<StackState> meet(const StackState& a, const StackState& b);
  // cmp %r11,%rsp: where they are equal the loop of stack probes is over.
  bool compares_probe(const Instruction& insn) const {
    return copy != kUnknown && insn.is(0, 0x39) && insn.mod == 3 && insn.rm == kRsp && insn.reg == copy_register;
  }
  // A call of a function that follows the conventions.
  void forget_scratch();
  // Any call: what is below the stack pointer is its callee's.
  void forget_red_zone();

 private:
  // Eight bytes as a number: == of fields takes longer, and of arrays it is a call of memcmp.
  uint64_t word_at(size_t offset) const;
  bool same_saved(const StackState& other) const;
  bool is_unwritten(size_t index) const { return saved[index] != 0 && (written >> index & 1) == 0; }
  bool has_unwritten() const { return !same_saved(StackState()) && written != (1U << SAVED_COUNT) - 1; }
  bool set_stack(int64_t depth);
  bool push(uint8_t reg);
  bool pop(uint8_t reg);
  bool leave();
  bool add(uint8_t reg, int64_t amount);
  bool save(uint8_t reg, int64_t depth);
  bool reuse(uint8_t reg);
  void restore(uint8_t reg, int64_t depth);
  bool is_kept() const { return kept_at != kUnknown; }
  void move_kept(int64_t amount);
  void keep(std::optional<int64_t> depth, int64_t at);
  void overwrite(int64_t at, int64_t bytes);
  void make_copy(uint8_t reg, int64_t depth);
  std::optional<int64_t> position(uint8_t reg) const;
  bool set(uint8_t reg, std::optional<int64_t> depth);
  void forget_written(const Instruction& insn);
  void note_written(uint8_t reg);
  void note_written(const Instruction& insn);
};

inline uint64_t StackState::word_at(size_t offset) const {
  uint64_t word;
  std::memcpy(&word, reinterpret_cast<const uint8_t*>(this) + offset, sizeof word);
  return word;
}

inline bool StackState::operator==(const StackState& other) const {
  static_assert(sizeof *this == 28 && std::has_unique_object_representations_v<StackState>);
  const auto difference = [&](size_t offset) { return word_at(offset) ^ other.word_at(offset); };
  return (difference(0) | difference(8) | difference(16) | difference(20)) == 0;
}

inline bool StackState::same_saved(const StackState& other) const {
  static_assert(offsetof(StackState, saved) == sizeof *this - sizeof saved);
  constexpr size_t kLast = sizeof *this - sizeof(uint64_t);
  return (word_at(kLast) ^ other.word_at(kLast)) >> 8 * (sizeof(uint64_t) - sizeof saved) == 0;
}

}  // namespace cicada::code
