// SPDX-License-Identifier: Apache-2.0
#include "top/approximation.h"

#include <gtest/gtest.h>

namespace cicada::top {
namespace {

TEST(NearestOf256, IsTheColourItselfWhereThereIsOne) {
  EXPECT_EQ(nearest_of_256(0x000000), 16);
  EXPECT_EQ(nearest_of_256(0xffffff), 231);
  EXPECT_EQ(nearest_of_256(0xff0000), 196);
  EXPECT_EQ(nearest_of_256(0x5f87af), 67);
  for (uint32_t step = 0; step < 24; ++step) {
    const uint32_t level = 8 + 10 * step;
    EXPECT_EQ(nearest_of_256(level * 0x010101), 232 + static_cast<int>(step));
  }
}

TEST(NearestOf256, IsNoneThatUsersChange) {
  for (uint32_t colour = 0; colour <= 0xffffff; colour += 0x01070d) {
    EXPECT_GE(nearest_of_256(colour), 16);
    EXPECT_LE(nearest_of_256(colour), 255);
  }
}

TEST(NearestOf256, IsNear) {
  EXPECT_EQ(nearest_of_256(0xffb067), 215);  // #ffaf5f
  EXPECT_EQ(nearest_of_256(0xd5d5d5), 188);  // #d7d7d7
}

TEST(NearestOf8, KeepsTheHueOfPaleColours) {
  EXPECT_EQ(nearest_of_8(0xffb067), 1);
  EXPECT_EQ(nearest_of_8(0x8fdcae), 2);
  EXPECT_EQ(nearest_of_8(0xffd966), 3);
  EXPECT_EQ(nearest_of_8(0xa9b8ff), 4);
  EXPECT_EQ(nearest_of_8(0xe0b4ea), 5);
  EXPECT_EQ(nearest_of_8(0x8edbd8), 6);
  EXPECT_EQ(nearest_of_8(0xd5d5d5), 7);
  EXPECT_EQ(nearest_of_8(0x1f2430), 0);
}

TEST(ReadableOn, DiffersFromTheGround) {
  for (int ground = 0; ground < 8; ++ground) EXPECT_NE(readable_on(ground), ground);
}

TEST(StandIn, IsAsciiForWhatViewsDraw) {
  for (const char32_t letter : std::u32string_view(U"▏▎▍▌▋▊▉█▁▂▃▄▅▆▇│─┌┐└┘├┤┬┴┼╭╮╯╰░▒▓…→←↑↓▶◀▲▼▸▾·•×–—")) EXPECT_LT(stand_in(letter), 0x80u) << std::hex << static_cast<uint32_t>(letter);
}

TEST(StandIn, LeavesOtherLetters) {
  EXPECT_EQ(stand_in(U'a'), U'a');
  EXPECT_EQ(stand_in(U'日'), U'日');
}

TEST(StandIn, TellsHeightsApart) {
  const std::u32string_view heights = U"▁▂▃▄▅▆▇";
  for (size_t i = 0; i < heights.size(); ++i) {
    for (size_t k = 0; k < i; ++k) EXPECT_NE(stand_in(heights[i]), stand_in(heights[k]));
  }
}

}  // namespace
}  // namespace cicada::top
