// SPDX-License-Identifier: Apache-2.0
// The unwind rows of one image: which rule holds from which address on. What compile_rows() makes of the CFI, and what
// TableLayout writes in the kernel's form.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "abi/unwind_table.h"
#include "base/address.h"
#include "unwind/rows/rule_state.h"

namespace cicada::unwind {

// From base + `begin` on (to the next row) rules[rule] holds. Sorted by begin; neighbours differ. Eight bytes, because writing
// them is a fifth of the compile time of libLLVM.
struct Row {
  uint32_t begin;
  uint32_t rule;
};

// Why an image's rows are what they are; printed by `cicada debug rows --stats`. Bytes are of code that FDEs cover.
struct RowStats {
  uint64_t fdes = 0, cies = 0;
  uint64_t cfi_rows = 0;  // row boundaries libdw would report
  uint64_t covered_bytes = 0, malformed_fdes = 0;
  uint64_t signal_trampolines = 0;  // found by their code bytes
  // With RowDetail::kCounted only.
  uint64_t unsupported_bytes = 0;  // rules that do not fit unwind_rule
  uint64_t simple_rule_bytes = 0;  // rules that need rsp, rbp and the PLT form only
  struct Class {
    uint64_t rows = 0, bytes = 0;
  };
  std::array<Class, static_cast<size_t>(Misfit::kCount)> unsupported{};  // by Misfit
};

struct RowTable {
  LinkAddr base;  // a multiple of 64 KiB
  std::vector<Row> rows;
  std::vector<unwind_rule> rules;  // rules[0] is CFA_NONE
  RowStats stats;

  bool empty() const { return rows.empty(); }
  // The rule at `address`; CFA_NONE outside. A binary search: for the rescue path and tests, the walk has unwind_lookup().
  const unwind_rule& find(LinkAddr address) const;
};

}  // namespace cicada::unwind
