// SPDX-License-Identifier: Apache-2.0
#include "parser/instructions.h"

#include <gtest/gtest.h>

#include <vector>

namespace cicada::parser {
namespace {

TEST(Instructions, BeginWhereTheOneBeforeEnds) {
  const std::vector<uint8_t> code{0x53, 0x48, 0x8b, 0x15, 0x40, 0x29, 0x00, 0x00, 0xc3};  // push %rbx; mov 0x2940(%rip),%rdx; ret
  std::vector<uint64_t> begins;
  for (uint64_t offset = 0; offset < 12; ++offset)
    if (begins_instruction(code, offset)) begins.push_back(offset);
  EXPECT_EQ(begins, (std::vector<uint64_t>{0, 1, 8}));
}

TEST(Instructions, DoNotFollowWhatIsNone) {
  const std::vector<uint8_t> code{0x90, 0x06, 0x90, 0x90};  // 06 is none in 64-bit code
  EXPECT_TRUE(begins_instruction(code, 0));
  EXPECT_FALSE(begins_instruction(code, 1));
  EXPECT_FALSE(begins_instruction(code, 2));
  EXPECT_FALSE(begins_instruction({}, 0));
  EXPECT_FALSE(begins_instruction(std::vector<uint8_t>{0x48}, 0));  // cut off
}

}  // namespace
}  // namespace cicada::parser
