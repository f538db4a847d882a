// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/diagnostics.h"
#include "dwarf/cfi_builder_for_test.h"
#include "dwarf/cfi_image_for_test.h"
#include "unwind/row_compiler.h"
#include "unwind/row_report.h"
#include "unwind/rows/table_layout.h"
#include "unwind/walk/image_unwinder.h"

namespace cicada::unwind {
namespace {

using dwarf::CfiBuilder;
using Program = CfiBuilder::Program;

constexpr uint64_t kBegin = 0x11000;

elf::ElfFile image_of(CfiBuilder& eh, Bytes debug = {}) { return *elf::ElfFile::parse_copy(dwarf::wrap_in_elf(eh.bytes(), debug), "test image"); }
UnwindRows compile(CfiBuilder& eh, Bytes debug = {}) { return *compile_rows(image_of(eh, debug)); }

elf::ElfFile image_of_one(const Program& program, uint64_t size = 0x100) {
  CfiBuilder cfi;
  cfi.add_fde(cfi.add_cie(), kBegin, size, program);
  return image_of(cfi);
}
UnwindRows compile_one(const Program& program, uint64_t size = 0x100) { return *compile_rows(image_of_one(program, size)); }

std::string rule_at(const UnwindRows& table, uint64_t address) { return to_text(table.find(LinkAddr(address))); }

// def_cfa_expression and expression with their lengths.
Program cfa_expression(const Program& e) {
  Program program = {0x0f, static_cast<uint8_t>(e.size())};
  program.insert(program.end(), e.begin(), e.end());
  return program;
}

TEST(CompileRows, FollowsAnOrdinaryFunction) {
  // push %rbp; mov %rsp,%rbp; …; pop %rbp; ret
  const elf::ElfFile elf = image_of_one({0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x42, 0x0c, 7, 8, 0xc6}, 0x40);
  const UnwindRows table = *compile_rows(elf);
  EXPECT_EQ(rule_at(table, kBegin), "cfa=rsp+8");
  EXPECT_EQ(rule_at(table, kBegin + 1), "cfa=rsp+16 rbp=[cfa-16]");
  EXPECT_EQ(rule_at(table, kBegin + 4), "cfa=rbp+16 rbp=[cfa-16]");
  EXPECT_EQ(rule_at(table, kBegin + 6), "cfa=rsp+8");
  EXPECT_EQ(rule_at(table, kBegin - 1), "frame pointer");
  EXPECT_EQ(table.stats().cfi_rows, 4u);
  EXPECT_EQ(table.stats().covered_bytes, 0x40u);
  EXPECT_EQ(count_unsupported(elf, table).simple_bytes, 0x40u);
}

TEST(CompileRows, RemembersAndRestores) {
  const UnwindRows table = compile_one({0x0a, 0x44, 0x0e, 32, 0x83, 4, 0x44, 0x0b, 0x44, 0x0e, 24});
  EXPECT_EQ(rule_at(table, kBegin + 4), "cfa=rsp+32 rbx=[cfa-32]");
  EXPECT_EQ(rule_at(table, kBegin + 8), "cfa=rsp+8");
  EXPECT_EQ(rule_at(table, kBegin + 12), "cfa=rsp+24");
}

TEST(CompileRows, KnowsRealignedStacks) {
  // GCC's DRAP: CFA in r10, then at *(rbp - 8); rbp saved at *(rbp), r12 at *(rbp - 16).
  const elf::ElfFile elf = image_of_one({0x44, 0x0c, 10, 0, 0x44, 0x10, 6, 2, 0x76, 0, 0x10, 12, 2, 0x76, 0x70, 0x44, 0x0f, 3, 0x76, 0x78, 0x06});
  const UnwindRows table = *compile_rows(elf);
  EXPECT_EQ(rule_at(table, kBegin + 4), "cfa=r10+0");
  EXPECT_EQ(rule_at(table, kBegin + 12), "cfa=[rbp-8]+0 rbp=[rbp+0] r12=[rbp-16]");
  EXPECT_EQ(count_unsupported(elf, table).all.bytes, 0u);
}

TEST(CompileRows, KnowsBothStubForms) {
  for (const int bound : {9, 10, 11}) {
    const auto lit = static_cast<uint8_t>(0x30 + bound);
    const UnwindRows table = compile_one(cfa_expression({0x77, 8, 0x80, 0, 0x3f, 0x1a, lit, 0x2a, 0x33, 0x24, 0x22}));
    const unwind_rule& rule = table.find(LinkAddr(kBegin));
    EXPECT_EQ(rule.cfa_kind, CFA_PLT);
    EXPECT_EQ(rule.cfa_offset, bound);
  }
}

TEST(CompileRows, AssemblyCfaWithAddend) {
  // OpenSSL: *(rsp + 40) + 8
  const UnwindRows table = compile_one(cfa_expression({0x77, 40, 0x06, 0x23, 8}));
  EXPECT_EQ(rule_at(table, kBegin), "cfa=[rsp+40]+8");
}

TEST(CompileRows, RegistersOfVectorMathematics) {
  // libmvec: r12 at ((cfa - 8) & -64) - 176, r13 at ((cfa - 8) & -64) - 8; or at rsp + 144, the CFA dropped.
  const Program aligned = {0x0c, 6,    16,   0x10, 12,   14,   0x38, 0x1c, 0x0d, 0xc0, 0xff, 0xff, 0xff, 0x1a, 0x0d, 0x50, 0xff, 0xff, 0xff, 0x22,
                           0x10, 13,   14,   0x38, 0x1c, 0x0d, 0xc0, 0xff, 0xff, 0xff, 0x1a, 0x0d, 0xf8, 0xff, 0xff, 0xff, 0x22};
  EXPECT_EQ(rule_at(compile_one(aligned), kBegin), "cfa=rbp+16 r12=[((cfa-8)&-64)-176] r13=[((cfa-8)&-64)-8]");
  EXPECT_EQ(rule_at(compile_one({0x10, 12, 4, 0x13, 0x77, 0x90, 0x01}), kBegin), "cfa=rsp+8 r12=[rsp+144]");
  Program other = aligned;
  other[5 + 4 + 17] = 0xe0;  // r13's base is another: (cfa - 8) & -32
  const UnwindRows table = compile_one(other);
  EXPECT_EQ(rule_at(table, kBegin), "unsupported: registers saved relative to two bases");
  Program restored = aligned;
  restored.insert(restored.end(), {0x44, 0xcc, 0xcd, 0x10, 3, 2, 0x76, 0});  // both restored, rbx at rbp
  EXPECT_EQ(rule_at(compile_one(restored), kBegin + 4), "cfa=rbp+16 rbx=[rbp+0]");
  Program odd = aligned;
  odd[9] = 0xc1;  // & -63 is no rounding
  EXPECT_EQ(rule_at(compile_one(odd), kBegin), "unsupported: register saved where another form of expression says");
}

TEST(CompileRows, RegisterAfterExpressionGoesBackToTheLastOffset) {
  Program program = {0x0e, 56, 0x44};
  const Program e = cfa_expression({0x77, 40, 0x06});
  program.insert(program.end(), e.begin(), e.end());
  program.insert(program.end(), {0x44, 0x0d, 7});
  EXPECT_EQ(rule_at(compile_one(program), kBegin + 8), "cfa=rsp+56");
}

TEST(CompileRows, UndefinedReturnAddressIsOutermost) {
  EXPECT_EQ(rule_at(compile_one({0x07, 16}), kBegin), "outermost");
}

TEST(CompileRows, KernelSignalFrame) {
  CfiBuilder cfi;
  Program program = cfa_expression({0x77, 0xa0, 0x01, 0x06});
  const auto at = [&](uint8_t reg, uint8_t low, uint8_t high) { program.insert(program.end(), {0x10, reg, 3, 0x77, low, high}); };
  at(3, 0x80, 0x01);   // rbx 128
  at(6, 0xf8, 0x00);   // rbp 120
  at(12, 0xc8, 0x00);  // r12 72
  at(13, 0xd0, 0x00);
  at(14, 0xd8, 0x00);
  at(15, 0xe0, 0x00);
  at(7, 0xa0, 0x01);
  at(16, 0xa8, 0x01);
  const uint64_t cie = cfi.add_cie({}, "zRS");
  cfi.add_fde(cie, kBegin, 0x10, program);
  program[3] ^= 8;  // another place for rsp
  cfi.add_fde(cie, kBegin + 0x100, 0x10, program);
  const UnwindRows table = compile(cfi);
  EXPECT_EQ(rule_at(table, kBegin), "signal frame, ucontext=rsp+0");
  EXPECT_EQ(table.find(LinkAddr(kBegin + 0x100)).cfa_kind, CFA_UNSUPPORTED);
}

TEST(CompileRows, WhatDoesNotFitIsCountedByClass) {
  const auto unsupported = [](const Program& program) {
    const elf::ElfFile elf = image_of_one(program);
    const UnwindRows table = *compile_rows(elf);
    EXPECT_EQ(count_unsupported(elf, table).all.bytes, 0x100u);
    return table.find(LinkAddr(kBegin)).cfa_reg;
  };
  EXPECT_EQ(unsupported({0x83, 200, 1}), static_cast<uint8_t>(UnsupportedReason::kSavedOffset));
  EXPECT_EQ(unsupported({0x09, 3, 0}), static_cast<uint8_t>(UnsupportedReason::kSavedElsewhere));
  EXPECT_EQ(unsupported({0x0d, 17}), static_cast<uint8_t>(UnsupportedReason::kCfaRegister));
  EXPECT_EQ(unsupported({0x90, 2}), static_cast<uint8_t>(UnsupportedReason::kReturnAddress));
  EXPECT_EQ(unsupported(cfa_expression({0x77, 0, 0x06, 0x06})), static_cast<uint8_t>(UnsupportedReason::kCfaExpression));
  EXPECT_EQ(unsupported({0x10, 3, 2, 0x76, 0, 0x10, 12, 2, 0x73, 0}), static_cast<uint8_t>(UnsupportedReason::kSavedTwoBases));
}

TEST(CompileRows, PaddingContinuesLargerGapsDoNot) {
  CfiBuilder cfi;
  const uint64_t cie = cfi.add_cie();
  cfi.add_fde(cie, kBegin, 0x11);
  cfi.add_fde(cie, kBegin + 0x20, 0x10);
  cfi.add_fde(cie, kBegin + 0x60, 0x10);
  cfi.add_fde(cie, kBegin + 0x200, 0x10);
  const UnwindRows table = compile(cfi);
  EXPECT_EQ(rule_at(table, kBegin + 0x18), "cfa=rsp+8");
  EXPECT_EQ(rule_at(table, kBegin + 0x40), "none");
  EXPECT_EQ(rule_at(table, kBegin + 0x100), "frame pointer");
}

TEST(CompileRows, OverlappingFdesAndUnsortedOnes) {
  CfiBuilder cfi;
  const uint64_t cie = cfi.add_cie();
  cfi.add_fde(cie, kBegin + 0x40, 0x10, {0x0e, 40});
  cfi.add_fde(cie, kBegin, 0x80, {0x0e, 24});
  cfi.add_fde(cie, kBegin, 0x80, {0x0e, 48});
  const UnwindRows table = compile(cfi);
  EXPECT_EQ(rule_at(table, kBegin), "cfa=rsp+24");
  EXPECT_EQ(rule_at(table, kBegin + 0x40), "cfa=rsp+40");
}

TEST(CompileRows, DebugFrameFillsWhatEhFrameLeaves) {
  CfiBuilder eh;
  eh.add_fde(eh.add_cie(), kBegin, 0x100, {0x0e, 24});
  CfiBuilder debug(true);
  const uint64_t cie = debug.add_cie({0x0c, 7, 8, 0x90, 1}, "");
  debug.add_fde(cie, kBegin, 0x100, {0x0e, 48}, false);
  debug.add_fde(cie, kBegin + 0x50, 0x10, {0x0e, 48}, false);
  debug.add_fde(cie, kBegin + 0x1000, 0x100, {0x0e, 48}, false);
  const UnwindRows table = compile(eh, debug.bytes());
  EXPECT_EQ(rule_at(table, kBegin), "cfa=rsp+24");
  EXPECT_EQ(rule_at(table, kBegin + 0x58), "cfa=rsp+24");
  EXPECT_EQ(rule_at(table, kBegin + 0x1000), "cfa=rsp+48");
}

TEST(CompileRows, MalformedFdeCostsItsOwnRowsAndOneLine) {
  std::vector<std::string> lines;
  diagnostics().set_handler([&](Severity, const std::string& line) { lines.push_back(line); });
  CfiBuilder cfi;
  const uint64_t cie = cfi.add_cie();
  cfi.add_fde(cie, kBegin, 0x40, {0x0e, 24});
  cfi.add_fde(cie, kBegin + 0x40, 0x40, {0x44, 0x0e, 32, 0x44, 0x3f});  // unknown instruction
  cfi.add_fde(cie, kBegin + 0x80, 0x40, {0x0b});                       // nothing remembered
  cfi.add_fde(cie, kBegin + 0xc0, 0x40, {0x0e, 40});
  const ImageUnwinder image(std::make_shared<const elf::ElfFile>(image_of(cfi)));
  diagnostics().set_handler({});
  const UnwindRows& table = image.rows();
  EXPECT_EQ(rule_at(table, kBegin), "cfa=rsp+24");
  EXPECT_EQ(rule_at(table, kBegin + 0x44), "none");
  EXPECT_EQ(rule_at(table, kBegin + 0x80), "none");
  EXPECT_EQ(rule_at(table, kBegin + 0xc0), "cfa=rsp+40");
  EXPECT_EQ(table.stats().malformed_fdes, 2u);
  EXPECT_EQ(table.stats().cfi_rows, 2u);
  EXPECT_THAT(lines, testing::ElementsAre(testing::HasSubstr("test image")));
}

TEST(CompileRows, RangesOutOfTheCodeAreRefused) {
  CfiBuilder cfi;
  const uint64_t cie = cfi.add_cie();
  cfi.add_fde(cie, kBegin, 0x40);
  cfi.add_fde(cie, kBegin + 0x100, ~uint64_t{0} - kBegin);  // wraps around
  cfi.add_fde(cie, ~uint64_t{0} - 4, 0x40);
  cfi.add_fde(cie, 0x4fff0, 0x100);  // leaves the segment
  cfi.add_fde(cie, 0, 0x40);         // a discarded function: silently
  const UnwindRows table = compile(cfi);
  EXPECT_EQ(table.stats().fdes, 1u);
  EXPECT_EQ(table.stats().malformed_fdes, 3u);
}

TEST(CompileRows, GiganticAdvanceEndsAtTheFde) {
  const UnwindRows table = compile_one({0x04, 0xff, 0xff, 0xff, 0xff, 0x0e, 99}, 0x20);
  EXPECT_EQ(rule_at(table, kBegin + 0x1f), "cfa=rsp+8");
  EXPECT_EQ(table.stats().cfi_rows, 1u);
  CfiBuilder huge_factor;
  const uint64_t cie = huge_factor.add_cie({0x0c, 7, 8, 0x90, 1}, "zR", 0, 0x7f);
  huge_factor.add_fde(cie, kBegin, 0x20, {0x1d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0e, 99});
  EXPECT_EQ(rule_at(compile(huge_factor), kBegin + 0x1f), "cfa=rsp+8");
}

TEST(CompileRows, EndlessRemembering) {
  EXPECT_EQ(compile_one(Program(100000, 0x0a)).stats().malformed_fdes, 1u);
}

TEST(CompileRows, MoreRulesThanNumbersForThem) {
  CfiBuilder cfi;
  const uint64_t cie = cfi.add_cie();
  Program program;
  for (unsigned i = 0; i < 70000; ++i) {
    program.push_back(0x41);
    program.push_back(0x0e);
    for (const unsigned part : {i & 0x7f, i >> 7 & 0x7f}) program.push_back(static_cast<uint8_t>(part | 0x80));
    program.push_back(static_cast<uint8_t>(i >> 14));
  }
  cfi.add_fde(cie, kBegin, 0x3f000 - 0x1000, program);
  const UnwindRows table = compile(cfi);
  EXPECT_LE(table.rules().size(), 65536u);
  EXPECT_EQ(rule_at(table, kBegin + 0x11000), "unsupported: more than 65,535 distinct rules");
  const TableLayout layout = TableLayout::plan(table, 0);
  EXPECT_GT(layout.size_bytes(), 0u);
}

TEST(CompileRows, MoreRowsThanAllowedAreAnError) {
  CfiBuilder cfi;
  const uint64_t cie = cfi.add_cie();
  for (uint64_t i = 0; i < 20; ++i) cfi.add_fde(cie, kBegin + i * 0x40, 0x38, {0x41, 0x0e, 16});
  const elf::ElfFile elf = image_of(cfi);
  const Result<UnwindRows> few = compile_rows(elf, {.max_rows = 20});
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().kind(), ErrorKind::kLimit);
  EXPECT_TRUE(compile_rows(elf, {.max_rows = 200}));
}

TEST(CompileRows, NoCfiIsAnEmptyTable) {
  CfiBuilder none;
  EXPECT_TRUE(compile(none).empty());
  EXPECT_EQ(rule_at(compile(none), kBegin), "none");
}

TEST(CompileRows, RandomDamageNeverCrashes) {
  CfiBuilder cfi;
  const uint64_t cie = cfi.add_cie();
  for (uint64_t i = 0; i < 20; ++i) cfi.add_fde(cie, kBegin + i * 0x40, 0x38, {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x42, 0x0b});
  uint32_t random = 12345;
  const auto next = [&] { return random = random * 1664525 + 1013904223; };
  for (int round = 0; round < 3000; ++round) {
    CfiBuilder damaged;
    damaged.bytes() = cfi.bytes();
    for (int i = 0; i < 5; ++i) damaged.bytes()[(next() >> 8) % damaged.bytes().size()] = static_cast<uint8_t>(next() >> 24);
    const UnwindRows table = compile(damaged);
    const TableLayout layout = TableLayout::plan(table, 64);
    ASSERT_LT(layout.size_bytes(), 1u << 20);
  }
}

}  // namespace
}  // namespace cicada::unwind
