// SPDX-License-Identifier: Apache-2.0
#include "unwind/heuristics/returning_code.h"

#include <gtest/gtest.h>

#include <ctime>

#include "dwarf/cfi_builder_for_test.h"
#include "dwarf/cfi_image_for_test.h"
#include "unwind/row_compiler.h"
#include "unwind/row_report.h"
#include "unwind/rows/code_rule.h"

namespace cicada::unwind {
namespace {

using Code = std::vector<uint8_t>;
using Program = dwarf::CfiBuilder::Program;

constexpr size_t kSize = 0x200;  // of a function with one row; no-ops behind what a test gives
constexpr uint8_t kNop = 0x90, kReturn = 0xc3;
// CFA = rsp + 48, rbp at -16, rbx at -24
const Program kMachine = {0x0e, 48, 0x86, 2, 0x83, 3};
const char* const kMachineRule = "cfa=rsp+48 rbx=[cfa-24] rbp=[cfa-16]";

UnwindRows compile(const Code& code, const Program& program, size_t size) {
  Code padded = code;
  padded.resize(kSize, kNop);
  dwarf::CfiBuilder cfi;
  const uint64_t cie = cfi.add_cie();
  cfi.add_fde(cie, dwarf::kCodeBegin, size, program);
  cfi.add_fde(cie, dwarf::kCodeBegin + size, dwarf::kCodeBytes - size);
  return *compile_rows(*elf::ElfFile::parse_copy(dwarf::wrap_in_elf(cfi.bytes(), {}, padded), "test image"));
}
UnwindRows compile_machine(const Code& code, size_t size = kSize) { return compile(code, kMachine, size); }
std::string rule_at(const UnwindRows& table, uint64_t offset) { return to_text(table.find(LinkAddr(dwarf::kCodeBegin + offset))); }

TEST(MarkReturningCode, AFunctionsLastReturn) {
  // sub $0x18,%rsp; lea 0x18(%rsp),%rsp; repz ret: CFI of the return has added what it should have taken away
  const Code code = {0x48, 0x83, 0xec, 0x18, 0x48, 0x8d, 0x64, 0x24, 0x18, 0xf3, kReturn};
  const UnwindRows table = compile(code, {0x44, 0x0e, 32, 0x45, 0x0e, 56}, code.size());
  EXPECT_EQ(rule_at(table, 0), "cfa=rsp+8");
  EXPECT_EQ(rule_at(table, 4), "cfa=rsp+32");
  EXPECT_EQ(rule_at(table, 8), "cfa=rsp+32");
  EXPECT_EQ(rule_at(table, 9), "cfa=rsp+8");
  EXPECT_EQ(rule_at(table, 10), "cfa=rsp+8");
}

TEST(MarkReturningCode, OtherLastInstructionsAreLeftAlone) {
  const UnwindRows trap = compile({0x48, 0x83, 0xec, 0x18, 0x0f, 0x0b}, {0x44, 0x0e, 32}, 6);  // ud2
  EXPECT_EQ(rule_at(trap, 4), "cfa=rsp+32");
  const UnwindRows pushes = compile({kReturn, 0x50, kReturn}, {0x42, 0x0e, 16}, 3);  // a jump to what was pushed
  EXPECT_EQ(rule_at(pushes, 2), "cfa=rsp+16");
}

TEST(MarkReturningCode, AnEndAmongCodeOfOneRow) {
  // jmp *%rax; add $0x18,%rsp; pop %rbx; pop %rbp; pop %rax; ret; jmp *%rax
  const UnwindRows table = compile_machine({0xff, 0xe0, 0x48, 0x83, 0xc4, 0x10, 0x58, 0x5b, 0x5d, kReturn, 0xff, 0xe0});
  EXPECT_EQ(rule_at(table, 0), kMachineRule);
  EXPECT_EQ(rule_at(table, 5), kMachineRule);
  EXPECT_EQ(rule_at(table, 6), "cfa=rsp+32 rbx=[cfa-24] rbp=[cfa-16]");
  EXPECT_EQ(rule_at(table, 7), "cfa=rsp+24 rbx=[cfa-24] rbp=[cfa-16]");
  EXPECT_EQ(rule_at(table, 8), "cfa=rsp+16 rbp=[cfa-16]");
  EXPECT_EQ(rule_at(table, 9), "cfa=rsp+8");
  EXPECT_EQ(rule_at(table, 10), kMachineRule);
}

TEST(MarkReturningCode, AnEndThatJumpsToAnotherFunction) {
  // jmp *%rax; add $0x28,%rsp; jmp (outside); jmp *%rax
  const UnwindRows table = compile({0xff, 0xe0, 0x48, 0x83, 0xc4, 0x28, 0xe9, 0, 0x10, 0, 0, 0xff, 0xe0}, {0x0e, 48}, kSize);
  EXPECT_EQ(rule_at(table, 5), "cfa=rsp+48");
  EXPECT_EQ(rule_at(table, 6), "cfa=rsp+8");
  EXPECT_EQ(rule_at(table, 11), "cfa=rsp+48");
  // Without anything that moves the stack pointer it jumps from the middle.
  EXPECT_EQ(rule_at(compile({0xff, 0xe0, 0xe9, 0, 0x10, 0, 0, 0xff, 0xe0}, {0x0e, 48}, kSize), 2), "cfa=rsp+48");
}

TEST(MarkReturningCode, WhereNothingIsKnownAnyMoreCfiIs) {
  // jmp *%rax; mov %rdi,%rsp; add $0x28,%rsp; ret
  const UnwindRows table = compile({0xff, 0xe0, 0x48, 0x89, 0xfc, 0x48, 0x83, 0xc4, 0x28, kReturn, 0xff, 0xe0}, {0x0e, 48}, kSize);
  EXPECT_EQ(rule_at(table, 2), "cfa=rsp+48");
  EXPECT_EQ(rule_at(table, 5), "cfa=rsp+48");
  EXPECT_EQ(rule_at(table, 9), "cfa=rsp+8");
}

TEST(MarkReturningCode, ABegin) {
  // jmp *%rax; push %rbp; push %rbx; sub $0x18,%rsp; jmp *%rax
  const UnwindRows table = compile_machine({0xff, 0xe0, 0x55, 0x53, 0x48, 0x83, 0xec, 0x18, 0xff, 0xe0});
  EXPECT_EQ(rule_at(table, 1), kMachineRule);
  EXPECT_EQ(rule_at(table, 2), "cfa=rsp+8");
  EXPECT_EQ(rule_at(table, 3), "cfa=rsp+16 rbp=[cfa-16]");
  EXPECT_EQ(rule_at(table, 4), "cfa=rsp+24 rbx=[cfa-24] rbp=[cfa-16]");
  EXPECT_EQ(rule_at(table, 8), kMachineRule);
  // Other registers: it is as far below the CFA by chance.
  EXPECT_EQ(rule_at(compile_machine({0xff, 0xe0, 0x55, 0x50, 0x48, 0x83, 0xec, 0x18, 0xff, 0xe0}), 2), kMachineRule);
}

TEST(MarkReturningCode, AFunctionInBetween) {
  // 0: call (never returns); 5: test %eax,%eax; 7: je 10; 9: ret; 10: inc %eax; 12: jmp 5; 14: jmp *%rax
  const UnwindRows table = compile_machine({0xe8, 0, 0x10, 0, 0, 0x85, 0xc0, 0x74, 1, kReturn, 0xff, 0xc0, 0xeb, 0xf7, 0xff, 0xe0});
  EXPECT_EQ(rule_at(table, 4), kMachineRule);
  for (uint64_t at = 5; at < 14; ++at) EXPECT_EQ(rule_at(table, at), "cfa=rsp+8") << at;
  EXPECT_EQ(rule_at(table, 14), kMachineRule);
}

TEST(MarkReturningCode, MoreStackForGeneratedCode) {
  // jmp *%rax; sub $0x10,%rsp; mov %r12,0x10(%rsp); jmp *%rax
  const UnwindRows table = compile_machine({0xff, 0xe0, 0x48, 0x83, 0xec, 0x10, 0x4c, 0x89, 0x64, 0x24, 0x10, 0xff, 0xe0, 0xff, 0xe0});
  EXPECT_EQ(rule_at(table, 5), kMachineRule);
  EXPECT_EQ(rule_at(table, 6), "cfa=rsp+64 rbx=[cfa-24] rbp=[cfa-16]");
  EXPECT_EQ(rule_at(table, 12), "cfa=rsp+64 rbx=[cfa-24] rbp=[cfa-16] r12=[cfa-48]");
  EXPECT_EQ(rule_at(table, 13), kMachineRule);
  // It may be the begin of another function, behind which CFI is right.
  EXPECT_EQ(rule_at(compile_machine({0xff, 0xe0, 0x53, 0x48, 0x83, 0xec, 0x10, 0xff, 0xe0}), 7), kMachineRule);                          // with push %rbx
  EXPECT_EQ(rule_at(compile_machine({0xff, 0xe0, 0x48, 0x83, 0xec, 0x10, 0xe8, 0, 0x10, 0, 0, 0xff, 0xe0}), 6), kMachineRule);  // with a call
}

TEST(MarkReturningCode, NoFunctionThatIsLeftWithAnotherStack) {
  EXPECT_EQ(rule_at(compile_machine({0xff, 0xe0, 0x50, kReturn}), 2), kMachineRule);                   // push %rax; ret
  EXPECT_EQ(rule_at(compile_machine({0xff, 0xe0, 0x58, 0x50, kReturn}), 2), kMachineRule);             // pop %rax; push %rax; ret
  EXPECT_EQ(rule_at(compile_machine({0xff, 0xe0, 0x53, 0x31, 0xdb, 0x58, kReturn}), 2), kMachineRule);  // push %rbx; xor %ebx,%ebx; pop %rax; ret
}

TEST(MarkReturningCode, OnlyOfLargeFunctionsOfOneRow) {
  const Code code = {0xff, 0xe0, 0x31, 0xc0, kReturn};
  EXPECT_EQ(rule_at(compile_machine(code), 2), "cfa=rsp+8");
  EXPECT_EQ(rule_at(compile_machine(code, kSize - 1), 2), kMachineRule);
  Program two_rows = {0x41};
  two_rows.insert(two_rows.end(), kMachine.begin(), kMachine.end());
  EXPECT_EQ(rule_at(compile(code, two_rows, kSize), 2), kMachineRule);
}

TEST(MarkReturningCode, WhatIsNotCode) {
  const UnwindRows table = compile_machine({0x06, 0x31, 0xc0, kReturn});  // no instruction of 64-bit code
  EXPECT_EQ(rule_at(table, 1), kMachineRule);
}

// Each call begins a line that goes on to the end. Without a bound that were 1.4 billion looks of 50,000 instructions, half a minute.
TEST(MarkReturningCode, ManyLinesAreNotReadToTheirEnds) {
  Code code;
  while (code.size() + 5 < 0x3f000) code.insert(code.end(), {0xe8, 0, 0, 0, 0});
  dwarf::CfiBuilder cfi;
  cfi.add_fde(cfi.add_cie(), dwarf::kCodeBegin, code.size(), kMachine);
  const auto elf = elf::ElfFile::parse_copy(dwarf::wrap_in_elf(cfi.bytes(), {}, code), "test image");
  const std::clock_t begin = std::clock();
  const UnwindRows table = *compile_rows(*elf);
  EXPECT_LT(std::clock() - begin, 2 * CLOCKS_PER_SEC);
  EXPECT_EQ(rule_at(table, 5), kMachineRule);
}

TEST(MarkReturningCode, FunctionsThatOverlap) {
  dwarf::CfiBuilder cfi;
  cfi.add_fde(cfi.add_cie(), dwarf::kCodeBegin, kSize, kMachine);
  Code code(2 * kSize, kNop);
  for (size_t at = 0; at + 4 < code.size(); at += 8) std::copy_n(Code{0xff, 0xe0, kNop, kReturn}.begin(), 4, code.begin() + static_cast<ptrdiff_t>(at));
  const auto elf = elf::ElfFile::parse_copy(dwarf::wrap_in_elf(cfi.bytes(), {}, code), "test image");
  RowTable table;
  table.base = LinkAddr(dwarf::kCodeBegin);
  table.rows = {{0, table.rules.insert(stack_pointer_plus(48))}};
  std::vector<Range<LinkAddr>> functions;
  for (uint64_t i = 0; i < 8; ++i) functions.push_back({LinkAddr(dwarf::kCodeBegin + 8 * i), LinkAddr(dwarf::kCodeBegin + 8 * i + kSize)});
  mark_returning_code(*elf, functions, table);
  EXPECT_GT(table.rows.size(), 1u);
  for (size_t i = 1; i < table.rows.size(); ++i) EXPECT_LT(table.rows[i - 1].begin, table.rows[i].begin);
}

// An end, where the machine takes its stack back, and a function behind it.
TEST(MarkReturningCode, AmongThemWhereAMachineTakesItsStack) {
  const UnwindRows table = compile({0xff, 0xe0, 0x48, 0x83, 0xc4, 0x28, kReturn,                                                                    // jmp *%rax; add $0x28,%rsp; ret
                                    0x49, 0x8b, 0x6e, 0x10, 0x48, 0x8b, 0x4d, 0x50, 0x48, 0x83, 0xe1, 0xfc, 0x48, 0x89, 0xcc, 0xff, 0xe0,  // as in machine_stack.h
                                    0x31, 0xc0, kReturn, 0xff, 0xe0},
                                   {0x0e, 48}, kSize);
  EXPECT_EQ(rule_at(table, 6), "cfa=rsp+8");
  EXPECT_EQ(rule_at(table, 7), "cfa=[[r14+16]+80]+48");
  EXPECT_EQ(rule_at(table, 21), "cfa=[[r14+16]+80]+48");
  EXPECT_EQ(rule_at(table, 22), "cfa=rsp+48");
  EXPECT_EQ(rule_at(table, 24), "cfa=rsp+8");
  EXPECT_EQ(rule_at(table, 27), "cfa=rsp+48");
}

}  // namespace
}  // namespace cicada::unwind
