// SPDX-License-Identifier: Apache-2.0
// A screen of letters, as views draw it and tests read it.
//
// Positions are columns and rows, from 0; what lies outside is left out. Text is UTF-8 and may be a stranger's: it goes through clean_text(), wide letters
// take two cells, letters without width are left out. What has no room as a whole (a wide letter at an edge, half of one that is written over) is a space.
// How wide a letter is, the locale says (LC_CTYPE, UTF-8: open_screen() and tests set it); U+FFFD, or '?', stands for what it does not know.
// Threads: one.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cicada::top {

// Colours as 0xRRGGBB. kUsual: the terminal's own.
inline constexpr uint32_t kUsual = 0xff000000;
struct Style {
  uint32_t ink = kUsual;
  uint32_t ground = kUsual;
  bool bold = false, dim = false, reverse = false, underline = false;
  bool operator==(const Style&) const = default;
};

struct Cell {
  char32_t letter = U' ';  // 0: the right half of the wide letter before it
  Style style;
  bool operator==(const Cell&) const = default;
};

struct Rect {
  int x = 0, y = 0, width = 0, height = 0;
};

void append_utf8(std::string& to, char32_t letter);
// How many columns the text takes.
int columns_of(std::string_view text);
// What a grid shows of it: its beginning, of at most `columns` columns; "…" at its end if it is longer.
std::string shortened(std::string_view text, int columns);

class Grid {
 public:
  Grid(int width, int height);
  int width() const { return width_; }
  int height() const { return height_; }
  const Cell& at(int x, int y) const { return cells_[static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)]; }
  // From (x, y) on, at most `columns`; text that is longer ends in "…". Returns how many columns it takes, those outside included.
  int put(int x, int y, std::string_view text, Style style = {}, int columns = 1 << 20);
  // So that it ends before column `x_end`. What has no room is left out at its beginning.
  void put_right(int x_end, int y, std::string_view text, Style style = {});
  // The letter takes one column.
  void fill(const Rect& rect, Style style, char32_t letter = U' ');
  // Changes how cells look, not what they say.
  void restyle(const Rect& rect, const Style& style);
  // Rows with '\n' behind each, without spaces at their ends.
  std::string text() const;

 private:
  Cell& cell(int x, int y) { return cells_[static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)]; }
  void set(int x, int y, const Cell& now);
  void set_letter(int x, int y, char32_t letter, int width, const Style& style);

  int width_, height_;
  std::vector<Cell> cells_;
};

}  // namespace cicada::top
