// SPDX-License-Identifier: Apache-2.0
#include "code/bits.h"

#include <gtest/gtest.h>

namespace cicada::code {
namespace {

TEST(Bits, AreSetInRangesOfAnyLength) {
  for (const size_t begin : {0, 1, 63, 64, 65, 128, 190}) {
    for (const size_t length : {0, 1, 2, 62, 63, 64, 65, 128, 200}) {
      Bits bits;
      bits.assign(400);
      bits.set(begin, begin + length);
      for (size_t i = 0; i < 400; ++i) ASSERT_EQ(bits[i], i >= begin && i < begin + length) << begin << " " << length << " " << i;
    }
  }
}

TEST(Bits, TheNextClearOneIsFound) {
  Bits bits;
  bits.assign(300);
  bits.set(10, 130);
  bits.set(131, 300);
  EXPECT_EQ(bits.next_clear(0, 300), 0U);
  EXPECT_EQ(bits.next_clear(9, 300), 9U);
  for (size_t at = 10; at <= 130; ++at) EXPECT_EQ(bits.next_clear(at, 300), 130U);
  EXPECT_EQ(bits.next_clear(131, 300), 300U);
  EXPECT_EQ(bits.next_clear(20, 100), 100U) << "none before";
  EXPECT_EQ(bits.next_clear(300, 300), 300U);
}

}  // namespace
}  // namespace cicada::code
