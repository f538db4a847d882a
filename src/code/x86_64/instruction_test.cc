// SPDX-License-Identifier: Apache-2.0
#include "code/x86_64/instruction.h"

#include <gtest/gtest.h>

#include <vector>

namespace cicada::code {
namespace {

using Code = std::vector<uint8_t>;

TEST(DecodeInstruction, KnowsEachLength) {
  const std::vector<Code> instructions = {
      {0xc3},                                                        // ret
      {0x55},                                                        // push %rbp
      {0x41, 0x57},                                                  // push %r15
      {0x48, 0x83, 0xec, 0x18},                                      // sub $24,%rsp
      {0x48, 0x81, 0xec, 0x58, 0x1d, 0, 0},                          // sub $7512,%rsp
      {0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0},                       // mov 0x28,%rax
      {0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0},                 // mov %fs:0x28,%rax
      {0x48, 0x8b, 0x44, 0x24, 0x08},                                // mov 8(%rsp),%rax
      {0x48, 0x8d, 0x05, 1, 2, 3, 4},                                // lea …(%rip),%rax
      {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8},                          // movabs
      {0x66, 0xb8, 1, 2},                                            // mov $…,%ax
      {0xc7, 0x44, 0x24, 0x04, 1, 2, 3, 4},                          // movl $…,4(%rsp)
      {0x66, 0xc7, 0x44, 0x24, 0x04, 1, 2},                          // movw
      {0xf6, 0xc1, 0x04},                                            // test $4,%cl
      {0xf6, 0xd8},                                                  // neg %al
      {0xf7, 0xc7, 7, 0, 0, 0},                                      // test $7,%edi
      {0x0f, 0x84, 1, 2, 3, 4},                                      // je
      {0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0},           // nopw
      {0xf3, 0x0f, 0x1e, 0xfa},                                      // endbr64
      {0x66, 0x0f, 0x3a, 0x0f, 0xc1, 0x08},                          // palignr
      {0xc5, 0xf8, 0x77},                                            // vzeroupper
      {0xc5, 0xf9, 0x70, 0xc0, 0x4e},                                // vpshufd
      {0xc4, 0xe3, 0x7d, 0x46, 0xc1, 0x31},                          // vperm2i128
      {0x62, 0xf1, 0x7c, 0x48, 0x10, 0x44, 0x24, 0x01},              // vmovups 64(%rsp),%zmm0
      {0x62, 0xf3, 0xfd, 0x48, 0x3a, 0x07, 0x01},                    // vinserti64x4
      {0x66, 0x66, 0x48, 0xe8, 1, 2, 3, 4},                          // call __tls_get_addr as linkers write it
      {0xc8, 1, 2, 3},                                               // enter
      {0xf3, 0x48, 0xa5},                                            // rep movsq
  };
  for (const Code& code : instructions) {
    for (size_t size = 0; size < code.size(); ++size) EXPECT_FALSE(decode_instruction(Bytes(code).first(size))) << size;
    Code longer = code;
    longer.resize(code.size() + 15, 0x90);
    const auto insn = decode_instruction(longer);
    ASSERT_TRUE(insn);
    EXPECT_EQ(insn->length, code.size()) << std::hex << int{code[0]} << ' ' << int{code.size() > 1 ? code[1] : uint8_t{0}};
  }
}

TEST(DecodeInstruction, RefusesWhatItDoesNotKnow) {
  for (const Code& code : std::vector<Code>{{0x06}, {0x0f, 0x0f, 0xc0, 0x0d}, {0x8f, 0xe8, 0x78, 0xc2, 0xec, 0x0e}, {0xd5, 0x00, 0x90}, {0xc4, 0xe4, 0, 0, 0, 0, 0}, Code(20, 0x66)}) {
    Code longer = code;
    longer.resize(24, 0);
    EXPECT_FALSE(decode_instruction(longer)) << int{code[0]};
  }
}

TEST(DecodeInstruction, ReadsOperands) {
  const auto load = decode_instruction(Code{0x4c, 0x8b, 0x6c, 0x24, 0xf0});  // mov -16(%rsp),%r13
  ASSERT_TRUE(load);
  EXPECT_TRUE(load->has_modrm && load->mod != 3 && load->rm == kRsp && !load->indexed);
  EXPECT_EQ(load->reg, kR13);
  EXPECT_EQ(load->displacement, -16);
  EXPECT_TRUE(load->writes(kR13));
  const auto indexed = decode_instruction(Code{0x48, 0x8b, 0x04, 0xc4});  // mov (%rsp,%rax,8),%rax
  ASSERT_TRUE(indexed);
  EXPECT_TRUE(indexed->indexed);
  EXPECT_EQ(indexed->index, kRax);
  EXPECT_EQ(indexed->scale, 3);
  const auto jump = decode_instruction(Code{0xeb, 0xfe});
  ASSERT_TRUE(jump);
  EXPECT_EQ(jump->immediate, -2);
}

TEST(Instruction, WritesWhatNoOperandNames) {
  const auto written = [](const Code& code) {
    std::vector<int> registers;
    for (int reg = kRax; reg <= kR15; ++reg)
      if (decode_instruction(code)->writes_unsaid(static_cast<GeneralRegister>(reg))) registers.push_back(reg);
    return registers;
  };
  using Registers = std::vector<int>;
  EXPECT_EQ(written({0x48, 0xf7, 0xe1}), (Registers{kRax, kRdx})) << "mul %rcx";
  EXPECT_EQ(written({0x48, 0xf7, 0xd9}), Registers{}) << "neg %rcx";
  EXPECT_EQ(written({0x0f, 0xa2}), (Registers{kRax, kRcx, kRdx, kRbx})) << "cpuid";
  EXPECT_EQ(written({0x0f, 0x05}), (Registers{kRcx, kR11})) << "syscall";
  EXPECT_EQ(written({0xf3, 0x48, 0xa5}), (Registers{kRax, kRcx, kRdx, kRsi, kRdi})) << "rep movsq";
  EXPECT_EQ(written({0x48, 0x99}), (Registers{kRax, kRdx})) << "cqto";
  EXPECT_EQ(written({0xc5, 0xf1, 0xfd, 0xc8}), Registers{}) << "vpaddw";
  EXPECT_EQ(written({0xc4, 0x42, 0x71, 0xf7, 0xc0}), Registers{}) << "shlx";
  EXPECT_EQ(written({0xc4, 0xe2, 0xf3, 0xf6, 0xc2}).size(), 15u) << "mulx: any but rsp";
  EXPECT_EQ(written({0x48, 0x89, 0xc8}), Registers{}) << "mov %rcx,%rax";
  EXPECT_EQ(written({0x66, 0x0f, 0x3a, 0x61, 0xc1, 0x00}), Registers{kRcx}) << "pcmpestri";
}

TEST(Instruction, MayWriteGeneralWheneverItWritesOne) {
  size_t may = 0;
  for (unsigned number = 0; number < 7 * 256 * 4; ++number) {
    Instruction insn;
    insn.map = static_cast<uint8_t>(number / 1024);
    insn.opcode = static_cast<uint8_t>(number / 4);
    insn.vex = number % 2 != 0;
    insn.repeated = number % 4 >= 2;
    insn.rex = insn.has_modrm = true;
    insn.mod = 3;
    may += insn.may_write_general();
    for (uint8_t reg = kRax; reg <= kR15; ++reg) {
      insn.reg = insn.rm = reg;
      const auto wanted = static_cast<GeneralRegister>(reg);
      if (insn.writes(wanted) || insn.writes_unsaid(wanted)) {
        EXPECT_TRUE(insn.may_write_general()) << int{insn.map} << " " << int{insn.opcode};
      }
    }
  }
  EXPECT_LT(may, 2000U) << "most of the maps of vector instructions write none";
  const auto half = decode_instruction(Code{0x62, 0xf5, 0x7d, 0x08, 0x7e, 0xc3});  // vmovw %xmm0,%ebx
  ASSERT_TRUE(half);
  EXPECT_TRUE(half->writes(kRbx));
}

TEST(Instruction, VectorRegistersAreNotGeneralOnes) {
  const auto writes_esp = [](const Code& code) { return decode_instruction(code)->writes(kRsp); };
  EXPECT_TRUE(writes_esp({0x66, 0x0f, 0x7e, 0xe4})) << "movd %xmm4,%esp";
  EXPECT_FALSE(writes_esp({0xf3, 0x0f, 0x7e, 0xe4})) << "movq %xmm4,%xmm4";
  EXPECT_TRUE(writes_esp({0xc5, 0xf9, 0x7e, 0xe4})) << "vmovd %xmm4,%esp";
  EXPECT_FALSE(writes_esp({0xc5, 0xfa, 0x7e, 0xe4})) << "vmovq %xmm4,%xmm4";
  EXPECT_FALSE(writes_esp({0xc4, 0xe1, 0x7a, 0x7e, 0xe4})) << "the same with three bytes";
  EXPECT_TRUE(writes_esp({0xf3, 0x0f, 0x2c, 0xe4})) << "cvttss2si %xmm4,%esp";
  EXPECT_FALSE(writes_esp({0x0f, 0x2c, 0xe4})) << "cvttps2pi %xmm4,%mm4";
  EXPECT_TRUE(writes_esp({0x62, 0xf5, 0x7e, 0x08, 0x79, 0xe4})) << "vcvtsh2usi %xmm4,%esp";
  EXPECT_FALSE(writes_esp({0x62, 0xf5, 0x7c, 0x08, 0x79, 0xe4})) << "vcvtph2udq %xmm4,%xmm4";
  EXPECT_TRUE(writes_esp({0xc5, 0xf8, 0x93, 0xe1})) << "kmovw %k1,%esp";
  EXPECT_FALSE(writes_esp({0xc5, 0xf8, 0x92, 0xe4})) << "kmovw %esp,%k4";
  EXPECT_FALSE(writes_esp({0xc5, 0xf5, 0x4b, 0xe3})) << "kunpckbw %k3,%k1,%k4";
  EXPECT_EQ(decode_instruction(Code{0xf3, 0x0f, 0x7e, 0x44, 0x24, 0x08})->stored_bytes(), 0U) << "movq 8(%rsp),%xmm0";
  EXPECT_GE(decode_instruction(Code{0x66, 0x0f, 0x7e, 0x44, 0x24, 0x08})->stored_bytes(), 4U) << "movd %xmm0,8(%rsp)";
}

TEST(Instruction, ByteRegistersAreNotTheStackPointer) {
  EXPECT_FALSE(decode_instruction(Code{0x80, 0xcc, 0x0c})->writes(kRsp));       // or $12,%ah
  EXPECT_TRUE(decode_instruction(Code{0x40, 0x80, 0xcc, 0x0c})->writes(kRsp));  // or $12,%spl
  EXPECT_TRUE(decode_instruction(Code{0x48, 0x83, 0xe4, 0xe0})->writes(kRsp));  // and $-32,%rsp
  EXPECT_FALSE(decode_instruction(Code{0x4c, 0x39, 0xdc})->writes(kRsp));       // cmp %r11,%rsp
  EXPECT_TRUE(decode_instruction(Code{0xbd, 1, 0, 0, 0})->writes(kRbp));        // mov $1,%ebp
}

TEST(Instruction, PossibleCallsAreFoundWhereverTheyAre) {
  std::vector<int64_t> found;
  const auto find = [&](const Code& code) {
    found.clear();
    find_possible_calls(code, [&](int64_t target) { found.push_back(target); });
    return found;
  };
  EXPECT_EQ(find({0x90, 0xe8, 0x10, 0, 0, 0, 0xc3}), std::vector<int64_t>{0x16});
  EXPECT_EQ(find({0xe8, 0xfb, 0xff, 0xff, 0xff}), std::vector<int64_t>{0}) << "itself";
  EXPECT_EQ(find({0xe8, 0xe8, 0, 0, 0, 0}), (std::vector<int64_t>{5 + 0xe8, 6})) << "one of them is none";
  EXPECT_EQ(find({0x90, 0xe8, 0x10, 0, 0}), std::vector<int64_t>{}) << "cut off";
  EXPECT_EQ(find({}), std::vector<int64_t>{});
}

}  // namespace
}  // namespace cicada::code
