// SPDX-License-Identifier: Apache-2.0
#include "unwind/rows/unwind_rows.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "unwind/rows/code_rule.h"
#include "unwind/rows/row_table.h"
#include "unwind/rows/table_layout.h"

namespace cicada::unwind {
namespace {

using Words = std::vector<uint64_t>;
constexpr uint32_t kRows = 100;

UnwindRows made_up() {
  RowTable table;
  table.base = LinkAddr(0x10000);
  for (int32_t i = 1; i < 10; ++i) table.rules.insert(stack_pointer_plus(8 * i));
  for (uint32_t i = 0; i < kRows; ++i) table.rows.push_back({0x100 * i, i % 10});
  table.stats.fdes = 7;
  return UnwindRows(std::move(table));
}

Words copy_of(const UnwindRows& rows) {
  Words words(rows.bytes().size() / 8);
  std::memcpy(words.data(), rows.bytes().data(), rows.bytes().size());
  return words;
}
Bytes bytes_of(const Words& words, size_t size) { return {reinterpret_cast<const uint8_t*>(words.data()), size}; }
Result<UnwindRows> check(const Words& words) { return UnwindRows::check(bytes_of(words, 8 * words.size())); }

TEST(UnwindRows, AreTheSameInAnotherPlace) {
  const UnwindRows rows = made_up();
  const Words words = copy_of(rows);
  const Result<UnwindRows> copy = check(words);
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->base(), rows.base());
  EXPECT_EQ(copy->stats().fdes, 7u);
  ASSERT_EQ(copy->rows().size(), kRows);
  for (uint32_t i = 0; i < 0x100 * kRows; i += 0x40) {
    EXPECT_EQ(std::memcmp(&copy->find(rows.base() + i), &rows.find(rows.base() + i), sizeof(unwind_rule)), 0);
  }
}

TEST(UnwindRows, NothingIsKnownOfNoBytes) {
  const Result<UnwindRows> rows = UnwindRows::check({});
  ASSERT_TRUE(rows);
  EXPECT_TRUE(rows->empty());
  EXPECT_EQ(rows->find(LinkAddr(0x10000)).cfa_kind, CFA_NONE);
}

TEST(UnwindRows, NoLengthButTheirOwn) {
  const Words words = copy_of(made_up());
  for (size_t size = 1; size < 8 * words.size(); ++size) ASSERT_FALSE(UnwindRows::check(bytes_of(words, size))) << size;
  Words longer = words;
  longer.insert(longer.begin(), 0);
  EXPECT_FALSE(check(longer));
}

TEST(UnwindRows, RefuseWhatWouldLeadAstray) {
  const Words words = copy_of(made_up());
  const size_t rules = kRows, trailer = rules + 2 * 10;
  const auto refused = [&](size_t at, uint64_t value) {
    Words changed = words;
    changed[at] = value;
    return !check(changed);
  };
  EXPECT_TRUE(refused(5, words[4]));                            // the same address twice
  EXPECT_TRUE(refused(5, 0x100 * 7));                           // beyond the next
  EXPECT_TRUE(refused(5, 0x100 * 5 | uint64_t{10} << 32));      // no such rule
  EXPECT_TRUE(refused(rules, words[rules + 2]));                // the first is not "none"
  EXPECT_TRUE(refused(rules + 2, 99));                          // no such kind
  EXPECT_TRUE(refused(rules + 2, CFA_UNSUPPORTED | 200 << 8));  // no such reason
  EXPECT_TRUE(refused(trailer, 0x10001));                       // base
  EXPECT_TRUE(refused(trailer, ~uint64_t{0xffff}));             // wraps around
  EXPECT_TRUE(refused(trailer + 1, ~uint64_t{0}));              // counts
  EXPECT_TRUE(refused(trailer + 1, words[trailer + 1] + 2 - (uint64_t{1} << 32)));  // of the same size in all
}

// Whatever passes can be laid out, and is found again.
TEST(UnwindRows, DamageIsRefusedOrHarmless) {
  const Words words = copy_of(made_up());
  std::mt19937_64 random(20261122);
  int passed = 0;
  for (int round = 0; round < 3000; ++round) {
    Words changed = words;
    const size_t at = random() % changed.size();
    reinterpret_cast<uint8_t*>(&changed[at])[random() % 8] = static_cast<uint8_t>(random());
    const Result<UnwindRows> rows = check(changed);
    if (!rows) continue;
    ++passed;
    const TableLayout layout = TableLayout::plan(*rows);
    ASSERT_LT(layout.size_bytes(), 1u << 20);
  }
  EXPECT_GT(passed, 100);
}

}  // namespace
}  // namespace cicada::unwind
