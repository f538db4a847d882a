// SPDX-License-Identifier: Apache-2.0
#include "unwind/heuristics/go_code.h"

#include <gtest/gtest.h>

#include "elf/go_table_for_test.h"

namespace cicada::unwind {
namespace {

using elf::GoTableBuilder;

constexpr uint64_t kText = GoTableBuilder::kText;
constexpr uint8_t kTopFrame = elf::GoFunction::kTopFrame, kWritesStackPointer = elf::GoFunction::kWritesStackPointer;

std::vector<CodeRule> rules_of(const std::vector<uint8_t>& table, LinkAddr base) {
  const auto functions = elf::GoFunctions::read(table);
  return functions ? find_go_rules(*functions, base) : std::vector<CodeRule>();
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
  const auto rules = rules_of(builder.build(), LinkAddr(kText));
  ASSERT_EQ(rules.size(), 5u);
  EXPECT_EQ(rules[0].rule.cfa_kind, CFA_OUTERMOST);
  EXPECT_EQ(rules[4].begin, 192u);
  EXPECT_EQ(rules[4].rule.cfa_kind, CFA_OUTERMOST) << "behind it is a goroutine that may run elsewhere";
  EXPECT_EQ(rules[1].begin, 128u);
  EXPECT_EQ(rules[1].rule.cfa_kind, CFA_OFFSET);
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
