// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "base/byte_cursor.h"
#include "unwind/row_compiler.h"
#include "unwind/rows/code_rule.h"
#include "unwind/rows/row_table.h"
#include "unwind/rows/table_layout.h"
#include "unwind/rows/table_lookup_for_test.h"

namespace cicada::unwind {
namespace {

struct Written {
  std::vector<uint8_t> slab;
  unwind_place place{};
  TableLayout layout;
};

Written write(const UnwindRows& table, uint64_t start) {
  Written w;
  w.layout = TableLayout::plan(table, start);
  w.slab.assign(((start + w.layout.size_bytes()) | (UNWIND_CHUNK_BYTES - 1)) + 1, 0xcc);
  w.layout.write(table, 5, w.slab, w.place);
  return w;
}

unwind_rule look_up(Written& w, uint64_t address) {
  const unwind_rule* rule = nullptr;
  const int reason = unwind_lookup(&w.slab, &w.place, 5, address, &rule);
  EXPECT_NE(reason, END_NO_TABLE);
  return reason == END_NONE ? *rule : unwind_rule{};
}

void expect_equal_everywhere(const UnwindRows& table, uint64_t start) {
  Written w = write(table, start);
  ASSERT_LE(w.layout.size_bytes(), TableLayout::plan(table).max_size_bytes());
  for (size_t i = 0; i < table.rows().size(); ++i) {
    for (const uint32_t at : {table.rows()[i].begin, table.rows()[i].begin + 1, table.rows()[i].begin - 1}) {
      const LinkAddr address = table.base() + at;
      const unwind_rule found = look_up(w, address.value);
      ASSERT_EQ(std::memcmp(&found, &table.find(address), sizeof found), 0) << std::hex << address.value << " start " << start;
    }
  }
  for (uint64_t i = 0; i < start; ++i) ASSERT_EQ(w.slab[i], 0xcc);
  for (uint64_t i = start + w.layout.size_bytes(); i < w.slab.size(); ++i) ASSERT_EQ(w.slab[i], 0xcc);
}

RowTable make_table(uint32_t rows, uint32_t distance, uint32_t rules) {
  RowTable table;
  table.base = LinkAddr(0x400000);
  table.stats.fdes = 1;
  for (uint32_t i = 1; i < rules; ++i) table.rules.insert(stack_pointer_plus(static_cast<int32_t>(i)));
  for (uint32_t i = 0; i < rows; ++i) table.rows.push_back({0x123 + i * distance, 1 + i % (rules - 1)});
  table.rows.push_back({0x123 + rows * distance, 0});
  return table;
}

TEST(TableLayout, EqualsASearchOverTheRowsOfRealLibraries) {
  for (const char* path : {"/lib/x86_64-linux-gnu/libc.so.6", "/proc/self/exe"}) {
    const auto elf = elf::ElfFile::open(path);
    ASSERT_TRUE(elf);
    const UnwindRows table = *compile_rows(*elf);
    for (const uint64_t start : {uint64_t{0}, uint64_t{64}, uint64_t{65472}, uint64_t{1 << 17}}) expect_equal_everywhere(table, start);
  }
}

TEST(TableLayout, OneRowAByte) { expect_equal_everywhere(UnwindRows(make_table(70000, 1, 100)), 64); }
TEST(TableLayout, MoreRulesInAPageThanAByteCounts) {
  const UnwindRows table(make_table(3000, 7, 2900));
  expect_equal_everywhere(table, 65472);
  EXPECT_LT(TableLayout::plan(table, 0).page_shift(), 16u);
}
TEST(TableLayout, LongStretchesWithoutARow) { expect_equal_everywhere(UnwindRows(make_table(40, 1000000, 5)), 128); }
TEST(TableLayout, PagesWithoutAnyRule) {
  RowTable made = make_table(2, 16, 3);
  made.rows.push_back({0x900000, 1});
  made.rows.push_back({0x900010, 0});
  const UnwindRows table(std::move(made));
  expect_equal_everywhere(table, 0);
  EXPECT_LT(TableLayout::plan(table, 0).size_bytes(), 1024u);
}

TEST(TableLayout, SizeIsBelowTheBoundForEveryStart) {
  const UnwindRows table(make_table(60000, 5, 200));
  const uint64_t bound = TableLayout::plan(table).max_size_bytes();
  for (uint64_t start = 0; start < UNWIND_CHUNK_BYTES; start += 64) ASSERT_LE(TableLayout::plan(table, start).size_bytes(), bound);
}

TEST(TableLayout, EmptyTableSaysSo) {
  Written w = write(UnwindRows(), 0);
  EXPECT_EQ(w.place.flags, UNWIND_PLACE_LOADED | UNWIND_PLACE_NO_CFI);
  EXPECT_EQ(w.layout.size_bytes(), 0u);
}

TEST(TableLayout, AnotherOwnerIsNoticed) {
  Written w = write(UnwindRows(make_table(100, 4, 10)), 0);
  const unwind_rule* rule = nullptr;
  EXPECT_EQ(unwind_lookup(&w.slab, &w.place, 6, 0x400123, &rule), END_NO_TABLE);
}

}  // namespace
}  // namespace cicada::unwind
