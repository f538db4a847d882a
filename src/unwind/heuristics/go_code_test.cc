// SPDX-License-Identifier: Apache-2.0
#include "unwind/heuristics/go_code.h"

#include <gtest/gtest.h>

#include "elf/go_table_for_test.h"

namespace cicada::unwind {
namespace {

using elf::GoTableBuilder;

constexpr uint64_t kText = GoTableBuilder::kText;
constexpr uint8_t kTopFrame = elf::GoFunction::kTopFrame, kWritesStackPointer = elf::GoFunction::kWritesStackPointer;

// `code`: of all functions, from kText on.
std::vector<CodeRule> rules_of(const std::vector<uint8_t>& table, LinkAddr base, Bytes code = {}) {
  const auto functions = elf::GoFunctions::read(table);
  const auto code_at = [&](LinkAddr at) { return at.value - kText < code.size() ? code.subspan(at.value - kText) : Bytes(); };
  return functions ? find_go_rules(*functions, base, code_at) : std::vector<CodeRule>();
}

// sub $24,%rsp at 4, add at 60: values 0, 24, 0.
const std::vector<uint8_t> kFrame = {2, 4, 48, 56, 47, 4, 0};

TEST(FindGoRules, FollowsTheStackPointer) {
  for (const uint32_t magic : {0xfffffff0u, 0xfffffff1u}) {
    GoTableBuilder builder(magic);
    builder.add(64, kFrame);
    builder.add(32, {2, 32, 0});  // no frame
    const auto rules = rules_of(builder.build(), LinkAddr(0x400000));
    ASSERT_EQ(rules.size(), 4u);
    EXPECT_EQ(rules[0].begin, 0x1000u);
    EXPECT_EQ(rules[0].rule.cfa_offset, 8);
    EXPECT_EQ(rules[1].begin, 0x1004u);
    EXPECT_EQ(rules[1].end, 0x103cu);
    EXPECT_EQ(rules[1].rule.cfa_offset, 32);
    EXPECT_EQ(rules[1].rule.saved[SAVED_RBP], -2);
    EXPECT_EQ(rules[2].rule.cfa_offset, 8);
    EXPECT_EQ(rules[3].begin, 0x1040u);
    EXPECT_EQ(rules[3].rule.saved[SAVED_RBP], 0);
  }
}

TEST(FindGoRules, TopFramesAndThoseThatChangeStacks) {
  GoTableBuilder builder(0xfffffff1);
  builder.add(64, kFrame, kTopFrame, "runtime.goexit.abi0");
  builder.add(0, kFrame, kTopFrame, "runtime.nothing");
  builder.add(64, kFrame, kWritesStackPointer, "runtime.systemstack.abi0");
  builder.add(64, kFrame, kTopFrame, "runtime.sigtramp.abi0");
  builder.add(64, kFrame, kWritesStackPointer, "runtime.mcall");
  std::vector<uint8_t> code(4 * 64, 0x90);
  for (const size_t i : {64, 192}) code[i] = 0x48, code[i + 1] = 0x89, code[i + 2] = 0xc4;  // mov %rax,%rsp
  const auto rules = rules_of(builder.build(), LinkAddr(kText), code);
  ASSERT_EQ(rules.size(), 7u);
  EXPECT_EQ(rules[0].rule.cfa_kind, CFA_OUTERMOST);
  EXPECT_EQ(rules[1].end, 67u) << "then it is on another stack";
  EXPECT_EQ(rules[2].begin, 128u);
  EXPECT_EQ(rules[2].rule.cfa_kind, CFA_OFFSET);
  EXPECT_EQ(rules[5].begin, 192u);
  EXPECT_EQ(rules[5].rule.cfa_kind, CFA_OFFSET);
  EXPECT_EQ(rules[6].begin, 195u);
  EXPECT_EQ(rules[6].end, 256u);
  EXPECT_EQ(rules[6].rule.cfa_kind, CFA_OUTERMOST) << "behind it is a goroutine that may run elsewhere";
}

// Newer ones have a frame, whose pointer would lead back to the goroutine.
TEST(FindGoRules, WhatLeavesAGoroutineHasNoCallerFromThereOn) {
  for (const char* name : {"runtime.mcall", "gogo", "runtime.gogo.abi0"}) {
    GoTableBuilder builder(0xfffffff1);
    builder.add(16, {2, 16, 0}, kWritesStackPointer, name);
    std::vector<uint8_t> code = {0x55, 0x48, 0x89, 0xe5, 0x49, 0x8b, 0x66, 0x38, 0x50, 0x41, 0xff, 0xd4};  // push %rbp; mov %rsp,%rbp; mov 0x38(%r14),%rsp; push %rax; call *%r12
    code.resize(16, 0x90);
    const auto rules = rules_of(builder.build(), LinkAddr(kText), code);
    ASSERT_GE(rules.size(), 2u) << name;
    for (const CodeRule& rule : rules) EXPECT_EQ(rule.rule.cfa_kind, rule.begin < 8 ? CFA_OFFSET : CFA_OUTERMOST) << name << " " << rule.begin;
    EXPECT_EQ(rules.back().begin, 8u);
    EXPECT_EQ(rules.back().end, 16u);
  }
}

TEST(FindGoRules, FollowsTheStackPointerUntilItChangesStacks) {
  GoTableBuilder builder(0xfffffff1);
  builder.add(16, {2, 16, 0}, kWritesStackPointer, "runtime.morestack.abi0");
  builder.add(16, {2, 16, 0}, kWritesStackPointer, "runtime.back");
  builder.add(16, {2, 16, 0}, kWritesStackPointer, "runtime.cannotBeFollowed");
  std::vector<uint8_t> code = {0x48, 0x8b, 0x04, 0x24, 0x50, 0x48, 0x8b, 0x63, 0x38, 0xe8, 1, 0, 0, 0};  // mov (%rsp),%rax; push %rax; mov 0x38(%rbx),%rsp; call …
  code.resize(16, 0x90);
  code.insert(code.end(), {0x49, 0x89, 0xe4, 0x48, 0x8b, 0x21, 0xe8, 1, 0, 0, 0, 0x4c, 0x89, 0xe4, 0xc3, 0x90});  // mov %rsp,%r12; mov (%rcx),%rsp; call …; mov %r12,%rsp; ret
  code.insert(code.end(), {0x50, 0xc3});  // push %rax; ret
  code.resize(48, 0x90);
  const auto rules = rules_of(builder.build(), LinkAddr(kText), code);
  ASSERT_EQ(rules.size(), 6u);
  EXPECT_EQ(rules[0].begin, 0u);
  EXPECT_EQ(rules[0].rule.cfa_offset, 8);
  EXPECT_EQ(rules[1].end, 9u) << "then it is on another stack";
  EXPECT_EQ(rules[1].rule.cfa_offset, 16);
  EXPECT_EQ(rules[2].begin, 16u);
  EXPECT_EQ(rules[3].end, 22u);
  EXPECT_EQ(rules[4].rule.cfa_reg, 12) << "kept in a register";
  EXPECT_EQ(rules[5].begin, 30u);
  EXPECT_EQ(rules[5].end, 31u) << "back";
  EXPECT_TRUE(rules_of(builder.build(), LinkAddr(kText)).empty()) << "without the code nothing is known";
}

TEST(FindGoRules, DamageCostsRulesOnly) {
  GoTableBuilder builder(0xfffffff0);
  for (int i = 0; i < 20; ++i) builder.add(64, kFrame);
  const std::vector<uint8_t> good = builder.build();
  EXPECT_EQ(rules_of(good, LinkAddr(kText)).size(), 60u);
  for (size_t size = 0; size < good.size(); ++size) rules_of(std::vector<uint8_t>(good.begin(), good.begin() + static_cast<ptrdiff_t>(size)), LinkAddr(kText));
  uint32_t random = 1;
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> bad = good;
    for (int i = 0; i < 3; ++i) {
      random = random * 1664525 + 1013904223;
      bad[(random >> 8) % bad.size()] = static_cast<uint8_t>(random >> 24);
    }
    uint32_t last = 0;
    for (const CodeRule& rule : rules_of(bad, LinkAddr(kText))) {
      ASSERT_LT(rule.begin, rule.end);
      ASSERT_GE(rule.begin, last);
      last = rule.end;
    }
  }
}

}  // namespace
}  // namespace cicada::unwind
