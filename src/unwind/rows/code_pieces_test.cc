// SPDX-License-Identifier: Apache-2.0
#include "unwind/rows/code_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unwind/row_report.h"
#include "unwind/rows/row_table.h"

namespace cicada::unwind {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr LinkAddr kBase(0x10000);
constexpr uint32_t kPiece = code::Pieces::kBytes, kAround = code::Pieces::kAroundBytes;
// [0x100, 0x200) has CFI; [0x200, kHole), [kHole + 0x40, kEnd) are unread.
constexpr uint32_t kHole = kPiece + 0x1000, kEnd = 3 * kPiece + 0x500;

UnwindRows made_up() {
  RowTable table;
  table.base = kBase;
  const uint32_t known = table.rules.insert(stack_pointer_plus(24)), unread = table.rules.insert(unread_rule());
  table.rows = {{0x100, known}, {0x200, unread}, {kHole, known}, {kHole + 0x40, unread}, {kEnd, 0}};
  table.stats.covered_bytes = 0x40000;
  return UnwindRows(std::move(table));
}

Range<LinkAddr> range(uint32_t begin, uint32_t end) { return {kBase + begin, kBase + end}; }
std::vector<LinkAddr> at(std::initializer_list<uint32_t> offsets) {
  std::vector<LinkAddr> addresses;
  for (const uint32_t offset : offsets) addresses.push_back(kBase + offset);
  return addresses;
}
std::string rule_at(const UnwindRows& rows, uint32_t offset) { return to_text(rows.find(kBase + offset)); }

TEST(CodePieces, AreReadWithWhatIsAroundThem) {
  const UnwindRows rows = made_up();
  const CodePieces pieces(rows);
  const CodeQuestion first = pieces.question(rows, at({0x300}));
  EXPECT_THAT(first.pieces, ElementsAre(range(0x200, kPiece)));
  EXPECT_THAT(first.code, ElementsAre(range(0x200, kHole), range(kHole + 0x40, kPiece + kAround)));
  EXPECT_THAT(first.all, ElementsAre(range(0x200, kHole), range(kHole + 0x40, kEnd)));
  EXPECT_EQ(first.base, kBase);
  EXPECT_EQ(first.covered_bytes, 0x40000u);
  const CodeQuestion second = pieces.question(rows, at({kPiece}));
  EXPECT_THAT(second.pieces, ElementsAre(range(kPiece, kHole), range(kHole + 0x40, 2 * kPiece)));
  EXPECT_THAT(second.code, ElementsAre(range(kPiece - kAround, kHole), range(kHole + 0x40, 2 * kPiece + kAround)));
  const CodeQuestion last = pieces.question(rows, at({kEnd - 1}));
  EXPECT_THAT(last.pieces, ElementsAre(range(3 * kPiece, kEnd)));
  EXPECT_THAT(last.code, ElementsAre(range(3 * kPiece - kAround, kEnd)));
}

TEST(CodePieces, AreAskedForTogetherAndOnce) {
  const UnwindRows rows = made_up();
  const CodePieces pieces(rows);
  const CodeQuestion two = pieces.question(rows, at({kEnd - 1, 0x300, 0x400, kEnd - 2}));
  EXPECT_THAT(two.pieces, ElementsAre(range(0x200, kPiece), range(3 * kPiece, kEnd)));
  EXPECT_THAT(two.code, ElementsAre(range(0x200, kHole), range(kHole + 0x40, kPiece + kAround), range(3 * kPiece - kAround, kEnd)));
  const CodeQuestion neighbours = pieces.question(rows, at({kPiece, 0x300}));
  EXPECT_THAT(neighbours.code, ElementsAre(range(0x200, kHole), range(kHole + 0x40, 2 * kPiece + kAround))) << "functions lie across their ends";
  EXPECT_THAT(pieces.question(rows, at({0x150, 0x1f, kEnd, kHole})).pieces, IsEmpty()) << "nothing of that is unread";
  EXPECT_THAT(pieces.question(rows, {}).pieces, IsEmpty());
}

TEST(CodePieces, HaveRulesWhereSomeAreKnown) {
  const UnwindRows rows = made_up();
  const CodePieces pieces(rows);
  const CodeQuestion question = pieces.question(rows, at({kPiece}));
  const CodeRule rules[] = {{kPiece - 0x100, kPiece + 0x100, stack_pointer_plus(8)},  // begins in the piece before
                            {kPiece + 0x100, kPiece + 0x200, stack_pointer_plus(16)},
                            {kHole - 0x10, kHole + 0x80, stack_pointer_plus(32)},  // CFI knows better
                            {2 * kPiece - 0x10, 2 * kPiece + 0x10, stack_pointer_plus(40)}};
  const UnwindRows read = with_code(rows, question, rules);
  EXPECT_EQ(rule_at(read, kPiece - 1), rule_at(rows, kPiece - 1)) << "of another piece";
  EXPECT_EQ(rule_at(read, kPiece), "cfa=rsp+8");
  EXPECT_EQ(rule_at(read, kPiece + 0xff), "cfa=rsp+8");
  EXPECT_EQ(rule_at(read, kPiece + 0x100), "cfa=rsp+16");
  EXPECT_EQ(rule_at(read, kPiece + 0x200), "frame pointer");
  EXPECT_EQ(rule_at(read, kHole - 0x11), "frame pointer");
  EXPECT_EQ(rule_at(read, kHole - 1), "cfa=rsp+32");
  EXPECT_EQ(rule_at(read, kHole), "cfa=rsp+24");
  EXPECT_EQ(rule_at(read, kHole + 0x40), "cfa=rsp+32");
  EXPECT_EQ(rule_at(read, kHole + 0x80), "frame pointer");
  EXPECT_EQ(rule_at(read, 2 * kPiece - 1), "cfa=rsp+40");
  EXPECT_EQ(rule_at(read, 2 * kPiece), rule_at(rows, 2 * kPiece));
  EXPECT_TRUE(is_unread(read.find(kBase + 2 * kPiece)));
  EXPECT_THAT(pieces.question(read, at({kPiece + 0x200, kHole - 1})).pieces, IsEmpty()) << "that is read";
  EXPECT_THAT(pieces.question(read, at({0x300})).pieces, ElementsAre(range(0x200, kPiece)));
  EXPECT_EQ(read.stats().covered_bytes, rows.stats().covered_bytes);
}

TEST(CodePieces, WithoutRulesAreWalkedByFramePointer) {
  const UnwindRows rows = made_up();
  const CodePieces pieces(rows);
  const UnwindRows read = with_code(rows, pieces.question(rows, at({0x300})), {});
  EXPECT_EQ(rule_at(read, 0x1ff), "cfa=rsp+24");
  EXPECT_EQ(rule_at(read, 0x200), "frame pointer");
  EXPECT_EQ(rule_at(read, kPiece - 1), "frame pointer");
  EXPECT_TRUE(is_unread(read.find(kBase + kPiece)));
}

TEST(CodePieces, AreSmallerWhereTheCodeIsCompiled) {
  RowTable table;
  table.base = kBase;
  table.rows = {{0, table.rules.insert(unread_rule())}, {0x100000, 0}};
  table.stats.covered_bytes = 0x100000 / 7 - 1;
  const UnwindRows rows(std::move(table));
  const CodeQuestion question = CodePieces(rows).question(rows, at({0x50000}));
  EXPECT_THAT(question.pieces, ElementsAre(range(0x50000, 0x50000 + code::Pieces::kSmallBytes)));
  EXPECT_THAT(question.code, ElementsAre(range(0x50000 - code::Pieces::kSmallAroundBytes, 0x50000 + code::Pieces::kSmallBytes + code::Pieces::kSmallAroundBytes)));
}

TEST(CodePieces, ThereAreNoneOfRowsWithoutUnreadCode) {
  EXPECT_TRUE(CodePieces(UnwindRows()).empty());
  RowTable table;
  table.base = kBase;
  table.rows = {{0x100, table.rules.insert(stack_pointer_plus(24))}, {0x200, 0}};
  EXPECT_TRUE(CodePieces(UnwindRows(std::move(table))).empty());
}

// Strangers say which rows there are.
TEST(CodePieces, TakeWhateverRowsThereAre) {
  RowTable table;
  table.base = kBase;
  const uint32_t unread = table.rules.insert(unread_rule());
  for (uint32_t i = 0; i < 2 * CodePieces::kMaxRanges + 10; ++i) table.rows.push_back({2 * i, i % 2 == 0 ? unread : 0});
  table.rows.push_back({0xffff0000, unread});
  table.rows.push_back({0xffffffff, unread});  // nothing says where that ends
  const UnwindRows rows(std::move(table));
  const CodePieces pieces(rows);
  const CodeQuestion question = pieces.question(rows, at({0, 0xffff0000, 0xffffffff}));
  EXPECT_EQ(question.all.size(), CodePieces::kMaxRanges);
  EXPECT_EQ(question.pieces.back(), range(0xffff0000, 0xffffffff));
  const UnwindRows read = with_code(rows, question, {});
  EXPECT_EQ(rule_at(read, 0), "frame pointer");
  EXPECT_EQ(rule_at(read, 0xffff0000), "frame pointer");
}

}  // namespace
}  // namespace cicada::unwind
