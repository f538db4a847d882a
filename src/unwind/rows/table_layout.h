// SPDX-License-Identifier: Apache-2.0
// Rows -> unwind table in the layout of abi/unwind_table.h, written straight into the memory the kernel walk reads.
//
//   TableLayout layout = TableLayout::plan(rows);             // how large, with which page size
//   layout.place(start);                                      // where in its slab
//   layout.write(rows, image_id, slab_bytes, &place);         // no copy in between
//
// Threads: any, one table each; nothing shared.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "unwind/rows/unwind_rows.h"

namespace cicada::unwind {

class TableLayout {
 public:
  static TableLayout plan(const UnwindRows& table, uint64_t start_bytes = 0);
  // `start_bytes`: where in its slab the table begins; a multiple of 64. Size depends on it (nothing straddles a chunk).
  void place(uint64_t start_bytes);
  uint64_t size_bytes() const { return size_bytes_; }
  // An upper bound of size_bytes() for every start: what to ask the allocator for.
  uint64_t max_size_bytes() const;
  // `slab` is the whole slab; writes [start, start + size). `place` gets everything but .slab.
  void write(const UnwindRows& table, uint32_t image, std::span<uint8_t> slab, unwind_place& place) const;

  // Where the bytes go, for `debug rows --stats` and bench/table_size.
  struct Parts {
    uint64_t index = 0, rules = 0, headers = 0, dictionaries = 0, rows = 0;
    uint64_t page_rows = 0;  // rows that only repeat the rule a page begins with (3 bytes each, part of `rows`)
    uint64_t chunk_gaps = 0;  // left unused so that no block straddles a chunk
  };
  const Parts& parts() const { return parts_; }
  unsigned page_shift() const { return page_shift_; }

 private:
  struct Page {
    uint32_t number = 0, count = 1;       // first entry of the page index, and how many there are
    uint32_t first_row = 0, row_count = 0;  // of the table; the first may begin in an earlier page
    uint32_t dictionary_count = 0;
    uint32_t first_id = 0, first_rule = 0;  // of the segment's
    uint64_t position = 0;                // of the block, bytes in the slab
    bool made_up = false;                 // its first row repeats what held before
  };
  // The pages of some rows; large tables have several, cut and written side by side.
  struct Segment {
    size_t first_row = 0, last_row = 0;   // [first, last) of the table; they begin and end with a page
    std::vector<Page> pages;
    std::vector<uint8_t> ids;             // of the rows, page by page: places in their page's dictionary
    std::vector<uint16_t> dictionaries;  // page by page
    bool cut(const UnwindRows& table, unsigned page_shift);
  };
  bool cut(const UnwindRows& table, unsigned page_shift);
  void write_pages(const UnwindRows& table, const Segment& segment, uint32_t image, std::span<uint8_t> slab) const;

  uint64_t start_bytes_ = 0, size_bytes_ = 0;
  uint64_t index_bytes_ = 0, rules_at_ = 0;
  uint64_t first_page_ = 0;
  uint32_t page_count_ = 0, rule_count_ = 0;
  uint8_t page_shift_ = UNWIND_MAX_PAGE_SHIFT;
  std::vector<Segment> segments_;  // ascending; none without any rows
  Parts parts_;
};

}  // namespace cicada::unwind
