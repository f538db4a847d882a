// SPDX-License-Identifier: Apache-2.0
#include "top/approximation.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace cicada::top {
namespace {

constexpr std::array<int, 6> kLevels = {0, 95, 135, 175, 215, 255};

std::array<int, 3> channels_of(uint32_t colour) { return {static_cast<int>(colour >> 16 & 0xff), static_cast<int>(colour >> 8 & 0xff), static_cast<int>(colour & 0xff)}; }

// Eyes see green best, blue least.
int distance(const std::array<int, 3>& a, const std::array<int, 3>& b) {
  constexpr std::array<int, 3> kWeights = {3, 4, 2};
  int sum = 0;
  for (size_t i = 0; i < 3; ++i) sum += kWeights[i] * (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

struct StandIn {
  std::u32string_view letters;
  char32_t ascii;
};
constexpr StandIn kStandIns[] = {
    {U"▏▎▍▌▕▐│┃╎╏┆┇┊┋║", U'|'}, {U"█▓■▉▊▋▇", U'#'}, {U"▆", U'*'}, {U"▅", U'+'}, {U"▄═", U'='}, {U"▃─━╌╍┄┅┈┉–—−", U'-'}, {U"▂░·•∙", U'.'}, {U"▁", U'_'},
    {U"▒", U':'}, {U"▀¯", U'"'}, {U"…", U'~'}, {U"→▶▸►›»", U'>'}, {U"←◀◂◄‹«", U'<'}, {U"↑▲▴", U'^'}, {U"↓▼▾", U'v'}, {U"●◆", U'*'}, {U"○◇", U'o'}, {U"×", U'x'},
    {U"‘’", U'\''}, {U"“”", U'"'}, {U"µμ", U'u'}, {U"\u00a0", U' '},
};

}  // namespace

int nearest_of_256(uint32_t colour) {
  const auto wanted = channels_of(colour);
  std::array<int, 3> steps{}, cube{};
  for (size_t i = 0; i < 3; ++i) {
    const auto nearer = [&](int a, int b) { return std::abs(a - wanted[i]) < std::abs(b - wanted[i]); };
    const auto* level = std::min_element(kLevels.begin(), kLevels.end(), nearer);
    steps[i] = static_cast<int>(level - kLevels.begin());
    cube[i] = *level;
  }
  const int mean = (wanted[0] + wanted[1] + wanted[2]) / 3;
  const int step = std::clamp((mean - 3) / 10, 0, 23);
  const int grey = 8 + 10 * step;
  return distance(wanted, {grey, grey, grey}) < distance(wanted, cube) ? 232 + step : 16 + 36 * steps[0] + 6 * steps[1] + steps[2];
}

int nearest_of_8(uint32_t colour) {
  const auto wanted = channels_of(colour);
  const auto [least, most] = std::minmax({wanted[0], wanted[1], wanted[2]});
  if (most - least < 32 || most < 64) return most < 128 ? 0 : 7;
  int number = 0;
  for (size_t i = 0; i < 3; ++i) number |= wanted[i] > (least + most) / 2 ? 1 << i : 0;
  return number;
}

int readable_on(int ground) { return ground == 2 || ground == 3 || ground == 6 || ground == 7 ? 0 : 7; }

char32_t stand_in(char32_t letter) {
  if (letter < 0x80) return letter;
  if ((letter >= 0x250c && letter <= 0x254b) || (letter >= 0x2552 && letter <= 0x2570)) return U'+';  // corners and crossings
  for (const StandIn& one : kStandIns) {
    if (one.letters.find(letter) != one.letters.npos) return one.ascii;
  }
  return letter;
}

}  // namespace cicada::top
