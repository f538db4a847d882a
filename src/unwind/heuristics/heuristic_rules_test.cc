// SPDX-License-Identifier: Apache-2.0
#include "unwind/heuristics/heuristic_rules.h"

#include <gtest/gtest.h>

#include "dwarf/cfi_builder_for_test.h"
#include "dwarf/cfi_image_for_test.h"
#include "unwind/arch.h"
#include "unwind/row_compiler.h"
#include "unwind/row_report.h"

namespace cicada::unwind {
namespace {

using Code = std::vector<uint8_t>;
constexpr uint64_t kSize = 0x280;
constexpr uint8_t kMoved = 0xb;
constexpr uint64_t kRounded = 0xf, kEnd = 0x60, kReturn = 0x63;

// lea (%rsp),%r10; sub $0x108,%rsp; and $-16,%rsp; nops; lea (%r10),%rsp; ret: OpenSSL's bn_gather5
Code rounding() {
  Code code = {0x4c, 0x8d, 0x14, 0x24, 0x48, 0x81, 0xec, 0x08, 0x01, 0x00, 0x00, 0x48, 0x83, 0xe4, 0xf0};
  code.resize(kSize, 0x90);
  const Code end = {0x49, 0x8d, 0x22, 0xc3};
  std::copy(end.begin(), end.end(), code.begin() + kEnd);
  return code;
}

// The first `size` bytes are a function whose CFI is `program`, and there is another one.
UnwindRows compile(const Code& code, const dwarf::CfiBuilder::Program& program = {}, uint64_t size = kSize, uint64_t max_read_bytes = UINT64_MAX) {
  dwarf::CfiBuilder cfi;
  const uint64_t cie = cfi.add_cie();
  cfi.add_fde(cie, dwarf::kCodeBegin, size, program);
  cfi.add_fde(cie, dwarf::kCodeBegin + size, dwarf::kCodeBytes - size);
  return *compile_rows(*elf::ElfFile::parse_copy(dwarf::wrap_in_elf(cfi.bytes(), {}, code), "test image"), {.max_read_bytes = max_read_bytes});
}
std::string rule_at(const UnwindRows& table, uint64_t offset) { return to_text(table.find(LinkAddr(dwarf::kCodeBegin + offset))); }

TEST(HeuristicRules, CfiIsNotBelievedThatDoesNotKnowOfARoundedStackPointer) {
  const UnwindRows table = compile(rounding());
  EXPECT_EQ(rule_at(table, 0), "cfa=rsp+8");
  EXPECT_EQ(rule_at(table, kMoved), "cfa=rsp+272");
  EXPECT_EQ(rule_at(table, kRounded), "cfa=r10+8");
  EXPECT_EQ(rule_at(table, kEnd), "cfa=r10+8");
  EXPECT_EQ(rule_at(table, kReturn), "cfa=rsp+8");
  EXPECT_EQ(rule_at(table, kSize), "cfa=rsp+8");
}

TEST(HeuristicRules, CfiIsBelievedWhereTheCodeIsNotUnderstood) {
  Code code = rounding();
  code[kEnd] = code[kEnd + 1] = code[kEnd + 2] = 0x90;  // it never finds back
  const UnwindRows table = compile(code);
  for (uint64_t at = 0; at < kSize; ++at) EXPECT_EQ(rule_at(table, at), "cfa=rsp+8") << at;
}

TEST(HeuristicRules, CfiIsBelievedThatSaysSomethingOfTheStackPointer) {
  const UnwindRows table = compile(rounding(), {0x02, kMoved, 0x0e, 0x10});  // CFA = rsp + 16 from there on
  EXPECT_EQ(rule_at(table, 0), "cfa=rsp+8");
  EXPECT_EQ(rule_at(table, kRounded), "cfa=rsp+16");
  EXPECT_EQ(rule_at(table, kReturn), "cfa=rsp+16");
}

TEST(HeuristicRules, WhatIsNotBelievedIsReadAtOnce) {
  EXPECT_EQ(rule_at(compile(rounding(), {}, kSize, 0), kRounded), "cfa=r10+8");
}

TEST(HeuristicRules, SmallFunctionsAreNotSearched) {
  EXPECT_EQ(rule_at(compile(rounding(), {}, 511), kRounded), "cfa=rsp+8");
  EXPECT_EQ(rule_at(compile(rounding(), {}, 512), kRounded), "cfa=r10+8");
}

TEST(HeuristicRules, AnyBytesAreSearchedForARoundedStackPointer) {
  EXPECT_TRUE(rounds_stack_down(Code{0x48, 0x81, 0xe4}));
  EXPECT_TRUE(rounds_stack_down(Code{0xe4, 0xe4, 0xe4, 0x48, 0x83, 0xe4}));
  EXPECT_FALSE(rounds_stack_down(Code{0x48, 0x83, 0xe3, 0xe4}));
  EXPECT_FALSE(rounds_stack_down(Code{0x83, 0xe4, 0xe4}));
  for (const Code& code : {Code{}, Code{0xe4}, Code{0x83, 0xe4}}) EXPECT_FALSE(rounds_stack_down(code));
}

}  // namespace
}  // namespace cicada::unwind
