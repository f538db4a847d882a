// SPDX-License-Identifier: Apache-2.0
#include "top/grid.h"

#include <gtest/gtest.h>

#include <clocale>

namespace cicada::top {
namespace {

class Grids : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(std::setlocale(LC_CTYPE, "C.UTF-8"), nullptr); }
  void TearDown() override { std::setlocale(LC_CTYPE, "C"); }
};

constexpr Style kRed{.ink = 0xff0000};

TEST_F(Grids, CountColumnsNotLetters) {
  EXPECT_EQ(columns_of(""), 0);
  EXPECT_EQ(columns_of("main"), 4);
  EXPECT_EQ(columns_of("größe"), 5);
  EXPECT_EQ(columns_of("日本"), 4);
  EXPECT_EQ(columns_of("e\u0301"), 1);      // a combining mark
  EXPECT_EQ(columns_of("a\u200bb"), 2);     // no width
  EXPECT_EQ(columns_of("😀"), 2);
  EXPECT_EQ(columns_of("\x1b[2J"), 4);      // shown, not obeyed
  EXPECT_EQ(columns_of("\xff\xc3"), 2);
  EXPECT_EQ(columns_of("\U0010ffff"), 1);   // no letter: U+FFFD
}

TEST_F(Grids, ShortenToColumns) {
  EXPECT_EQ(shortened("main", 4), "main");
  EXPECT_EQ(shortened("main", 3), "ma…");
  EXPECT_EQ(shortened("main", 1), "…");
  EXPECT_EQ(shortened("main", 0), "");
  EXPECT_EQ(shortened("main", -7), "");
  EXPECT_EQ(shortened("日本語", 6), "日本語");
  EXPECT_EQ(shortened("日本語", 5), "日本…");
  EXPECT_EQ(shortened("日本語", 4), "日…");  // half a letter is none
  EXPECT_EQ(shortened("日本語", 2), "…");
  EXPECT_EQ(shortened("a\u0301bc", 3), "abc");
  EXPECT_EQ(shortened("a\nb\x1b", 9), "a b\ufffd");
}

TEST_F(Grids, SayWhatTextTakes) {
  Grid grid(10, 2);
  EXPECT_EQ(grid.put(1, 0, "日本"), 4);
  EXPECT_EQ(grid.put(0, 1, "a long name", {}, 6), 6);
  EXPECT_EQ(grid.put(0, 1, "日本語", {}, 4), 3);
  EXPECT_EQ(grid.put(8, 0, "beyond"), 6);
  EXPECT_EQ(grid.put(0, 9, "outside"), 7);
}

TEST_F(Grids, ClipWhatIsOutside) {
  Grid grid(6, 2);
  grid.put(-2, 0, "abcdefghij");
  grid.put(0, -1, "above");
  grid.put(0, 2, "below");
  grid.put(6, 1, "right");
  grid.put(-5, 1, "left");
  grid.put(4, 1, "xyz");
  EXPECT_EQ(grid.text(), "cdefgh\n    xy\n");
}

TEST_F(Grids, CutWideLettersToSpaces) {
  Grid grid(5, 3);
  grid.put(0, 0, "日本語");   // the third has one column
  grid.put(-1, 1, "日本語");  // of the first the right half is inside
  EXPECT_EQ(grid.text(), "日本\n 本語\n\n");
  grid.put(4, 2, "日", kRed);
  EXPECT_EQ(grid.at(4, 2), (Cell{U' ', kRed}));
}

TEST_F(Grids, BlankTheOtherHalf) {
  for (const int x : {2, 3}) {
    Grid grid(6, 1);
    grid.put(0, 0, "日本語");
    grid.put(x, 0, "x", kRed);
    EXPECT_EQ(grid.text(), x == 2 ? "日x 語\n" : "日 x語\n");
    EXPECT_EQ(grid.at(x, 0).style, kRed);
  }
  Grid grid(6, 1);
  grid.put(0, 0, "日本語");
  grid.put(1, 0, "漢字");  // over the halves of all three
  EXPECT_EQ(grid.text(), " 漢字\n");
  grid.put(0, 0, "日本語");
  grid.fill({1, 0, 4, 1}, {}, U'=');
  EXPECT_EQ(grid.text(), " ====\n");
}

TEST_F(Grids, ShowNoControlOfStrangers) {
  Grid grid(30, 1);
  grid.put(0, 0, "a\x1b]0;owned\x07\u202e\r\nb\xc2\x9b");
  EXPECT_EQ(grid.text(), "a\ufffd]0;owned\ufffd\ufffd  b\ufffd\n");
}

TEST_F(Grids, LeaveOutLettersWithoutWidth) {
  Grid grid(8, 1);
  grid.put(0, 0, "\u0301a\u0301\u0301\u200db");
  EXPECT_EQ(grid.text(), "ab\n");
}

TEST_F(Grids, PutToTheRight) {
  Grid grid(8, 2);
  grid.put_right(8, 0, "12%");
  grid.put_right(4, 1, "日本語");  // its beginning has no room
  EXPECT_EQ(grid.text(), "     12%\n本語\n");
}

TEST_F(Grids, FillAndRestyleWhatIsInside) {
  Grid grid(4, 3);
  grid.put(0, 1, "abcd");
  grid.restyle({2, -5, 100, 7}, kRed);
  EXPECT_EQ(grid.text(), "\nabcd\n\n");
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 4; ++x) EXPECT_EQ(grid.at(x, y).style == kRed, x >= 2 && y < 2) << x << " " << y;
  }
  grid.fill({-3, 2, 5, 9}, kRed, U'▏');
  EXPECT_EQ(grid.text(), "\nabcd\n▏▏\n");
  EXPECT_EQ(grid.at(1, 2).style, kRed);
}

TEST_F(Grids, MayHaveNoCells) {
  Grid grid(0, -1);
  grid.put(0, 0, "x");
  grid.fill({0, 0, 9, 9}, {});
  EXPECT_EQ(grid.text(), "");
  EXPECT_EQ(Grid(-1, 2).text(), "\n\n");
}

TEST(GridOfNoLocale, ShowsPicturesAndQuestionMarks) {
  std::setlocale(LC_CTYPE, "C");
  Grid grid(12, 1);
  grid.put(0, 0, "▏日é█ a long name", {}, 8);
  EXPECT_EQ(grid.text(), "▏\?\?█ a …\n");
}

}  // namespace
}  // namespace cicada::top
