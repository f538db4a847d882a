// SPDX-License-Identifier: Apache-2.0
// The complete rules of one row, nothing left out: for the frames whose rule does not fit the kernel's tables. Slow and rare: one
// address at a time, the program run from its beginning.
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "dwarf/call_frame_section.h"
#include "dwarf/expression.h"
#include "elf/elf_file.h"

namespace cicada::dwarf {

struct RegisterRule {
  enum Kind : uint8_t { kUnspecified, kUndefined, kSameValue, kAtCfa, kCfaValue, kInRegister, kAtExpression, kExpressionValue };
  Kind kind = kUnspecified;
  int64_t number = 0;  // offset from the CFA, or the other register
  Bytes expression;
};

struct FrameRules {
  bool has_cfa = false, cfa_by_expression = false;
  uint64_t cfa_register = 0;
  int64_t cfa_offset = 0;
  Bytes cfa_expression;
  std::array<RegisterRule, kRegisterCount> registers;
  bool signal_frame = false;
};

enum class FrameStep : uint8_t { kDone, kOutermost, kMalformed, kUnknownRegister, kUnreadable };

// The caller's registers: [ARCH_RETURN] is the return address, [ARCH_SP] the CFA unless a rule says otherwise. Registers without a rule keep
// their value if the ABI makes callees keep it, else they are forgotten.
FrameStep step(const FrameRules& rules, const Memory& memory, Registers& registers);

// All FDEs of an image, to be asked by address. Borrows from `elf`.
class FrameIndex {
 public:
  explicit FrameIndex(const elf::ElfFile& elf);
  std::optional<FrameRules> find(LinkAddr address) const;

 private:
  struct Part {
    CallFrameSection section;
    std::vector<Fde> fdes;  // by begin
    std::vector<Cie> cies;
  };
  std::vector<Part> parts_;
};

}  // namespace cicada::dwarf
