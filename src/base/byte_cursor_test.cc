// SPDX-License-Identifier: Apache-2.0
#include "base/byte_cursor.h"

#include <gtest/gtest.h>

#include <vector>

namespace cicada {
namespace {

TEST(ByteCursor, ReadsLittleEndianNumbers) {
  const std::vector<uint8_t> bytes{1, 2, 0, 3, 0, 0, 0};
  ByteCursor cursor(bytes);
  EXPECT_EQ(cursor.u8(), 1);
  EXPECT_EQ(cursor.u16(), 2);
  EXPECT_EQ(cursor.u32(), 3U);
  EXPECT_TRUE(cursor.at_end());
  EXPECT_FALSE(cursor.failed());
}

TEST(ByteCursor, StaysAtTheEndAfterAReadPastIt) {
  const std::vector<uint8_t> bytes{1, 2};
  ByteCursor cursor(bytes);
  EXPECT_EQ(cursor.u32(), 0U);
  EXPECT_TRUE(cursor.failed());
  EXPECT_EQ(cursor.u8(), 0);
}

TEST(ByteCursor, ReadsSignedAndUnsignedLeb128) {
  const std::vector<uint8_t> bytes{0xe5, 0x8e, 0x26, 0x7f, 0x80, 0x7f};
  ByteCursor cursor(bytes);
  EXPECT_EQ(cursor.uleb128(), 624485U);
  EXPECT_EQ(cursor.sleb128(), -1);
  EXPECT_EQ(cursor.sleb128(), -128);
}

TEST(ByteCursor, RefusesLeb128BeyondSixtyFourBits) {
  std::vector<uint8_t> bytes(10, 0xff);
  bytes.push_back(0x7f);
  EXPECT_TRUE([&] { ByteCursor c(bytes); c.uleb128(); return c.failed(); }());
  const std::vector<uint8_t> max{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
  ByteCursor cursor(max);
  EXPECT_EQ(cursor.uleb128(), ~uint64_t{0});
  EXPECT_FALSE(cursor.failed());
}

TEST(ByteCursor, RefusesAStringWithoutEnd) {
  const std::vector<uint8_t> bytes{'a', 'b'};
  ByteCursor cursor(bytes);
  EXPECT_EQ(cursor.c_string(), "");
  EXPECT_TRUE(cursor.failed());
}

TEST(FindSubspan, DoesNotOverflow) {
  const std::vector<uint8_t> bytes(16);
  EXPECT_FALSE(find_subspan(bytes, 8, ~uint64_t{0}).has_value());
  EXPECT_FALSE(find_subspan(bytes, ~uint64_t{0}, 1).has_value());
  EXPECT_TRUE(find_subspan(bytes, 16, 0).has_value());
}

}  // namespace
}  // namespace cicada
