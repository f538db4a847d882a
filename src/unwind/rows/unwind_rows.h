// SPDX-License-Identifier: Apache-2.0
// The unwind rows of one image: which rule holds from which address on. rows/ has them in three forms:
//
//   RowTable      while they are made: cfi/ appends rows, heuristics/ overwrites some by RowEditor
//   UnwindRows    the result
//   TableLayout   what the kernel's walk reads (abi/unwind_table.h)
//
// UnwindRows is one run of bytes that holds no pointers, so that it can be made in one process and used in another:
//
//   Row × row_count | unwind_rule × rule_count | UnwindRows::Trailer
//
// Owns or borrows the bytes. Immutable; any thread.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "abi/unwind_table.h"
#include "base/address.h"
#include "base/byte_cursor.h"
#include "base/result.h"

namespace cicada::unwind {

struct RowTable;

// From base + `begin` on (to the next row) rules[rule] holds. Eight bytes, because writing them is a fifth of the compile time of libLLVM.
struct Row {
  uint32_t begin;
  uint32_t rule;
};

// What the rows were made of; printed by `cicada debug rows --stats`.
struct RowStats {
  uint64_t fdes = 0, cies = 0;
  uint64_t cfi_rows = 0;  // row boundaries libdw would report
  uint64_t covered_bytes = 0;  // of code that has an FDE
  uint64_t malformed_fdes = 0;
  uint64_t signal_trampolines = 0;  // found by their code bytes
};

// Of a kind that the walk knows.
bool is_valid(const unwind_rule& rule);

class UnwindRows {
 public:
  UnwindRows() = default;  // of an image of which nothing is known
  explicit UnwindRows(RowTable&& table);
  // Believes nothing that `bytes` say: afterwards rows ascend, their rules exist and no address wraps around. Borrows; aligned to 8.
  // Fails: kCorrupt.
  static Result<UnwindRows> check(Bytes bytes);
  // The same, and owns them.
  static Result<UnwindRows> adopt(std::vector<Row> bytes);
  UnwindRows(UnwindRows&&) = default;
  UnwindRows& operator=(UnwindRows&&) = default;

  Bytes bytes() const { return bytes_; }
  bool empty() const { return rows_.empty(); }
  LinkAddr base() const { return LinkAddr(trailer_.base); }  // a multiple of 64 KiB
  std::span<const Row> rows() const { return rows_; }        // ascending
  std::span<const unwind_rule> rules() const { return rules_; }  // at most RuleSet::kMaxRules; the first is CFA_NONE
  const RowStats& stats() const { return trailer_.stats; }
  // The rule at `address`; CFA_NONE outside. A binary search: for deferred walks and tests, the kernel's walk has unwind_lookup().
  const unwind_rule& find(LinkAddr address) const;

 private:
  struct Trailer {
    uint64_t base = 0;
    uint32_t row_count = 0, rule_count = 0;
    RowStats stats;
  };
  bool view(Bytes bytes);

  std::vector<Row> own_;  // the bytes; empty if they are another's
  Bytes bytes_;
  std::span<const Row> rows_;
  std::span<const unwind_rule> rules_;
  Trailer trailer_;
};

}  // namespace cicada::unwind
