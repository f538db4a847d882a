// SPDX-License-Identifier: Apache-2.0
// Rows -> pages -> blocks. A page of code becomes one block with its own dictionary of rules, so that a row's rule is one byte
// although libLLVM has 986 of them. Planning cuts the rows into pages, finds the dictionaries and places the blocks; writing fills them in,
// each byte of the table once and in ascending order, as it goes into memory the kernel has mapped.
#include "unwind/rows/table_layout.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/parallel.h"

namespace cicada::unwind {
namespace {

constexpr uint64_t kMaxDictionary = 256;
constexpr size_t kRowsPerSegment = 100'000;  // 0.5 ms of work; a thread costs 0.1

uint64_t block_bytes(uint64_t rows, uint64_t dictionary) {
  return (sizeof(unwind_block) + 3 * rows + 2 * dictionary + 3) & ~uint64_t{3};
}

// Which rules a page has used so far, and their place in its dictionary.
class PageDictionary {
 public:
  explicit PageDictionary(size_t rules) : entries_(rules, 0), used_(rules) {}
  void next_page() {
    ++page_;
    count_ = 0;
  }
  uint32_t place_of(uint32_t rule) {
    const uint64_t entry = entries_[rule];
    if (entry >> 16 == page_) [[likely]] return entry & 0xffff;
    entries_[rule] = page_ << 16 | count_;
    used_[count_] = static_cast<uint16_t>(rule);
    return count_++;
  }
  // Of rows one by one: the loop of a table's life, 700,000 rows in libLLVM. With
  // copies of the members, since a byte that is written might be a part of them.
  void write_places(const Row* row, const Row* end, uint8_t* to) {
    uint64_t* const entries = entries_.data();
    const uint64_t page = page_;
    for (; row != end; ++row) {
      const uint64_t entry = entries[row->rule];
      *to++ = static_cast<uint8_t>(entry >> 16 == page ? entry & 0xffff : place_of(row->rule));
    }
  }
  uint32_t count() const { return count_; }
  const uint16_t* used() const { return used_.data(); }

 private:
  uint64_t page_ = 0;
  uint32_t count_ = 0;
  std::vector<uint64_t> entries_;  // by rule: page << 16 | place in it
  std::vector<uint16_t> used_;
};

}  // namespace

// False as soon as one page does not fit: too many rows for a chunk, or too many rules for one byte.
bool TableLayout::cut(const UnwindRows& table, unsigned page_shift) {
  const std::span<const Row> rows = table.rows();
  const size_t count = count_parts(rows.size(), kRowsPerSegment);
  segments_.assign(count, {});
  for (size_t i = 0; i < count; ++i) {
    const auto page_of_row = (uint64_t{rows[rows.size() * i / count].begin} >> page_shift) << page_shift;
    const auto first = std::lower_bound(rows.begin(), rows.end(), page_of_row, [](const Row& row, uint64_t begin) { return row.begin < begin; });
    segments_[i].first_row = i == 0 ? 0 : static_cast<size_t>(first - rows.begin());
    if (i > 0) segments_[i - 1].last_row = segments_[i].first_row;
  }
  segments_.back().last_row = rows.size();
  std::vector<uint8_t> fits(count);
  for_each_parallel(count, 0, [&](size_t i) { fits[i] = segments_[i].cut(table, page_shift); });
  return std::find(fits.begin(), fits.end(), 0) == fits.end();
}

bool TableLayout::Segment::cut(const UnwindRows& table, unsigned page_shift) {
  PageDictionary dictionary(table.rules().size());
  const std::span<const Row> rows = table.rows();
  ids.resize(last_row - first_row);
  uint32_t id_count = 0;
  const uint32_t first_page = rows.front().begin >> page_shift;
  size_t i = first_row;
  while (i < last_row) {
    const uint32_t number = rows[i].begin >> page_shift;
    Page page;
    page.number = number - first_page;
    // What held at the end of the page before goes on, or the page begins with "no rule".
    const bool aligned = rows[i].begin == number << page_shift;
    page.first_row = static_cast<uint32_t>(aligned || i == 0 ? i : i - 1);
    page.made_up = !aligned;
    page.first_id = id_count;
    page.first_rule = static_cast<uint32_t>(dictionaries.size());
    dictionary.next_page();
    const uint64_t page_end = (uint64_t{number} + 1) << page_shift;
    const size_t begin = i;
    i = static_cast<size_t>(std::lower_bound(rows.begin() + static_cast<ptrdiff_t>(i), rows.begin() + static_cast<ptrdiff_t>(last_row), page_end,
                                             [](const Row& row, uint64_t end) { return row.begin < end; }) -
                            rows.begin());
    page.row_count = static_cast<uint32_t>(i - begin) + (aligned ? 0 : 1);
    if (ids.size() < id_count + page.row_count) ids.resize(id_count + page.row_count + rows.size() / 64);
    uint8_t* id = ids.data() + id_count;
    if (!aligned) *id++ = static_cast<uint8_t>(dictionary.place_of(begin == 0 ? 0 : rows[begin - 1].rule));
    dictionary.write_places(rows.data() + begin, rows.data() + i, id);
    page.dictionary_count = dictionary.count();
    if (page.dictionary_count > kMaxDictionary || block_bytes(page.row_count, page.dictionary_count) > UNWIND_CHUNK_BYTES) return false;
    // Nothing holds in a page that only ends the table.
    if (page.row_count != 1 || rows[aligned ? begin : page.first_row].rule != 0) {
      pages.push_back(page);
      id_count += page.row_count;
      dictionaries.insert(dictionaries.end(), dictionary.used(), dictionary.used() + dictionary.count());
    }
    if (i == rows.size() || rows[i - 1].rule == 0) continue;
    // Pages without a row of their own, up to the next row's, share a block: one row, one rule.
    const uint32_t next = rows[i].begin >> page_shift;
    if (next == number + 1) continue;
    pages.push_back({number + 1 - first_page, next - number - 1, static_cast<uint32_t>(i - 1), 1, 1, id_count,
                     static_cast<uint32_t>(dictionaries.size()), 0, true});
    if (ids.size() == id_count) ids.resize(id_count + id_count / 2 + 64);
    ids[id_count++] = 0;
    dictionaries.push_back(static_cast<uint16_t>(rows[i - 1].rule));
  }
  return true;
}

TableLayout TableLayout::plan(const UnwindRows& table, uint64_t start_bytes) {
  TableLayout layout;
  layout.rule_count_ = static_cast<uint32_t>(table.rules().size());
  if (!table.empty()) {
    bool fits = false;
    unsigned shift = UNWIND_MAX_PAGE_SHIFT;
    for (; shift >= UNWIND_MIN_PAGE_SHIFT; --shift) {
      fits = layout.cut(table, shift);
      if (fits) break;
    }
    CHECK(fits);
    layout.page_shift_ = static_cast<uint8_t>(shift);
    layout.first_page_ = (table.base() + table.rows().front().begin).value >> shift;
  }
  layout.place(start_bytes);
  return layout;
}

void TableLayout::place(uint64_t start_bytes) {
  CHECK(start_bytes % 64 == 0);
  start_bytes_ = start_bytes;
  const auto last = std::find_if(segments_.rbegin(), segments_.rend(), [](const Segment& segment) { return !segment.pages.empty(); });
  if (last == segments_.rend()) return;
  page_count_ = last->pages.back().number + last->pages.back().count;
  index_bytes_ = uint64_t{4} * page_count_;
  rules_at_ = (start_bytes + index_bytes_ + 15) & ~uint64_t{15};
  uint64_t at = rules_at_ + sizeof(unwind_rule) * rule_count_;
  parts_ = Parts{};
  parts_.index = index_bytes_;
  parts_.rules = at - rules_at_;
  for (Segment& segment : segments_) {
    for (Page& page : segment.pages) {
      const uint64_t size = block_bytes(page.row_count, page.dictionary_count);
      if ((at & (UNWIND_CHUNK_BYTES - 1)) + size > UNWIND_CHUNK_BYTES) {
        const uint64_t next_chunk = (at + UNWIND_CHUNK_BYTES - 1) & ~uint64_t{UNWIND_CHUNK_BYTES - 1};
        parts_.chunk_gaps += next_chunk - at;
        at = next_chunk;
      }
      page.position = at;
      at += size;
      parts_.headers += sizeof(unwind_block);
      parts_.dictionaries += 2 * page.dictionary_count;
      parts_.rows += 3 * page.row_count;
      if (page.made_up) parts_.page_rows += 3;
    }
  }
  size_bytes_ = at - start_bytes;
}

uint64_t TableLayout::max_size_bytes() const {
  if (size_bytes_ == 0) return 0;
  uint64_t largest = 0;
  for (const Segment& segment : segments_) {
    for (const Page& page : segment.pages) largest = std::max(largest, block_bytes(page.row_count, page.dictionary_count));
  }
  // Between two chunk ends there is at least a chunk less the largest block of table, and at most one gap of less than that block.
  const uint64_t used = size_bytes_ - parts_.chunk_gaps + 64;
  const uint64_t chunk_ends = used / (UNWIND_CHUNK_BYTES - largest + 4) + 1;
  return used + chunk_ends * (largest - 4);
}

void TableLayout::write(const UnwindRows& table, uint32_t image, std::span<uint8_t> slab, unwind_place& place) const {
  CHECK(slab.size() >= start_bytes_ + size_bytes_);
  place = unwind_place{};
  place.image = image;
  place.page_shift = page_shift_;
  place.flags = UNWIND_PLACE_LOADED;
  if (size_bytes_ == 0) {
    place.flags |= UNWIND_PLACE_NO_CFI;
    return;
  }
  place.index = static_cast<uint32_t>(start_bytes_ / 4);
  place.rules = static_cast<uint32_t>(rules_at_ / sizeof(unwind_rule));
  place.first_page = first_page_;
  place.page_count = page_count_;
  place.rule_count = rule_count_;

  std::memset(slab.data() + start_bytes_, 0, rules_at_ - start_bytes_);
  std::memcpy(slab.data() + rules_at_, table.rules().data(), table.rules().size_bytes());
  for_each_parallel(segments_.size(), 0, [&](size_t i) { write_pages(table, segments_[i], image, slab); });
}

void TableLayout::write_pages(const UnwindRows& table, const Segment& segment, uint32_t image, std::span<uint8_t> slab) const {
  const unsigned sub_shift = page_shift_ - 4u;
  for (const Page& page : segment.pages) {
    const auto index_entry = static_cast<uint32_t>(page.position / 4);
    for (uint64_t i = page.number; i < uint64_t{page.number} + page.count; ++i) {
      std::memcpy(slab.data() + start_bytes_ + 4 * i, &index_entry, sizeof index_entry);
    }
    unwind_block block{};
    block.image = image;
    block.row_count = static_cast<__u16>(page.row_count);
    block.dictionary_count = static_cast<__u16>(page.dictionary_count);
    uint8_t* const offsets = slab.data() + page.position + sizeof block;
    uint8_t* const dictionary = offsets + 2 * page.row_count;
    uint8_t* const ids = dictionary + 2 * page.dictionary_count;

    // Rows of the table from `row` on; the first of the block is at offset 0 whatever the table says.
    const uint64_t page_begin = ((first_page_ + page.number) << page_shift_) - table.base().value;
    const Row* row = table.rows().data() + page.first_row;
    const uint32_t made_up = row->begin > page_begin ? 1 : 0;  // only the very first page's first row is nowhere in the table
    // Row i of the block at row[i - made_up], for i >= 1.
    const uint16_t zero = 0;
    std::memcpy(offsets, &zero, sizeof zero);
    uint32_t i = 1;
    for (unsigned sub = 1; sub <= UNWIND_SUB_COUNT; ++sub) {
      for (const uint64_t end = page_begin + (uint64_t{sub} << sub_shift); i < page.row_count && row[i - made_up].begin < end; ++i) {
        const auto offset = static_cast<uint16_t>(row[i - made_up].begin - page_begin);
        std::memcpy(offsets + 2 * i, &offset, sizeof offset);
      }
      if (sub < UNWIND_SUB_COUNT) block.sub[sub] = static_cast<__u16>(i);
    }
    std::memcpy(slab.data() + page.position, &block, sizeof block);
    std::memcpy(dictionary, segment.dictionaries.data() + page.first_rule, 2 * page.dictionary_count);
    std::memcpy(ids, segment.ids.data() + page.first_id, page.row_count);
  }
}

}  // namespace cicada::unwind
