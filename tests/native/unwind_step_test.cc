// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "host_reader.h"

namespace {

constexpr uint64_t kBase = 0x7ffc00001000;

unwind_rule rule_of(unwind_cfa_kind kind, uint8_t reg, int32_t offset) {
  unwind_rule rule{};
  rule.cfa_kind = static_cast<uint8_t>(kind);
  rule.cfa_reg = reg;
  rule.cfa_offset = offset;
  return rule;
}

unwind_regs registers(uint64_t sp, uint64_t bp = 0) {
  unwind_regs regs{};
  regs.gpr[ARCH_SP] = sp;
  regs.gpr[ARCH_FP] = bp;
  regs.ip = 0x401000;
  regs.exact_ip = 1;
  regs.all_registers = 1;
  return regs;
}

TEST(UnwindStep, RestoresCallerFromStackPointerRule) {
  HostStack stack{kBase, {11, 22, 33, 0x401234}};
  auto rule = rule_of(CFA_OFFSET, ARCH_SP, 32);
  rule.saved[SAVED_RBX] = -4;
  rule.saved[SAVED_RBP] = -3;
  rule.saved[SAVED_R15] = -2;
  auto regs = registers(kBase);
  ASSERT_EQ(unwind_step(&stack, &rule, &regs), END_NONE);
  EXPECT_EQ(regs.ip, 0x401234u);
  EXPECT_EQ(regs.gpr[ARCH_SP], kBase + 32);
  EXPECT_EQ(regs.gpr[X86_RBX], 11u);
  EXPECT_EQ(regs.gpr[ARCH_FP], 22u);
  EXPECT_EQ(regs.gpr[15], 33u);
  EXPECT_EQ(unwind_lookup_address(&regs), 0x401233u);
  EXPECT_FALSE(regs.all_registers);
}

// pop %rbx; pop %rbp; ret: at the return both slots are below the stack pointer, where a copy of the stack has nothing.
TEST(UnwindStep, TakesWhatAnEpilogueHasPoppedFromTheRegisters) {
  HostStack stack{kBase, {0x401234}};
  auto rule = rule_of(CFA_OFFSET, ARCH_SP, 8);
  rule.saved[SAVED_RBX] = -3;
  rule.saved[SAVED_RBP] = -2;
  auto regs = registers(kBase, 22);
  regs.gpr[X86_RBX] = 11;
  ASSERT_EQ(unwind_step(&stack, &rule, &regs), END_NONE);
  EXPECT_EQ(regs.ip, 0x401234u);
  EXPECT_EQ(regs.gpr[X86_RBX], 11u);
  EXPECT_EQ(regs.gpr[ARCH_FP], 22u);
  // Of a caller nothing is below the stack pointer.
  regs = registers(kBase);
  regs.exact_ip = 0;
  EXPECT_EQ(unwind_step(&stack, &rule, &regs), END_UNREADABLE);
}

TEST(UnwindStep, FollowsDereferencedCfa) {
  HostStack stack{kBase, {0, kBase + 48, 0, 0, 0, 0x405678}};
  auto rule = rule_of(CFA_DEREF, ARCH_FP, -8);
  rule.cfa_addend = 0;
  auto regs = registers(kBase, kBase + 16);
  ASSERT_EQ(unwind_step(&stack, &rule, &regs), END_NONE);
  EXPECT_EQ(regs.ip, 0x405678u);
  EXPECT_EQ(regs.gpr[ARCH_SP], kBase + 48);
}

// r14 -> the machine's state; 16 bytes on a pointer to a thread's; there, 8 bytes on, its stack pointer with two flags.
TEST(UnwindStep, FollowsACfaThatIsKeptInAMachinesState) {
  HostStack stack{kBase, {0, 0, kBase + 24, 0, kBase + 40 + 3, 0, 55, 0x405678, 0}};
  auto rule = rule_of(CFA_DEREF_TWICE, 14, 16);
  rule.cfa_addend = 1 | 3 << 8;
  rule.saved[SAVED_RBX] = -2;
  auto regs = registers(kBase);
  regs.gpr[14] = kBase;
  ASSERT_EQ(unwind_step(&stack, &rule, &regs), END_NONE);
  EXPECT_EQ(regs.ip, 0x405678u);
  EXPECT_EQ(regs.gpr[ARCH_SP], kBase + 64);
  EXPECT_EQ(regs.gpr[X86_RBX], 55u);
  EXPECT_TRUE(unwind_needs_registers(&rule));
  // The machine was entered again, from below this frame: that would lead in a circle.
  regs = registers(kBase + 64);
  regs.gpr[14] = kBase;
  EXPECT_EQ(unwind_step(&stack, &rule, &regs), END_UNREADABLE);
  // Nothing is there.
  regs = registers(kBase);
  regs.gpr[14] = 0x1000;
  EXPECT_EQ(unwind_step(&stack, &rule, &regs), END_UNREADABLE);
  // A function may have written to that register.
  regs = registers(kBase);
  regs.all_registers = 0;
  rule.cfa_reg = X86_RCX;
  EXPECT_EQ(unwind_step(&stack, &rule, &regs), END_UNSUPPORTED_RULE);
}

TEST(UnwindStep, RestoresViaBaseBeforeTheStep) {
  HostStack stack{kBase, {77, 0, 0, kBase + 32, 0x401111}};
  auto rule = rule_of(CFA_OFFSET, ARCH_SP, 40);
  rule.via_base = 1 << SAVED_RBP | SAVE_BASE_RBP << 6;
  rule.saved[SAVED_RBP] = 0;
  auto regs = registers(kBase, kBase);
  ASSERT_EQ(unwind_step(&stack, &rule, &regs), END_NONE);
  EXPECT_EQ(regs.gpr[ARCH_FP], 77u);
}

TEST(UnwindStep, RestoresFromTheFrameRoundedDown) {
  HostStack stack{kBase, {0, 55, 0, 0, 0, 0, 0, 0, 0, 66, 0x401111}};
  auto rule = rule_of(CFA_OFFSET, ARCH_FP, 16);  // CFA = kBase + 88; rounded down to 64 bytes: kBase + 64
  rule.via_base = 1 << SAVED_R12;
  rule.via_align = 6;
  rule.saved[SAVED_R12] = -7;
  rule.saved[SAVED_RBP] = -2;
  auto regs = registers(kBase, kBase + 72);
  ASSERT_EQ(unwind_step(&stack, &rule, &regs), END_NONE);
  EXPECT_EQ(regs.gpr[12], 55u);
  EXPECT_EQ(regs.gpr[ARCH_FP], 66u);
  EXPECT_EQ(regs.ip, 0x401111u);
  EXPECT_FALSE(unwind_needs_registers(&rule));
}

TEST(UnwindStep, PltDependsOnTheInstruction) {
  HostStack stack{kBase, {1, 0x401111, 0x402222}};
  const auto rule = rule_of(CFA_PLT, ARCH_SP, 11);
  auto early = registers(kBase + 8), late = registers(kBase);
  early.ip = 0x40100a;
  late.ip = 0x40100b;
  ASSERT_EQ(unwind_step(&stack, &rule, &early), END_NONE);
  EXPECT_EQ(early.ip, 0x401111u);
  ASSERT_EQ(unwind_step(&stack, &rule, &late), END_NONE);
  EXPECT_EQ(late.ip, 0x401111u);
}

TEST(UnwindStep, SignalFrameGivesEveryRegister) {
  HostStack stack{kBase, std::vector<uint64_t>(5 + 17)};
  for (uint64_t i = 0; i < 17; i++) stack.words[5 + i] = 0x1000 + i;
  const auto rule = rule_of(CFA_SIGNAL, ARCH_SP, 0);
  auto regs = registers(kBase);
  regs.all_registers = regs.exact_ip = 0;
  ASSERT_EQ(unwind_step(&stack, &rule, &regs), END_NONE);
  EXPECT_EQ(regs.gpr[8], 0x1000u);    // r8
  EXPECT_EQ(regs.gpr[15], 0x1007u);   // r15
  EXPECT_EQ(regs.gpr[X86_RDI], 0x1008u);
  EXPECT_EQ(regs.gpr[ARCH_FP], 0x100au);
  EXPECT_EQ(regs.gpr[ARCH_SP], 0x100fu);
  EXPECT_EQ(regs.ip, 0x1010u);
  EXPECT_TRUE(regs.exact_ip && regs.all_registers);
  EXPECT_EQ(unwind_lookup_address(&regs), 0x1010u);
}

TEST(UnwindStep, CallerSavedCfaOnlyWhereItIsKnown) {
  HostStack stack{kBase, {0, 0x401111}};
  const auto rule = rule_of(CFA_OFFSET, X86_RAX, 16);
  auto leaf = registers(kBase), deeper = registers(kBase);
  leaf.gpr[X86_RAX] = deeper.gpr[X86_RAX] = kBase;
  deeper.all_registers = 0;
  EXPECT_EQ(unwind_step(&stack, &rule, &leaf), END_NONE);
  const unwind_regs before = deeper;
  EXPECT_EQ(unwind_step(&stack, &rule, &deeper), END_UNSUPPORTED_RULE);
  EXPECT_EQ(std::memcmp(&before, &deeper, sizeof before), 0);  // deferred unwinding needs them
}

TEST(UnwindStep, CodeMayLeaveAllRegistersAlone) {
  HostStack stack{kBase, {0x401111, 0x402222, 0x403333, 0x404444}};
  auto helper = rule_of(CFA_OFFSET, ARCH_SP, 8);
  helper.via_align = UNWIND_KEEPS_REGISTERS;
  const auto ordinary = rule_of(CFA_OFFSET, ARCH_SP, 8), by_r10 = rule_of(CFA_OFFSET, 10, 32);
  auto regs = registers(kBase);
  regs.gpr[10] = kBase;
  ASSERT_EQ(unwind_step(&stack, &helper, &regs), END_NONE);
  EXPECT_TRUE(regs.all_registers && !regs.exact_ip);
  ASSERT_EQ(unwind_step(&stack, &helper, &regs), END_NONE);
  auto other = regs;
  ASSERT_EQ(unwind_step(&stack, &by_r10, &regs), END_NONE);
  EXPECT_EQ(regs.ip, 0x404444U);
  EXPECT_FALSE(regs.all_registers) << "what has such a rule may itself be called by any function";
  ASSERT_EQ(unwind_step(&stack, &ordinary, &other), END_NONE);
  ASSERT_EQ(unwind_step(&stack, &helper, &other), END_NONE);
  EXPECT_FALSE(other.all_registers) << "lost is lost";
  other = registers(kBase + 16);
  other.gpr[10] = kBase - 16;  // by what the helper has written, the caller's frame is not above the helper's
  ASSERT_EQ(unwind_step(&stack, &helper, &other), END_NONE);
  EXPECT_EQ(unwind_step(&stack, &by_r10, &other), END_UNSUPPORTED_RULE);
  other = registers(kBase);
  ASSERT_EQ(unwind_step(&stack, &ordinary, &other), END_NONE);
  EXPECT_EQ(unwind_step(&stack, &by_r10, &other), END_UNSUPPORTED_RULE);
}

TEST(UnwindStep, RejectsWhatLeadsNowhere) {
  HostStack stack{kBase, {0, 0xffffffff81000000, 0}};
  auto at = [&](int32_t offset, uint64_t sp) {
    const auto rule = rule_of(CFA_OFFSET, ARCH_SP, offset);
    auto regs = registers(sp);
    return unwind_step(&stack, &rule, &regs);
  };
  EXPECT_EQ(at(8, kBase), END_ZERO_RA);
  EXPECT_EQ(at(16, kBase), END_UNMAPPED_PC);       // a kernel address
  EXPECT_EQ(at(4096, kBase), END_UNREADABLE);
  EXPECT_EQ(at(0, 0), END_UNREADABLE);
  EXPECT_EQ(at(-8, 4), END_UNREADABLE);            // wraps
  const auto none = rule_of(CFA_NONE, 0, 0), outermost = rule_of(CFA_OUTERMOST, 0, 0), strange = rule_of(static_cast<unwind_cfa_kind>(99), 0, 0);
  auto regs = registers(kBase);
  EXPECT_EQ(unwind_step(&stack, &none, &regs), END_NO_RULE);
  EXPECT_EQ(unwind_step(&stack, &outermost, &regs), END_OUTERMOST);
  EXPECT_EQ(unwind_step(&stack, &strange, &regs), END_UNSUPPORTED_RULE);
}

TEST(UnwindStepFramePointer, EndsAtZeroAndRefusesNonsense) {
  HostStack stack{kBase, {kBase + 16, 0x401111, 0, 0x402222, kBase + 32, 0x403333}};
  auto regs = registers(kBase, kBase);
  EXPECT_EQ(unwind_step_frame_pointer(&stack, &regs), END_NONE);
  EXPECT_EQ(regs.ip, 0x401111u);
  EXPECT_EQ(unwind_step_frame_pointer(&stack, &regs), END_NONE);
  EXPECT_EQ(unwind_step_frame_pointer(&stack, &regs), END_ZERO_RA);
  auto self = registers(kBase, kBase + 32), odd = registers(kBase, kBase + 3), away = registers(kBase, 8);
  EXPECT_EQ(unwind_step_frame_pointer(&stack, &self), END_BAD_FRAME_POINTER);
  EXPECT_EQ(unwind_step_frame_pointer(&stack, &odd), END_BAD_FRAME_POINTER);
  EXPECT_EQ(unwind_step_frame_pointer(&stack, &away), END_BAD_FRAME_POINTER);
}

TEST(UnwindStepFramePointer, ZeroIsTheOutermostFrameButInJitCode) {
  HostStack stack{kBase, {0}};
  auto rule = rule_of(CFA_FRAME_POINTER, 0, 0);
  auto regs = registers(kBase);
  EXPECT_EQ(unwind_step(&stack, &rule, &regs), END_ZERO_RA);
  rule.cfa_reg = UNWIND_JIT_CODE;
  EXPECT_EQ(unwind_step(&stack, &rule, &regs), END_BAD_FRAME_POINTER);
}

TEST(UnwindStepFramePointer, Walks32BitFrames) {
  HostStack stack{0xff001000, {0x0804900100000000ull + 0xff001008, 0x0804900200000000ull}};
  auto regs = registers(0xff001000, 0xff001000);
  EXPECT_EQ(unwind_step_frame_pointer_32(&stack, &regs), END_NONE);
  EXPECT_EQ(regs.ip, 0x08049001u);
  EXPECT_EQ(unwind_step_frame_pointer_32(&stack, &regs), END_NONE);
  EXPECT_EQ(unwind_step_frame_pointer_32(&stack, &regs), END_ZERO_RA);
}

TEST(UnwindStepFast, AgreesWithTheFullStep) {
  std::mt19937_64 random(11);
  const auto pick = [&](uint64_t n) { return random() % n; };
  int taken = 0;
  for (int round = 0; round < 200'000; round++) {
    HostStack stack{kBase, std::vector<uint64_t>(24)};
    for (uint64_t& word : stack.words) {
      const uint64_t choices[] = {0, 0x401000 + pick(4096), kBase + 8 * pick(32), 0xffffffff81000000, ARCH_USER_END, 1};
      word = choices[pick(6)];
    }
    auto rule = rule_of(pick(8) ? CFA_OFFSET : static_cast<unwind_cfa_kind>(pick(8)), static_cast<uint8_t>(pick(8) ? (pick(2) ? 6 : 7) : pick(16)),
                        static_cast<int32_t>(8 * pick(16)) - 8);
    if (pick(2)) rule.saved[SAVED_RBP] = static_cast<int8_t>(-2 - static_cast<int>(pick(4)));
    if (pick(16) == 0) rule.via_base = static_cast<uint8_t>(random());
    if (pick(16) == 0) rule.via_align = static_cast<uint8_t>(random());
    auto full = registers(kBase + 8 * pick(24), kBase + 8 * pick(24));
    full.exact_ip = 0;  // of copies, which the fast path does not read, an epilogue's slots may be missing
    unwind_fast_regs fast{full.ip, full.gpr[ARCH_SP], full.gpr[ARCH_FP]};
    const unwind_fast_regs before = fast;
    const int reason = unwind_step_fast(&stack, &rule, &fast);
    if (reason == UNWIND_NOT_FAST) {
      EXPECT_EQ(std::memcmp(&before, &fast, sizeof fast), 0);
      continue;
    }
    taken++;
    ASSERT_EQ(reason, unwind_step(&stack, &rule, &full));
    if (reason != END_NONE) continue;
    ASSERT_EQ(fast.ip, full.ip);
    ASSERT_EQ(fast.sp, full.gpr[ARCH_SP]);
    ASSERT_EQ(fast.fp, full.gpr[ARCH_FP]);
  }
  EXPECT_GT(taken, 100'000);
}

// What the fast path steps with the full step must not depend on registers it does not carry.
TEST(UnwindStepFast, SaysWhenMoreRegistersAreNeeded) {
  std::mt19937_64 random(12);
  int without = 0;
  for (int round = 0; round < 200'000; round++) {
    HostStack stack{kBase, std::vector<uint64_t>(24)};
    for (uint64_t& word : stack.words) word = kBase + 8 * (random() % 24);
    unwind_rule rule{};
    rule.cfa_kind = static_cast<uint8_t>(random() % 8);
    rule.cfa_reg = static_cast<uint8_t>(random() % 16);
    rule.cfa_offset = static_cast<int32_t>(8 * (random() % 8));
    rule.via_base = static_cast<uint8_t>(random());
    if (random() % 4 == 0) rule.via_align = static_cast<uint8_t>(random());
    for (auto& saved : rule.saved) saved = static_cast<int8_t>(random() % 3 ? 0 : -2);
    if (unwind_needs_registers(&rule)) continue;
    without++;
    unwind_regs one{}, other{};
    for (auto& value : other.gpr) value = kBase + 8 * (random() % 24);
    one.ip = other.ip = 0x401000 + random() % 64;
    one.gpr[ARCH_SP] = other.gpr[ARCH_SP] = kBase + 8 * (random() % 24);
    one.gpr[ARCH_FP] = other.gpr[ARCH_FP] = kBase + 8 * (random() % 24);
    const int reason = unwind_step(&stack, &rule, &one);
    ASSERT_EQ(reason, unwind_step(&stack, &rule, &other));
    if (reason != END_NONE) continue;
    ASSERT_EQ(one.ip, other.ip);
    ASSERT_EQ(one.gpr[ARCH_SP], other.gpr[ARCH_SP]);
    ASSERT_EQ(one.gpr[ARCH_FP], other.gpr[ARCH_FP]);
  }
  EXPECT_GT(without, 50'000);
}

}  // namespace
