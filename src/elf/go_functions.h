// SPDX-License-Identifier: Apache-2.0
// The functions of a Go program, from .gopclntab, which every Go program carries, stripped or not: where each begins, its name, how far the stack pointer is
// from the frame's top at each instruction. Go 1.18 and later.
// Source: runtime/symtab.go (moduledata, _func, funcFlag), cmd/internal/obj/pcln.go.
//
//   header: magic, 0, 0, 1, 8 | functions, files, text start, names, …, …, pc tables, functions' table      (words, offsets from the header)
//   functions' table: { entry - text start, offset of _func } × n, end                                        (32 bits each)
//   _func: entry, name, …, pc table of the stack pointer (word 4), …, id, flags
//
// Any bytes may come in. Borrows them. Immutable; any thread.
#pragma once
#include <optional>
#include <string_view>

#include "base/address.h"
#include "base/byte_cursor.h"
#include "elf/elf_file.h"

namespace cicada::elf {

struct GoFunction {
  enum Flags : uint8_t { kTopFrame = 1, kWritesStackPointer = 2 };
  uint32_t begin = 0, end = 0;  // from the text's start
  uint32_t name = 0;            // for GoFunctions::name
  uint32_t steps = 0;           // for GoFunctions::steps; 0: none
  uint8_t flags = 0;
};

class GoFunctions {
 public:
  // Nothing: not a Go program, or its table is of a version that is not known. Looks through the relocated data of a program that has no section for it.
  static std::optional<GoFunctions> find(const ElfFile& elf);
  static std::optional<GoFunctions> read(Bytes table);

  LinkAddr text() const { return text_; }
  size_t bytes() const { return bytes_.size(); }  // of the table
  // Calls found(function) for each, in order of address, until it says false.
  template <typename Found>
  void for_each(Found&& found) const {
    ByteCursor functions(bytes_, functions_);
    uint32_t entry = functions.u32();
    for (uint64_t i = 0; i < count_; ++i) {
      const uint32_t offset = functions.u32(), next = functions.u32();
      if (functions.failed() || next < entry) return;
      const auto function = entry == next ? std::nullopt : read_function(entry, next, functions_ + offset);
      if (function && !found(*function)) return;
      entry = next;
    }
  }
  // Empty: there is none, or it is longer than `most_bytes`.
  std::string_view name(const GoFunction& function, uint64_t most_bytes = kMaxTextAtBytes) const { return text_at(bytes_, names_ + function.name, most_bytes); }
  // { zigzag difference of the depth, difference of the pc } × n, 0 (varints; the depth begins at -1).
  ByteCursor steps(const GoFunction& function) const { return ByteCursor(bytes_, pc_tables_ + function.steps); }

 private:
  explicit GoFunctions(Bytes bytes) : bytes_(bytes) {}
  static std::optional<GoFunctions> search(const ElfFile& elf);
  bool begins_functions_in(const ElfFile& elf) const;
  bool read_header();
  std::optional<GoFunction> read_function(uint32_t begin, uint32_t end, uint64_t offset) const;

  Bytes bytes_;
  uint32_t magic_ = 0;
  uint64_t count_ = 0, names_ = 0, pc_tables_ = 0, functions_ = 0;
  LinkAddr text_;
};

}  // namespace cicada::elf
