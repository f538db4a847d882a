// SPDX-License-Identifier: Apache-2.0
#include "unwind/x86_64/machine_stack.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <ctime>

#include "unwind/row_report.h"

namespace cicada::unwind {
namespace {

using Code = std::vector<uint8_t>;

Code join(std::initializer_list<Code> parts) {
  Code all;
  for (const Code& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}
unwind_rule machine_rule() {
  unwind_rule rule = stack_pointer_plus(80, -2);
  rule.saved[SAVED_R14] = -5;
  return rule;
}

const Code kGone = {0xff, 0xe0};                               // jmp *%rax
const Code kPush = {0x41, 0x55};                               // push %r13
const Code kThread = {0x49, 0x8b, 0xae, 0xf0, 0xf1, 0xff, 0xff};  // mov -0xe10(%r14),%rbp
const Code kCall = {0xe8, 0, 0x10, 0, 0};
const Code kKept = {0x48, 0x8b, 0x4d, 0x50};  // mov 0x50(%rbp),%rcx
const Code kMask = {0x48, 0x83, 0xe1, 0xfc};  // and $-4,%rcx
const Code kTake = {0x48, 0x89, 0xcc};        // mov %rcx,%rsp
const Code kOther = {0x48, 0x8d, 0x4c, 0x24, 0x10};  // lea 0x10(%rsp),%rcx
const Code kLoad = {0x4c, 0x8b, 0x69, 0xf8};         // mov -8(%rcx),%r13

std::string found_in(const Code& code, const unwind_rule& rule = machine_rule()) {
  const auto found = find_machine_stack(code, rule);
  return found ? fmt::format("{} {} {}", found->begin, found->end, to_text(found->rule)) : "nothing";
}

TEST(FindMachineStack, OneLine) {
  EXPECT_EQ(found_in(join({kGone, kPush, kThread, kCall, kKept, kMask, kTake, kGone})), "2 27 cfa=[[r14-3600]+80]+80 rbp=[cfa-16] r14=[cfa-40]");
}

TEST(FindMachineStack, OverOtherCodeThatLeadsThereToo) {
  const Code jump = {0xeb, 5};
  EXPECT_EQ(found_in(join({kGone, kPush, kThread, kCall, kKept, kMask, jump, kOther, kLoad, kTake, kGone})), "2 38 cfa=[[r14-3600]+80]+80 rbp=[cfa-16] r13=[cfa-88] r14=[cfa-40]");
}

TEST(FindMachineStack, EachPartIsNeeded) {
  const Code stays = {0x90};
  EXPECT_EQ(found_in(join({kGone, kKept, kMask, kTake})), "nothing");
  EXPECT_EQ(found_in(join({kGone, kThread, kKept, kTake})), "nothing");
  EXPECT_EQ(found_in(join({kGone, kThread, kMask, kTake})), "nothing");
  EXPECT_EQ(found_in(join({kGone, kThread, kKept, kMask, stays})), "nothing");
  EXPECT_EQ(found_in(join({kThread, kGone, kKept, kMask, kTake})), "nothing") << "another line";
  EXPECT_EQ(found_in(join({kThread, kKept, kCall, kMask, kTake})), "nothing") << "calls write to rcx";
  EXPECT_EQ(found_in(join({{0x4d, 0x89, 0xc6}, kThread, kKept, kMask, kTake})), "nothing") << "mov %r8,%r14";
  EXPECT_EQ(found_in(join({{0x41, 0x5e}, kThread, kKept, kMask, kTake})), "nothing") << "pop %r14";
  EXPECT_EQ(found_in(join({kThread, {0x5d}, kKept, kMask, kTake})), "nothing") << "pop %rbp";
  EXPECT_EQ(found_in(join({kThread, kKept, kMask, {0x49, 0x89, 0xc6}, kTake})), "nothing") << "mov %rax,%r14, behind its use";
  EXPECT_EQ(found_in(join({kThread, kKept, kMask, {0xeb, 5}, kOther, {0x48, 0x83, 0xc1, 0x10}, kTake})), "nothing") << "add $16,%rcx, behind the jump";
  EXPECT_EQ(found_in(join({kThread, kKept, kMask, {0xeb, 5}, kOther, {0x4d, 0x89, 0xc6}, kTake})), "nothing") << "mov %r8,%r14, behind the jump";
}

TEST(FindMachineStack, OnlyWhatARuleCanSay) {
  const Code code = join({kThread, kKept, kMask, kTake});
  EXPECT_NE(found_in(code), "nothing");
  EXPECT_EQ(found_in(code, stack_pointer_plus(2048)), "nothing");
  EXPECT_EQ(found_in(code, stack_pointer_plus(84)), "nothing");
  EXPECT_EQ(found_in(code, rule_of_kind(CFA_FRAME_POINTER)), "nothing");
  const Code far = {0x4c, 0x8b, 0xa9, 0, 0, 0, 0x80};  // mov -0x80000000(%rcx),%r13
  EXPECT_EQ(found_in(join({kThread, kKept, kMask, {0xeb, 0}, far, kTake})), "0 27 cfa=[[r14-3600]+80]+80 rbp=[cfa-16] r14=[cfa-40]");
  Code odd = code;
  odd[10] = 0x51;  // mov 0x51(%rbp),%rcx
  EXPECT_EQ(found_in(odd), "nothing");
}

// Each is traced back to the begin, which is far. Without a bound that takes half a minute.
TEST(FindMachineStack, NotWhereTheStackPointerIsTakenEverywhere) {
  Code code;
  while (code.size() < 256 << 10) code.insert(code.end(), kTake.begin(), kTake.end());
  const std::clock_t begin = std::clock();
  EXPECT_EQ(found_in(code), "nothing");
  EXPECT_LT(std::clock() - begin, 2 * CLOCKS_PER_SEC);
}

TEST(FindMachineStack, EveryCutIsHarmless) {
  const Code code = join({kGone, kPush, kThread, kCall, kKept, kMask, {0xeb, 5}, kOther, kLoad, kTake, kGone});
  for (size_t size = 0; size < code.size(); ++size) {
    const std::string found = found_in(Code(code.begin(), code.begin() + static_cast<ptrdiff_t>(size)));
    EXPECT_EQ(found == "nothing", size < 38) << size;
  }
}

}  // namespace
}  // namespace cicada::unwind
