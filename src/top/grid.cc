// SPDX-License-Identifier: Apache-2.0
#include "top/grid.h"

#include <algorithm>
#include <cwchar>

#include "base/clean_text.h"

namespace cicada::top {
namespace {

constexpr char32_t kEllipsis = U'…';

// The first letter of well-formed UTF-8, which is taken off it.
char32_t take_letter(std::string_view& text) {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<uint8_t>(text[i])); };
  const char32_t lead = byte(0);
  const size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  char32_t letter = size == 1 ? lead : lead & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) letter = (letter << 6) | (byte(i) & 0x3f);
  text.remove_prefix(size);
  return letter;
}

// Of pictures the widths are known in every locale.
int width_of(char32_t letter) {
  if (letter < 0x7f || letter == kEllipsis || (letter >= 0x2500 && letter < 0x25a0)) return 1;
  return ::wcwidth(static_cast<wchar_t>(letter));
}

struct Letter {
  char32_t letter;
  int width;
};

// Takes off what has no width, too. Width 0: the text has no more letters.
Letter take_shown(std::string_view& text) {
  while (!text.empty()) {
    const char32_t letter = take_letter(text);
    const int width = width_of(letter);
    if (width > 0) return {letter, std::min(width, 2)};
    if (width < 0) return {width_of(U'\ufffd') == 1 ? U'\ufffd' : U'?', 1};
  }
  return {0, 0};
}

int columns_of_clean(std::string_view text, int most) {
  int sum = 0;
  while (sum <= most) {
    const int width = take_shown(text).width;
    if (width == 0) break;
    sum += width;
  }
  return sum;
}

// Calls each(letter, width) for what is shown of the text in so many columns; gives back how many it takes.
template <typename Each>
int for_each_shown(std::string_view text, int columns, Each each) {
  if (columns <= 0) return 0;
  const bool longer = columns_of_clean(text, columns) > columns;
  const int room = longer ? columns - 1 : columns;
  int sum = 0;
  while (true) {
    const Letter next = take_shown(text);
    if (next.width == 0 || sum + next.width > room) break;
    each(next.letter, next.width);
    sum += next.width;
  }
  if (longer) each(kEllipsis, 1);
  return longer ? sum + 1 : sum;
}

}  // namespace

void append_utf8(std::string& out, char32_t letter) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((letter >> shift) & 0x3f)); };
  if (letter < 0x80) {
    out += static_cast<char>(letter);
  } else if (letter < 0x800) {
    out += static_cast<char>(0xc0 | (letter >> 6));
    tail(0);
  } else if (letter < 0x10000) {
    out += static_cast<char>(0xe0 | (letter >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | (letter >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

int columns_of(std::string_view text) {
  std::string storage;
  return columns_of_clean(clean_text(text, storage), 1 << 30);
}

std::string shortened(std::string_view text, int columns) {
  std::string storage, out;
  for_each_shown(clean_text(text, storage), columns, [&](char32_t letter, int) { append_utf8(out, letter); });
  return out;
}

Grid::Grid(int width, int height)
    : width_(std::max(width, 0)), height_(std::max(height, 0)), cells_(static_cast<size_t>(width_) * static_cast<size_t>(height_)) {}

// Half of a wide letter is none.
void Grid::set(int x, int y, const Cell& now) {
  Cell& here = cell(x, y);
  if (here.letter == 0 && x > 0) cell(x - 1, y).letter = U' ';
  if (x + 1 < width_ && cell(x + 1, y).letter == 0) cell(x + 1, y).letter = U' ';
  here = now;
}

void Grid::set_letter(int x, int y, char32_t letter, int width, const Style& style) {
  const bool begins = x >= 0 && x < width_;
  const bool whole = begins && x + width <= width_;
  if (begins) set(x, y, {whole ? letter : U' ', style});
  if (width < 2 || x + 1 < 0 || x + 1 >= width_) return;
  set(x + 1, y, {U' ', style});
  if (whole) cell(x + 1, y).letter = 0;
}

int Grid::put(int x, int y, std::string_view text, Style style, int columns) {
  std::string storage;
  const bool visible = y >= 0 && y < height_;
  int at = x;
  return for_each_shown(clean_text(text, storage), columns, [&](char32_t letter, int width) {
    if (visible && at < width_) set_letter(at, y, letter, width, style);
    at += width;
  });
}

void Grid::put_right(int x_end, int y, std::string_view text, Style style) { put(x_end - columns_of(text), y, text, style); }

void Grid::fill(const Rect& rect, Style style, char32_t letter) {
  for (int y = std::max(rect.y, 0); y < std::min(rect.y + rect.height, height_); ++y) {
    for (int x = std::max(rect.x, 0); x < std::min(rect.x + rect.width, width_); ++x) set(x, y, {letter, style});
  }
}

void Grid::restyle(const Rect& rect, const Style& style) {
  for (int y = std::max(rect.y, 0); y < std::min(rect.y + rect.height, height_); ++y) {
    for (int x = std::max(rect.x, 0); x < std::min(rect.x + rect.width, width_); ++x) cell(x, y).style = style;
  }
}

std::string Grid::text() const {
  std::string out;
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x) {
      if (const char32_t letter = at(x, y).letter; letter != 0) append_utf8(out, letter);
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    out += '\n';
  }
  return out;
}

}  // namespace cicada::top
