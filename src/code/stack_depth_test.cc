// SPDX-License-Identifier: Apache-2.0
#include "code/stack_depth.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace cicada::code {
namespace {

using Code = std::vector<uint8_t>;
constexpr uint32_t kBegin = 0x1000;

std::vector<StackRange> find(const Code& code, std::initializer_list<std::pair<uint32_t, uint32_t>> functions) {
  StackDepths depths;
  depths.add_code(kBegin, code);
  for (const auto& [begin, size] : functions) depths.add_function(kBegin + begin, size);
  return depths.find();
}
// 0: no rule; otherwise the CFA's distance from rsp, or minus that from rbp.
int depth_at(const std::vector<StackRange>& ranges, uint32_t at) {
  for (const StackRange& range : ranges) {
    if (range.begin > kBegin + at || kBegin + at >= range.end) continue;
    const unwind_rule rule = range.state.to_rule();
    return rule.cfa_reg == 7 ? rule.cfa_offset : -rule.cfa_offset;
  }
  return 0;
}
int saved_at(const std::vector<StackRange>& ranges, uint32_t at, unwind_saved slot) {
  for (const StackRange& range : ranges) {
    if (range.begin <= kBegin + at && kBegin + at < range.end) return range.state.to_rule().saved[slot];
  }
  return 99;
}

TEST(StackDepths, FollowsPushesAndTheirRegisters) {
  const Code code = {0x41, 0x54, 0x55, 0x48, 0x83, 0xec, 0x18, 0x31, 0xed, 0x48, 0x83, 0xc4, 0x18, 0x5d, 0x41, 0x5c, 0xc3};
  const auto ranges = find(code, {{0, 17}});
  EXPECT_EQ(depth_at(ranges, 0), 8);
  EXPECT_EQ(depth_at(ranges, 2), 16);
  EXPECT_EQ(depth_at(ranges, 7), 48);
  EXPECT_EQ(saved_at(ranges, 7, SAVED_R12), -2);
  EXPECT_EQ(saved_at(ranges, 7, SAVED_RBP), -3);
  EXPECT_EQ(depth_at(ranges, 16), 8);
  EXPECT_EQ(saved_at(ranges, 16, SAVED_RBP), 0);
}

TEST(StackDepths, UsesTheFramePointerWhereTheStackIsRealigned) {
  // push %rbp; mov %rsp,%rbp; and $-32,%rsp; nop; leave; ret
  const auto ranges = find({0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xe0, 0x90, 0xc9, 0xc3}, {{0, 11}});
  EXPECT_EQ(depth_at(ranges, 1), 16);
  EXPECT_EQ(depth_at(ranges, 8), -16);
  EXPECT_EQ(saved_at(ranges, 8, SAVED_RBP), -2);
  EXPECT_EQ(depth_at(ranges, 10), 8);
}

TEST(StackDepths, PrefersTheFramePointerWhereThereIsAFrame) {
  // push %rbp; mov %rsp,%rbp; push $1; call *%rax; nop; leave; ret: who knows what the callee has popped
  const auto ranges = find({0x55, 0x48, 0x89, 0xe5, 0x6a, 0x01, 0xff, 0xd0, 0x90, 0xc9, 0xc3}, {{0, 11}});
  EXPECT_EQ(depth_at(ranges, 1), 16) << "not set up yet";
  for (const uint32_t at : {4u, 6u, 8u, 9u}) EXPECT_EQ(depth_at(ranges, at), -16) << at;
  EXPECT_EQ(depth_at(ranges, 10), 8);
  // push %rbp; push %rbx; mov %rsp,%rbp; nop; pop %rbx; pop %rbp; ret: no frame
  EXPECT_EQ(depth_at(find({0x55, 0x53, 0x48, 0x89, 0xe5, 0x90, 0x5b, 0x5d, 0xc3}, {{0, 9}}), 5), 24);
}

TEST(StackDepths, FollowsSavesByStores) {
  // mov %rbx,-8(%rsp); sub $24,%rsp; xor %ebx,%ebx; mov 16(%rsp),%rbx; add $24,%rsp; ret
  const auto ranges = find({0x48, 0x89, 0x5c, 0x24, 0xf8, 0x48, 0x83, 0xec, 0x18, 0x31, 0xdb, 0x48, 0x8b, 0x5c, 0x24, 0x10, 0x48, 0x83, 0xc4, 0x18, 0xc3}, {{0, 21}});
  EXPECT_EQ(saved_at(ranges, 9, SAVED_RBX), -2);
  EXPECT_EQ(saved_at(ranges, 16, SAVED_RBX), 0);
  EXPECT_EQ(depth_at(ranges, 20), 8);
}

TEST(StackDepths, GivesUpWhereTwoWaysDisagree) {
  // test; je +1; push %rax; ret
  EXPECT_TRUE(find({0x85, 0xff, 0x74, 0x01, 0x50, 0xc3}, {{0, 6}}).empty());
  EXPECT_TRUE(find({0x50, 0xc3}, {{0, 2}}).empty());              // returns too deep
  EXPECT_TRUE(find({0x58, 0xff, 0xe0}, {{0, 3}}).empty());        // pops its return address
  EXPECT_TRUE(find({0xe8, 0, 0, 0, 0, 0x58, 0xc3}, {{0, 7}}).empty());  // calls the next instruction
  EXPECT_TRUE(find({0x06, 0xc3}, {{0, 2}}).empty());              // no instruction
}

TEST(StackDepths, KnowsByContradictionThatACallDoesNotReturn) {
  // 0: test; je 9; push %rax; call 20; 9: ret …  20: hlt
  Code code(24, 0xcc);
  const Code begin = {0x85, 0xff, 0x74, 0x06, 0x50, 0xe8, 0x0a, 0, 0, 0, 0xc3};
  std::copy(begin.begin(), begin.end(), code.begin());
  code[20] = 0x90, code[21] = 0x90;
  const auto ranges = find(code, {{0, 11}});
  EXPECT_EQ(depth_at(ranges, 5), 16);
  EXPECT_EQ(depth_at(ranges, 10), 8);
  EXPECT_EQ(depth_at(ranges, 20), 8) << "found by the call to it";
}

TEST(StackDepths, GivesCodeBehindAJumpTableTheStateOfTheJump) {
  // push %rbx; jmp *%rax; pop %rbx; ret; nop; pop %rbx; ret
  const auto ranges = find({0x53, 0xff, 0xe0, 0x5b, 0xc3, 0x90, 0x5b, 0xc3}, {{0, 8}});
  EXPECT_EQ(depth_at(ranges, 3), 16);
  EXPECT_EQ(depth_at(ranges, 4), 8);
  EXPECT_EQ(depth_at(ranges, 6), 16);
  // Two jumps that differ: nothing is said.
  EXPECT_EQ(depth_at(find({0x74, 0x03, 0x53, 0xff, 0xe0, 0xff, 0xe0, 0x5b, 0xc3}, {{0, 9}}), 7), 0);
}

TEST(StackDepths, FollowsPartsThatLieElsewhere) {
  // 0: push %rbx; jmp 8; 3: pop %rbx; ret      8: nop; jmp 3
  Code code(16, 0xcc);
  const Code begin = {0x53, 0xeb, 0x05, 0x5b, 0xc3, 0xcc, 0xcc, 0xcc, 0x90, 0xeb, 0xf8};
  std::copy(begin.begin(), begin.end(), code.begin());
  EXPECT_EQ(depth_at(find(code, {{0, 5}}), 8), 16);
}

TEST(StackDepths, LoopsOfStackProbesEndWhereTheyBegan) {
  // lea -0x2000(%rsp),%r11; sub $0x1000,%rsp; orq $0,(%rsp); cmp %r11,%rsp; jne; sub $8,%rsp; add $0x2008,%rsp; ret
  const auto ranges = find({0x4c, 0x8d, 0x9c, 0x24, 0, 0xe0, 0xff, 0xff, 0x48, 0x81, 0xec, 0, 0x10, 0, 0, 0x48, 0x83, 0x0c, 0x24, 0, 0x4c,
                            0x39, 0xdc, 0x75, 0xef, 0x48, 0x83, 0xec, 0x08, 0x48, 0x81, 0xc4, 0x08, 0x20, 0, 0, 0xc3},
                           {{0, 37}});
  EXPECT_EQ(depth_at(ranges, 15), -0x2008) << "from r11";
  EXPECT_EQ(depth_at(ranges, 25), 0x2008);
  EXPECT_EQ(depth_at(ranges, 36), 8);
}

unwind_rule rule_at(const std::vector<StackRange>& ranges, uint32_t at) {
  for (const StackRange& range : ranges)
    if (range.begin <= kBegin + at && kBegin + at < range.end) return range.state.to_rule();
  return {};
}

// mov %rsp,%rcx; and $-16,%rsp; sub $48,%rsp; vpaddw %xmm0,%xmm1,%xmm1; mov %rcx,%rsp; ret
const Code kKeptInRegister = {0x48, 0x89, 0xe1, 0x48, 0x83, 0xe4, 0xf0, 0x48, 0x83, 0xec, 0x30, 0xc5, 0xf1, 0xfd, 0xc8, 0x48, 0x89, 0xcc, 0xc3};

TEST(StackDepths, FindsWhereARegisterKeepsTheStackThatIsRealigned) {
  const auto ranges = find(kKeptInRegister, {{0, 19}});
  for (const uint32_t at : {7u, 11u, 15u}) {
    EXPECT_EQ(rule_at(ranges, at).cfa_kind, CFA_OFFSET) << at;
    EXPECT_EQ(rule_at(ranges, at).cfa_reg, 2) << "rcx";
    EXPECT_EQ(rule_at(ranges, at).cfa_offset, 8);
  }
  EXPECT_EQ(depth_at(ranges, 18), 8);
  // Written to in between: nothing is known.
  Code code = kKeptInRegister;
  const Code writes = {0x48, 0x0f, 0xaf, 0xc8};  // imul %rax,%rcx
  std::copy(writes.begin(), writes.end(), code.begin() + 11);
  EXPECT_EQ(rule_at(find(code, {{0, 19}}), 15).cfa_kind, CFA_NONE);
  const Code writes_unsaid = {0x0f, 0xa2, 0x90, 0x90};  // cpuid
  std::copy(writes_unsaid.begin(), writes_unsaid.end(), code.begin() + 11);
  EXPECT_EQ(rule_at(find(code, {{0, 19}}), 15).cfa_kind, CFA_NONE);
  for (const Code& other : {Code{0xc5, 0xfb, 0x93, 0xca}, Code{0xfe, 0xc5, 0x90, 0x90}, Code{0x80, 0xcd, 0x20, 0x90}, Code{0xe2, 0x00, 0x90, 0x90}}) {  // kmovd %k2,%ecx; dec %ch; or $32,%ch; loop
    std::copy(other.begin(), other.end(), code.begin() + 11);
    EXPECT_EQ(rule_at(find(code, {{0, 19}}), 15).cfa_kind, CFA_NONE) << int{other[0]};
  }
}

TEST(StackDepths, WhatIsStoredOverTheKeptStackEndsThat) {
  // mov %rsp,%rax; and $-32,%rsp; push %rax; …; nop; ret
  const auto after = [](const Code& then) {
    Code code = {0x48, 0x89, 0xe0, 0x48, 0x83, 0xe4, 0xe0, 0x50};
    code.insert(code.end(), then.begin(), then.end());
    const auto at = static_cast<uint32_t>(code.size());
    code.insert(code.end(), {0x90, 0xc3});
    return rule_at(find(code, {{0, at + 2}}), at);
  };
  EXPECT_EQ(after({0x90}).cfa_kind, CFA_DEREF);
  EXPECT_EQ(after({0xc5, 0xfd, 0x7f, 0x44, 0x24, 0x20}).cfa_kind, CFA_DEREF) << "vmovdqa %ymm0,0x20(%rsp)";
  for (const Code& store : {Code{0x89, 0x0c, 0x24}, Code{0xc5, 0xfd, 0x7f, 0x44, 0x24, 0xe8}, Code{0x62, 0xf1, 0xfe, 0x48, 0x7f, 0x0c, 0x24}, Code{0x9d}}) {
    EXPECT_EQ(after(store).cfa_kind, CFA_OFFSET) << "from rax, after " << int{store[0]};
    EXPECT_EQ(after(store).cfa_reg, 0);
  }
}

TEST(StackDepths, FindsWhereMemoryKeepsTheStackThatIsRealigned) {
  // 0: mov %rsp,%rax; 3: push %rbx; 4: sub $64,%rsp; 8: and $-64,%rsp; 12: mov %rax,0x30(%rsp); 17: xor %eax,%eax; 19: push %rcx; 20: pop %rcx;
  // 21: mov 0x30(%rsp),%rax; 26: mov -8(%rax),%rbx; 30: lea (%rax),%rsp; 33: ret
  const auto ranges = find({0x48, 0x89, 0xe0, 0x53, 0x48, 0x83, 0xec, 0x40, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x89, 0x44, 0x24, 0x30, 0x31, 0xc0, 0x51, 0x59,
                            0x48, 0x8b, 0x44, 0x24, 0x30, 0x48, 0x8b, 0x58, 0xf8, 0x48, 0x8d, 0x20, 0xc3},
                           {{0, 34}});
  EXPECT_EQ(rule_at(ranges, 12).cfa_reg, 0) << "rax";
  EXPECT_EQ(rule_at(ranges, 12).cfa_offset, 8);
  EXPECT_EQ(rule_at(ranges, 12).saved[SAVED_RBX], -2);
  for (const auto& [at, offset] : {std::pair(17u, 0x30), {19u, 0x30}, {20u, 0x38}, {21u, 0x30}, {26u, 0x30}, {30u, 0x30}}) {
    EXPECT_EQ(rule_at(ranges, at).cfa_kind, CFA_DEREF) << at;
    EXPECT_EQ(rule_at(ranges, at).cfa_reg, 7);
    EXPECT_EQ(rule_at(ranges, at).cfa_offset, offset) << at;
    EXPECT_EQ(rule_at(ranges, at).cfa_addend, 8);
  }
  EXPECT_EQ(rule_at(ranges, 30).saved[SAVED_RBX], 0);
  EXPECT_EQ(depth_at(ranges, 33), 8);
}

// As GMP's __gmpn_sqr_basecase: what has not been written to is not restored.
TEST(StackDepths, EndsRestoreWhatWasWrittenTo) {
  // 0: add $-16,%rsp; 4: mov %rbx,8(%rsp); 9: mov %r12,(%rsp); 13: test %edi,%edi; 15: je 26; 17: mov %rdi,%rbx; 20: add $8,%rsp; 24: pop %rbx; 25: ret
  // 26: add $16,%rsp; 30: ret
  const Code code = {0x48, 0x83, 0xc4, 0xf0, 0x48, 0x89, 0x5c, 0x24, 0x08, 0x4c, 0x89, 0x24, 0x24, 0x85, 0xff, 0x74, 0x09, 0x48, 0x89,
               0xfb, 0x48, 0x83, 0xc4, 0x08, 0x5b, 0xc3, 0x48, 0x83, 0xc4, 0x10, 0xc3};
  const auto ranges = find(code, {{0, 31}});
  EXPECT_EQ(depth_at(ranges, 13), 24);
  EXPECT_EQ(saved_at(ranges, 13, SAVED_RBX), -2);
  EXPECT_EQ(saved_at(ranges, 13, SAVED_R12), -3);
  EXPECT_EQ(depth_at(ranges, 24), 16);
  EXPECT_EQ(saved_at(ranges, 24, SAVED_RBX), -2);
  EXPECT_EQ(saved_at(ranges, 24, SAVED_R12), 0);
  EXPECT_EQ(depth_at(ranges, 30), 8);
  EXPECT_EQ(saved_at(ranges, 30, SAVED_RBX), 0);
  // mov %rdi,%rbx on the other way, too: it would come back changed.
  Code wrong = code;
  wrong.insert(wrong.begin() + 26, {0x48, 0x89, 0xfb});
  EXPECT_TRUE(find(wrong, {{0, 34}}).empty());
}

TEST(StackDepths, ASlotThatHasLeftTheStackIsStillARegistersValue) {
  // push %rbx; test %edi,%edi; je +7; call f (at 24); mov %eax,%ebx; add $8,%rsp; mov -8(%rsp),%rbx; ret
  Code code = {0x53, 0x85, 0xff, 0x74, 0x07, 0xe8, 0x0e, 0, 0, 0, 0x89, 0xc3, 0x48, 0x83, 0xc4, 0x08, 0x48, 0x8b, 0x5c, 0x24, 0xf8, 0xc3, 0x90, 0x90, 0xc3};
  const auto ranges = find(code, {{0, 22}, {24, 1}});
  EXPECT_EQ(depth_at(ranges, 16), 8);
  EXPECT_EQ(saved_at(ranges, 16, SAVED_RBX), -2);
  EXPECT_EQ(saved_at(ranges, 21, SAVED_RBX), 0);
  // Without the last load it is no function.
  code.erase(code.begin() + 16, code.begin() + 21);
  EXPECT_EQ(depth_at(find(code, {{0, 17}}), 12), 0);
}

TEST(StackDepths, ChangedRegistersAreNotTakenForTheCallers) {
  // push %rbx; pop %rax; WRITE; mov %rax,%rbx; ret
  const auto depth_with = [](const Code& write) {
    Code code = {0x53, 0x58};
    code.insert(code.end(), write.begin(), write.end());
    code.insert(code.end(), {0x48, 0x89, 0xc3, 0xc3});
    return depth_at(find(code, {{0, static_cast<uint32_t>(code.size())}}), 2);
  };
  EXPECT_EQ(depth_with({0x48, 0x89, 0xfb}), 0);              // mov %rdi,%rbx
  // push %rbx; WRITE; add $8,%rsp; ret
  const auto accepted = [](const Code& write) {
    Code code = {0x53};
    code.insert(code.end(), write.begin(), write.end());
    code.insert(code.end(), {0x48, 0x83, 0xc4, 0x08, 0xc3});
    return depth_at(find(code, {{0, static_cast<uint32_t>(code.size())}}), 1) != 0;
  };
  EXPECT_TRUE(accepted({0x90}));
  EXPECT_TRUE(accepted({0x89, 0xf8}));                         // mov %edi,%eax
  EXPECT_FALSE(accepted({0xb7, 0x01}));                        // mov $1,%bh
  EXPECT_FALSE(accepted({0x48, 0x87, 0xfb}));                  // xchg %rdi,%rbx
  EXPECT_FALSE(accepted({0x0f, 0x44, 0xdf}));                  // cmove %edi,%ebx
  EXPECT_FALSE(accepted({0xf3, 0x0f, 0xb8, 0xdf}));            // popcnt %edi,%ebx
  EXPECT_FALSE(accepted({0x0f, 0xa2}));                        // cpuid
  EXPECT_FALSE(accepted({0xc4, 0xe2, 0xe3, 0xf6, 0xc7}));      // mulx %rdi,%rbx,%rax
  EXPECT_FALSE(accepted({0x50, 0x5b}));                        // push %rax; pop %rbx
}

// `in_data`: data has the address of this place in the code.
std::vector<StackRange> find_assembly(const Code& code, std::optional<uint32_t> in_data = std::nullopt) {
  StackDepths depths;
  depths.set_assembly();
  depths.add_code(kBegin, code);
  if (in_data) depths.add_candidate(kBegin + *in_data);
  return depths.find();
}

TEST(StackDepths, AssemblyBeginsWhereAnotherFunctionHasEnded) {
  // 0: push %rbx; pop %rbx; ret   16: sub $24,%rsp; jmp 32   32: add $24,%rsp; ret   48: push %rbx; ret (what is no function)
  Code code(64, 0xcc);
  const auto put = [&](size_t at, const Code& bytes) { std::copy(bytes.begin(), bytes.end(), code.begin() + static_cast<ptrdiff_t>(at)); };
  put(0, {0x53, 0x5b, 0xc3});
  put(16, {0x48, 0x83, 0xec, 0x18, 0xeb, 0x0a});
  put(32, {0x48, 0x83, 0xc4, 0x18, 0xc3});
  put(48, {0x53, 0xc3});
  const auto ranges = find_assembly(code);
  EXPECT_EQ(depth_at(ranges, 1), 16);
  EXPECT_EQ(depth_at(ranges, 20), 32);
  EXPECT_EQ(depth_at(ranges, 32), 32) << "the loop of a function, and no function";
  EXPECT_EQ(depth_at(ranges, 48), 0);
  EXPECT_TRUE(find(code, {}).empty());
}

TEST(StackDepths, WhatGoesOnBehindASwitchOfStacksIsNoFunction) {
  // 0: test %edi,%edi; jz 32; nops; 13: mov %rdi,%rsp, or jmp 32   16: jmp *%rax   32: ret
  const auto depth_behind = [](const Code& before) {
    Code code(48, 0xcc);
    const auto put = [&](size_t at, const Code& bytes) { std::copy(bytes.begin(), bytes.end(), code.begin() + static_cast<ptrdiff_t>(at)); };
    put(0, {0x85, 0xff, 0x74, 0x1c, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90});
    put(13, before);
    put(16, {0xff, 0xe0});
    put(32, {0xc3});
    const auto ranges = find_assembly(code, 0);
    EXPECT_EQ(depth_at(ranges, 13), 8);
    EXPECT_EQ(depth_at(ranges, 32), 8);
    return depth_at(ranges, 16);
  };
  EXPECT_EQ(depth_behind({0x48, 0x89, 0xfc}), 0);
  EXPECT_EQ(depth_behind({0x90, 0xeb, 0x10}), 8) << "a function, behind one that has ended";
}

TEST(StackDepths, AlignedCodeBehindATailJumpOfAssemblyIsAnotherFunction) {
  // 0: jmp *%rcx; 2: ret (a case) 16: push %rbx; pop %rbx; ret
  Code code(32, 0x90);
  const auto put = [&](size_t at, const Code& bytes) { std::copy(bytes.begin(), bytes.end(), code.begin() + static_cast<ptrdiff_t>(at)); };
  put(0, {0xff, 0xe1, 0xc3});
  put(16, {0x53, 0x5b, 0xc3});
  StackDepths depths;
  depths.set_assembly();
  depths.add_code(kBegin, code);
  const auto functions = depths.find_functions();
  ASSERT_EQ(functions.size(), 2U);
  EXPECT_EQ(functions[0].function, kBegin);
  EXPECT_EQ(functions[0].end, kBegin + 3);
  EXPECT_EQ(functions[1].function, kBegin + 16);
  EXPECT_EQ(functions[1].end, kBegin + 19);
}

TEST(StackDepths, AssemblyKnowsWhatItsCalleesLeaveAlone) {
  // 0: mov %rsp,%rcx; and $-16,%rsp; 7: call 32; 12: mov %rcx,%rsp; ret   32: ret
  Code code(33, 0xcc);
  const Code caller = {0x48, 0x89, 0xe1, 0x48, 0x83, 0xe4, 0xf0, 0xe8, 0x14, 0, 0, 0, 0x48, 0x89, 0xcc, 0xc3};
  std::copy(caller.begin(), caller.end(), code.begin());
  code[32] = 0xc3;
  EXPECT_EQ(rule_at(find_assembly(code), 12).cfa_reg, 2);
  EXPECT_EQ(depth_at(find_assembly(code), 15), 8);
  EXPECT_EQ(rule_at(find(code, {{0, 16}, {32, 1}}), 12).cfa_kind, CFA_NONE) << "compilers do not";
  code[8] = 0x14, code[9] = 0x10;
  EXPECT_EQ(rule_at(find_assembly(code), 12).cfa_kind, CFA_NONE) << "a call of code that is not here";
}

TEST(StackDepths, APartOfAFunctionOfAssemblyIsNone) {
  // 0: sub $24,%rsp; test; je 16; jmp *%rax; data   16: add $24,%rsp; ret   32: addps; jmp 16   48: mulps; jmp 16: cases of the jump table
  Code code(64, 0x90);
  const auto put = [&](size_t at, const Code& bytes) { std::copy(bytes.begin(), bytes.end(), code.begin() + static_cast<ptrdiff_t>(at)); };
  put(0, {0x48, 0x83, 0xec, 0x18, 0x85, 0xff, 0x74, 0x08, 0xff, 0xe0, 6, 6, 6, 6, 6, 6});
  put(16, {0x48, 0x83, 0xc4, 0x18, 0xc3, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6});
  put(32, {0x0f, 0x58, 0xc1, 0xeb, 0xeb});
  put(48, {0x0f, 0x59, 0xc1, 0xeb, 0xdb});
  const auto ranges = find_assembly(code);
  EXPECT_EQ(depth_at(ranges, 16), 32);
  EXPECT_NE(depth_at(ranges, 32), 8);
  EXPECT_NE(depth_at(ranges, 48), 8);
  // What goes on with another stack than its own: V8's interpreter enters compiled code so.
  EXPECT_EQ(depth_at(find_assembly({0x48, 0x8b, 0x45, 0xf0, 0x53, 0xff, 0xe1}), 4), 0);
}

// A function that jumps to where r8 says, 32 bytes below its CFA; a helper; and what r8 says, which lies right behind that and is `block`.
Code code_with_block(const Code& block) {
  Code code(96, 0xcc);
  const auto put = [&](size_t at, const Code& bytes) { std::copy(bytes.begin(), bytes.end(), code.begin() + static_cast<ptrdiff_t>(at)); };
  put(0, {0x4c, 0x8d, 0x05, 0x1d, 0, 0, 0});                              // 0: lea 36(%rip),%r8
  put(7, {0x48, 0x83, 0xec, 0x18, 0xe8, 0x10, 0, 0, 0, 0x41, 0xff, 0xe0});  // sub $24,%rsp; call 32; 16: jmp *%r8
  put(32, {0x31, 0xc0, 0x90, 0xc3});                                        // xor %eax,%eax; nop; ret
  put(36, block);
  return code;
}

TEST(StackDepths, BlocksOfAssemblyHaveTheStackOfTheJumpBefore) {
  // cltd; add $24,%rsp; ret
  const auto ranges = find_assembly(code_with_block({0x99, 0x48, 0x83, 0xc4, 0x18, 0xc3}), 0);
  EXPECT_EQ(depth_at(ranges, 0), 8);
  EXPECT_EQ(depth_at(ranges, 16), 32);
  EXPECT_EQ(depth_at(ranges, 36), 32);
  EXPECT_EQ(depth_at(ranges, 41), 8);
  // What returns with another stack is no such block, and then nothing shows that what jumps is a function.
  const auto other = find_assembly(code_with_block({0x99, 0x48, 0x83, 0xc4, 0x10, 0xc3}), 0);
  EXPECT_EQ(depth_at(other, 0), 0);
  EXPECT_EQ(depth_at(other, 36), 0);
  EXPECT_EQ(depth_at(other, 32), 8);
  // Nor is it shown for what nothing refers to.
  EXPECT_EQ(depth_at(find_assembly(code_with_block({0x99, 0x48, 0x83, 0xc4, 0x18, 0xc3})), 0), 0);
}

TEST(StackDepths, BlocksOfAssemblyMayJumpToWhatIsKnown) {
  // 64: sub $24,%rsp; 68: nop; add $24,%rsp; ret
  const auto with_end = [](uint8_t distance) {
    Code code = code_with_block({0x99, 0xeb, distance});
    const Code end = {0x48, 0x83, 0xec, 0x18, 0x90, 0x48, 0x83, 0xc4, 0x18, 0xc3};
    std::copy(end.begin(), end.end(), code.begin() + 64);
    return find_assembly(code, 0);
  };
  const auto ranges = with_end(29);  // to 68
  EXPECT_EQ(depth_at(ranges, 68), 32);
  EXPECT_EQ(depth_at(ranges, 36), 32);
  EXPECT_EQ(depth_at(ranges, 0), 8);
  EXPECT_EQ(depth_at(with_end(25), 36), 0) << "it has another stack where the other function begins";
  EXPECT_EQ(depth_at(with_end(34), 36), 0) << "and where it returns";
}

TEST(StackDepths, AGuessThatFailsLeavesNothing) {
  // 16: push %rbx; jmp *%rcx, which is no function; 19: test %edi,%edi; je 25; pop %rbx; ret; 25: jmp 4
  Code code(48, 0xcc);
  const auto put = [&](size_t at, const Code& bytes) { std::copy(bytes.begin(), bytes.end(), code.begin() + static_cast<ptrdiff_t>(at)); };
  put(0, {0xc3});
  put(16, {0x53, 0xff, 0xe1, 0x85, 0xff, 0x74, 0x02, 0x5b, 0xc3, 0xeb, 0xe9});
  EXPECT_EQ(depth_at(find_assembly(code), 17), 0);
  put(25, {0x5b, 0xc3, 0xcc});  // pop %rbx; ret instead
  EXPECT_EQ(depth_at(find_assembly(code), 17), 16);
}

TEST(StackDepths, AWordThatIsPushedOverASaveIsNoSave) {
  // push %rbp; add $8,%rsp; push %rax; cltd; pop %rax; ret
  const auto ranges = find({0x55, 0x48, 0x83, 0xc4, 0x08, 0x50, 0x99, 0x58, 0xc3}, {{0, 9}});
  EXPECT_EQ(depth_at(ranges, 6), 16);
  EXPECT_EQ(saved_at(ranges, 6, SAVED_RBP), 0);
  // With xor %ebp,%ebp before: what rbp was is lost.
  EXPECT_TRUE(find({0x55, 0x31, 0xed, 0x48, 0x83, 0xc4, 0x08, 0x50, 0x99, 0x58, 0xc3}, {{0, 11}}).empty());
}

TEST(StackDepths, CodeThatUsesItsCallersFrameIsNoFunction) {
  // 0: ret   16: mov -16(%rbp),%rdi; jmp *%rax (V8's interpreter goes on so)   32: call 16; ret
  Code code(48, 0xcc);
  const auto put = [&](size_t at, const Code& bytes) { std::copy(bytes.begin(), bytes.end(), code.begin() + static_cast<ptrdiff_t>(at)); };
  put(0, {0xc3});
  put(16, {0x48, 0x8b, 0x7d, 0xf0, 0xff, 0xe0});
  EXPECT_EQ(depth_at(find_assembly(code), 16), 0);
  put(32, {0xe8, 0xeb, 0xff, 0xff, 0xff, 0xc3});
  EXPECT_EQ(depth_at(find_assembly(code), 16), 8) << "it is called";
}

TEST(StackDepths, BelievesNothingOfCodeThatRunsAtTwoDepths) {
  // 0: sub $24,%rsp; jmp 33   32: cltd; cltd; jmp *%rax
  Code code(48, 0xcc);
  const auto put = [&](size_t at, const Code& bytes) { std::copy(bytes.begin(), bytes.end(), code.begin() + static_cast<ptrdiff_t>(at)); };
  put(32, {0x99, 0x99, 0xff, 0xe0});
  EXPECT_EQ(depth_at(find_assembly(code, 0), 33), 8);
  put(0, {0x48, 0x83, 0xec, 0x18, 0xeb, 0x1b});
  EXPECT_EQ(depth_at(find_assembly(code, 0), 33), 0);
}

TEST(StackDepths, AssemblyHasABudget) {
  // A hundred functions jump to the same 20,000 instructions and an impossible one; behind them is a good one.
  constexpr size_t kBad = 100, kPlace = 2048, kLong = 20'000;
  Code code(kPlace + kLong, 0x90);
  for (size_t i = 0; i < kBad; ++i) {
    const auto distance = static_cast<uint32_t>(kPlace - 16 * i - 5);
    code[16 * i] = 0xe9, code[16 * i + 1] = static_cast<uint8_t>(distance), code[16 * i + 2] = static_cast<uint8_t>(distance >> 8), code[16 * i + 3] = code[16 * i + 4] = 0;
  }
  const Code good = {0x53, 0x5b, 0xc3};
  std::copy(good.begin(), good.end(), code.begin() + 16 * kBad);
  code.back() = 0x06;
  EXPECT_EQ(depth_at(find_assembly(code), 16 * kBad + 1), 0) << "what is looked at has a bound, and it was reached";
  EXPECT_EQ(depth_at(find_assembly(Code(code.begin() + 16 * (kBad - 1), code.end())), 17), 16);
}

// Whatever the bytes: disjoint, ascending, inside, in bounded time.
TEST(StackDepths, AnyBytes) {
  uint64_t random = 88172645463325252u;
  const auto next = [&] { return random ^= random << 13, random ^= random >> 7, random ^= random << 17; };
  static constexpr uint8_t kLikely[] = {0x50, 0x58, 0x55, 0x5d, 0xc3, 0xe8, 0xe9, 0xeb, 0x74, 0x75, 0x48, 0x83, 0xec, 0xc4, 0xff, 0xe0, 0xc9, 0, 1, 8};
  for (int round = 0; round < 3000; ++round) {
    Code code(1 + next() % 400);
    for (uint8_t& byte : code) byte = next() % 3 == 0 ? static_cast<uint8_t>(next()) : kLikely[next() % sizeof kLikely];
    StackDepths depths;
    if (round % 2 != 0) depths.set_assembly();
    depths.add_code(kBegin, code);
    for (uint64_t i = next() % 20; i > 0; --i) depths.add_function(static_cast<uint32_t>(kBegin + next() % (code.size() + 8)), static_cast<uint32_t>(next() % 64));
    for (uint64_t i = next() % 4; i > 0; --i) depths.add_candidate(static_cast<uint32_t>(next()));
    uint32_t last = kBegin;
    for (const StackRange& range : depths.find()) {
      ASSERT_GE(range.begin, last);
      ASSERT_LT(range.begin, range.end);
      ASSERT_LE(range.end, kBegin + code.size());
      last = range.end;
    }
  }
}

TEST(StackDepths, AStubTellsWhetherItsCallerGoesOn) {
  // sub $8,%rsp; call 0x20; then push %rbx, which is not reached; 0x20 is a stub outside
  const Code code = {0x48, 0x83, 0xec, 0x08, 0xe8, 0x17, 0, 0, 0, 0x53, 0xc3};
  for (const bool returns : {false, true}) {
    StackDepths depths;
    depths.add_code(kBegin, code);
    depths.add_function(kBegin, 0);
    if (!returns) depths.add_never_returning_slot(0x9000);
    depths.add_stub(kBegin + 0x20, 0x9000);
    const auto ranges = depths.find();
    EXPECT_EQ(depth_at(ranges, 4), returns ? 0 : 16) << "ret with rbx on top: not a function";
    EXPECT_EQ(depth_at(ranges, 9), 0);
  }
}

TEST(StackDepths, NothingIsConcludedFromJumpsToCodeThatIsReadLater) {
  // push %rbx; test; je 0x1000 with rbx on the stack; pop %rbx; ret
  const Code code = {0x53, 0x85, 0xff, 0x0f, 0x84, 0xf7, 0x0f, 0, 0, 0x5b, 0xc3};
  for (const bool unread : {false, true}) {
    StackDepths depths;
    depths.add_code(kBegin, code);
    depths.add_function(kBegin, 0);
    if (unread) depths.add_unread(kBegin, kBegin + 0x2000);
    const auto ranges = depths.find();
    EXPECT_EQ(depth_at(ranges, 1), unread ? 16 : 0) << "elsewhere is no code of a function: given up; a part of it may be read later";
  }
}

TEST(StackDepths, ALongChainOfCallsKeepsNoOthersOut) {
  // 200 times: call the next one; ret. Then push %rbx; pop %rbx; ret, of which only data has the address.
  Code code;
  constexpr size_t kCount = 200;
  for (size_t i = 0; i < kCount; ++i) code.insert(code.end(), {0xe8, 0x0b, 0, 0, 0, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc});
  code.insert(code.end(), {0x53, 0x5b, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc});  // the last call's
  code.insert(code.end(), {0x53, 0x5b, 0xc3});
  StackDepths depths;
  depths.add_code(kBegin, code);
  depths.add_function(kBegin, 0);
  depths.add_candidate(kBegin + 16 * (kCount + 1));
  const auto ranges = depths.find();
  EXPECT_EQ(depth_at(ranges, 0), 8);
  EXPECT_EQ(depth_at(ranges, 16 * (kCount + 1) + 1), 16);
}

}  // namespace
}  // namespace cicada::code
