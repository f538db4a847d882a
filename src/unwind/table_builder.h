// SPDX-License-Identifier: Apache-2.0
// ELF image -> unwind table in the layout of abi/unwind_table.h, written straight into the memory the kernel walk reads.
//
//   RowTable rows = compile_rows(elf);                        // CFI -> merged rows and a rule dictionary
//   TableLayout layout = TableLayout::plan(rows, start);      // how large, with which page size, if placed at `start`
//   layout.write(rows, image_id, slab_bytes, &place);         // no copy in between
//
// Threads: any, one table each; nothing shared.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "abi/unwind_table.h"
#include "base/address.h"
#include "elf/elf_file.h"

namespace cicada::unwind {

// From `begin` on (to the next row) rules[rule] holds. Sorted by begin; runs of equal rules are merged.
struct Row {
  LinkAddr begin;
  uint32_t rule;
};

// Why an image's rows are what they are; printed by `cicada debug rows --stats`.
struct RowStats {
  uint64_t fdes = 0, cies = 0, cfi_rows = 0;  // cfi_rows: boundaries libdw would report
  uint64_t covered_bytes = 0;                 // by FDEs
  uint64_t unsupported_bytes = 0, simple_rule_bytes = 0;  // simple: rsp/rbp/PLT-only rules would do
  uint64_t malformed_fdes = 0;
};

struct RowTable {
  std::vector<Row> rows;
  std::vector<unwind_rule> rules;  // rules[0] is CFA_NONE
  RowStats stats;
};

// Never fails for bad CFI: a malformed FDE costs its own rows, is counted, and reported once per image.
// An image without any CFI gives an empty table.
RowTable compile_rows(const elf::ElfFile& elf);

class TableLayout {
 public:
  // `start_bytes`: where in its slab the table begins; a multiple of 64. Size depends on it (nothing straddles a chunk).
  static TableLayout plan(const RowTable& table, uint64_t start_bytes);
  uint64_t size_bytes() const { return size_bytes_; }
  // An upper bound of size_bytes() for every start: what to ask the allocator for.
  static uint64_t max_size_bytes(const RowTable& table);
  // `slab` is the whole slab; writes [start, start + size). `place` gets everything but .slab.
  void write(const RowTable& table, uint32_t image, std::span<uint8_t> slab, unwind_place& place) const;

 private:
  uint64_t start_bytes_ = 0, size_bytes_ = 0;
  uint8_t page_shift_ = UNWIND_MAX_PAGE_SHIFT;
};

}  // namespace cicada::unwind
