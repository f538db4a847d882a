// SPDX-License-Identifier: Apache-2.0
#include "code/x86_64/program_start.h"

#include <gtest/gtest.h>

#include <vector>

namespace cicada::code {
namespace {

using Code = std::vector<uint8_t>;

TEST(ProgramStart, IsKnownByWhatFewFunctionsBeginWith) {
  EXPECT_TRUE(begins_program(Code{0x31, 0xed, 0x49, 0x89, 0xd1}));                    // xor %ebp,%ebp
  EXPECT_TRUE(begins_program(Code{0xf3, 0x0f, 0x1e, 0xfa, 0x31, 0xed}));              // endbr64 before it
  EXPECT_TRUE(begins_program(Code{0x48, 0x31, 0xed, 0x48, 0x89, 0xe7}));              // xor %rbp,%rbp
  EXPECT_TRUE(begins_program(Code{0x48, 0x89, 0xe7, 0xe8, 0, 0, 0, 0}));              // mov %rsp,%rdi
  EXPECT_FALSE(begins_program(Code{0x31, 0xc0, 0xc3}));                               // xor %eax,%eax
  EXPECT_FALSE(begins_program(Code{0x48, 0x89, 0xe5}));                               // mov %rsp,%rbp
  EXPECT_FALSE(begins_program(Code{0x48, 0x83, 0xec, 0x08}));                         // sub $8,%rsp
  EXPECT_FALSE(begins_program(Code{0xf3, 0x0f, 0x1e, 0xfa}));
  EXPECT_FALSE(begins_program(Code{}));
}

TEST(ProgramStart, HandsAnAddressOrANumberToItsFirstCall) {
  // lea 0x100(%rip),%rdi; xor %ecx,%ecx; call *0x10(%rip)
  auto call = find_first_call(Code{0x48, 0x8d, 0x3d, 0, 1, 0, 0, 0x31, 0xc9, 0xff, 0x15, 0x10, 0, 0, 0});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->argument_offset, 0x107);
  EXPECT_FALSE(call->argument_number || call->target || call->passes_stack || call->halts_behind);
  // mov $0x401136,%rdi; call +0x20
  call = find_first_call(Code{0x48, 0xc7, 0xc7, 0x36, 0x11, 0x40, 0, 0xe8, 0x20, 0, 0, 0});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->argument_number, 0x401136U);
  EXPECT_EQ(call->target, 12 + 0x20);
  // mov $0x401136,%edi; jmp -2
  call = find_first_call(Code{0xbf, 0x36, 0x11, 0x40, 0, 0xeb, 0xfe});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->argument_number, 0x401136U);
  EXPECT_EQ(call->target, 5);
}

TEST(ProgramStart, ForgetsAnArgumentThatIsWrittenOver) {
  // lea 0x100(%rip),%rdi; mov %rsp,%rdi; call
  const auto call = find_first_call(Code{0x48, 0x8d, 0x3d, 0, 1, 0, 0, 0x48, 0x89, 0xe7, 0xe8, 0, 0, 0, 0});
  ASSERT_TRUE(call);
  EXPECT_FALSE(call->argument_offset || call->argument_number);
  EXPECT_TRUE(call->passes_stack);
  // lea 0x100(%rip),%rdi; pop %rdi; call; hlt
  const auto popped = find_first_call(Code{0x48, 0x8d, 0x3d, 0, 1, 0, 0, 0x5f, 0xe8, 0, 0, 0, 0, 0xf4});
  ASSERT_TRUE(popped);
  EXPECT_FALSE(popped->argument_offset || popped->passes_stack);
  EXPECT_TRUE(popped->halts_behind);
}

TEST(ProgramStart, IsNotLookedForBehindBranchesReturnsAndManyInstructions) {
  EXPECT_FALSE(find_first_call(Code{0xc3, 0xe8, 0, 0, 0, 0}));
  EXPECT_FALSE(find_first_call(Code{0x74, 0x00, 0xe8, 0, 0, 0, 0}));
  EXPECT_FALSE(find_first_call(Code{}));
  EXPECT_FALSE(find_first_call(Code{0xe8, 0}));
  Code many(1000, 0x90);
  many.insert(many.end(), {0xe8, 0, 0, 0, 0});
  EXPECT_FALSE(find_first_call(many));
}

}  // namespace
}  // namespace cicada::code
