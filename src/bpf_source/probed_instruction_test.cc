// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/probed_instruction.h"

#include <gtest/gtest.h>

#include <vector>

namespace cicada::bpf_source {
namespace {

using Code = std::vector<uint8_t>;

TEST(ProbedInstructions, BehindALandingPadArePushes) {
  EXPECT_EQ(bytes_of_landing_pad(Code{0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89}), 4u);              // push %rbp
  EXPECT_EQ(bytes_of_landing_pad(Code{0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x57, 0x41}), 4u);              // push %r15
  EXPECT_EQ(bytes_of_landing_pad(Code{0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x89, 0xf8}), 0u);              // mov %edi,%r8d
  EXPECT_EQ(bytes_of_landing_pad(Code{0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x08}), 0u);        // sub $8,%rsp
  EXPECT_EQ(bytes_of_landing_pad(Code{0x55, 0x48, 0x89, 0xe5, 0x53, 0x53}), 0u);
  EXPECT_EQ(bytes_of_landing_pad(Code{0xf3, 0x0f, 0x1e, 0xfa}), 0u);
  EXPECT_EQ(bytes_of_landing_pad(Code{}), 0u);
}

TEST(ProbedInstructions, OfVectorsMayBeTakenForJumps) {
  EXPECT_TRUE(is_taken_for_a_jump(Code{0x62, 0xe2, 0x7d, 0x48, 0x7a, 0xc6}));       // vpbroadcastb %esi,%zmm16
  EXPECT_TRUE(is_taken_for_a_jump(Code{0xc4, 0xe2, 0x7d, 0x78, 0xca}));             // vpbroadcastb %xmm2,%ymm1
  EXPECT_TRUE(is_taken_for_a_jump(Code{0xc5, 0xfe, 0x7f, 0x07}));                   // vmovdqu %ymm0,(%rdi)
  EXPECT_TRUE(is_taken_for_a_jump(Code{0x64, 0xc5, 0xfe, 0x7f, 0x07}));             // the same of %fs
  EXPECT_TRUE(is_taken_for_a_jump(Code{0xc5, 0xf1, 0xeb, 0xc2}));                   // vpor %xmm2,%xmm1,%xmm0
  EXPECT_FALSE(is_taken_for_a_jump(Code{0xc5, 0xf9, 0x6e, 0xc6}));                  // vmovd %esi,%xmm0
  EXPECT_FALSE(is_taken_for_a_jump(Code{0x78, 0x10}));                              // js
  EXPECT_FALSE(is_taken_for_a_jump(Code{0x66, 0x0f, 0x7f, 0x07}));                  // movdqa %xmm0,(%rdi)
  EXPECT_FALSE(is_taken_for_a_jump(Code{0x55}));
  EXPECT_FALSE(is_taken_for_a_jump(Code{0xc5, 0xfe}));
  EXPECT_FALSE(is_taken_for_a_jump(Code{0x64}));
  EXPECT_FALSE(is_taken_for_a_jump(Code{}));
}

TEST(ProbedInstructions, ReturnsMayHaveAPrefix) {
  const auto is = [](std::initializer_list<uint8_t> code) { return is_return(std::vector<uint8_t>(code)); };
  EXPECT_TRUE(is({0xc3}));
  EXPECT_TRUE(is({0xf3, 0xc3}));
  EXPECT_TRUE(is({0xf2, 0xc3}));
  EXPECT_TRUE(is({0xc2, 8, 0}));
  EXPECT_FALSE(is({}));
  EXPECT_FALSE(is({0xf3}));
  EXPECT_FALSE(is({0xcb}));
  EXPECT_FALSE(is({0xe8, 0xc3, 0, 0, 0}));
}

}  // namespace
}  // namespace cicada::bpf_source
