// SPDX-License-Identifier: Apache-2.0
#include "elf/usdt_operands.h"

#include <gtest/gtest.h>

#include <random>

namespace cicada::elf {
namespace {

// "s4 +112": four bytes with a sign, 112 bytes into struct pt_regs. "?": cannot be read.
std::string shown(const event_field& field) {
  EXPECT_TRUE(is_usdt_operand(field));
  if (field.bytes == 0) return "?";
  std::string text = std::string(field.is_signed ? "s" : "u") + std::to_string(field.bytes);
  if (field.kind == FIELD_CONSTANT) return text + " $" + std::to_string(field.number);
  if (field.kind == FIELD_OF_RECORD) return text + " +" + std::to_string(field.offset);
  const auto name = [](uint16_t offset) { return offset == NO_REGISTER ? "-" : std::to_string(offset); };
  return text + " [" + name(field.offset) + " " + name(field.index) + "<<" + std::to_string(field.index_shift) + " " + std::to_string(field.number) + "]";
}

std::string one(std::string_view text) {
  const auto fields = parse_usdt_operands(text);
  return fields.size() == 1 ? shown(fields[0]) : std::to_string(fields.size()) + " operands";
}

// struct pt_regs: r15 r14 r13 r12 bp bx r11 r10 r9 r8 ax cx dx si di orig_ax ip cs flags sp.
TEST(UsdtOperands, AreRegisters) {
  EXPECT_EQ(one("-4@%edi"), "s4 +112");
  EXPECT_EQ(one("8@%rdi"), "u8 +112");
  EXPECT_EQ(one("8@%r15"), "u8 +0");
  EXPECT_EQ(one("4@%r8d"), "u4 +72");
  EXPECT_EQ(one("-2@%r9w"), "s2 +64");
  EXPECT_EQ(one("1@%r10b"), "u1 +56");
  EXPECT_EQ(one("8@%rsp"), "u8 +152");
  EXPECT_EQ(one("8@%rip"), "u8 +128");
  EXPECT_EQ(one("2@%ax"), "u2 +80");
  EXPECT_EQ(one("1@%al"), "u1 +80");
  EXPECT_EQ(one("1@%ah"), "u1 +81");
  EXPECT_EQ(one("-1@%dh"), "s1 +97");
  EXPECT_EQ(one("1@%sil"), "u1 +104");
  EXPECT_EQ(one("-1@%edx"), "s1 +96") << "its low byte";
  EXPECT_EQ(one("8@%ecx"), "u4 +88") << "no more than there is";
}

TEST(UsdtOperands, AreConstants) {
  EXPECT_EQ(one("4@$5"), "u4 $5");
  EXPECT_EQ(one("-4@$-1"), "s4 $-1");
  EXPECT_EQ(one("8@$0x10"), "u8 $16");
  EXPECT_EQ(one("8@$18446744073709551615"), "u8 $-1");
  EXPECT_EQ(one("8@$18446744073709551616"), "?");
}

TEST(UsdtOperands, AreMemory) {
  EXPECT_EQ(one("8@-16(%rbp)"), "u8 [32 -<<0 -16]");
  EXPECT_EQ(one("8@(%rax)"), "u8 [80 -<<0 0]");
  EXPECT_EQ(one("-4@8(%rax,%rbx,8)"), "s4 [80 40<<3 8]");
  EXPECT_EQ(one("8@(%rax,%rbx)"), "u8 [80 40<<0 0]");
  EXPECT_EQ(one("8@0x20(,%r12,4)"), "u8 [- 24<<2 32]");
  EXPECT_EQ(one("8@8(%rax, %rbx, 8)"), "?") << "blanks within, but one operand";
}

TEST(UsdtOperands, MayBeUnreadable) {
  for (const char* text : {"8f@%xmm0", "16@%xmm1", "4@sym+4(%rip)", "8@-16(%rip)", "8@sym", "8@$sym", "%rax", "@%rax", "8@", "-@%rax", "3@%rax", "8@%", "8@%rzx", "8@()", "8@(", "8@)", "8@(%rax",
                           "8@(%eax)", "8@(%al)", "8@(%rax,%rbx,3)", "8@(%rax,%rbx,4,1)", "8@99999999999(%rax)", "8@--4(%rax)", "8@%fs:8(%rax)", "8@(%rax,,)", "8@1(2)"})
    EXPECT_EQ(one(text), std::string_view(text) == "8@(%rax,,)" ? "u8 [80 -<<0 0]" : "?") << text;
}

TEST(UsdtOperands, AreTwelveAtMost) {
  EXPECT_TRUE(parse_usdt_operands("").empty());
  EXPECT_TRUE(parse_usdt_operands("  ").empty());
  const auto three = parse_usdt_operands(" 8@%rdi  8f@%xmm0 -4@$3");
  ASSERT_EQ(three.size(), 3U);
  EXPECT_EQ(shown(three[0]), "u8 +112");
  EXPECT_EQ(shown(three[1]), "?");
  EXPECT_EQ(shown(three[2]), "s4 $3");
  std::string many;
  for (int i = 0; i < 20; ++i) many += "8@$1 ";
  EXPECT_EQ(parse_usdt_operands(many).size(), kMaxUsdtArguments);
}

TEST(UsdtOperands, OfAnyTextCanBeUsed) {
  std::mt19937 random(7);
  constexpr std::string_view kLetters = "@%$(),-+ 0x1248rabidspxlh";
  for (int i = 0; i < 100'000; ++i) {
    std::string text = "8@";
    for (size_t length = random() % 12; length > 0; --length) text += kLetters[random() % kLetters.size()];
    for (const event_field& field : parse_usdt_operands(text)) ASSERT_TRUE(is_usdt_operand(field)) << text;
  }
}

TEST(UsdtOperands, AreChecked) {
  EXPECT_TRUE(is_usdt_operand({}));
  event_field field{};
  field.bytes = 8;
  field.offset = 160;
  EXPECT_TRUE(is_usdt_operand(field));
  field.offset = 224;
  EXPECT_FALSE(is_usdt_operand(field)) << "behind the registers";
  field.offset = 0;
  field.bytes = 3;
  EXPECT_FALSE(is_usdt_operand(field));
  field.bytes = 8;
  field.kind = FIELD_IN_MEMORY + 1;
  EXPECT_FALSE(is_usdt_operand(field));
  field.kind = FIELD_IN_MEMORY;
  field.index = NO_REGISTER;
  EXPECT_TRUE(is_usdt_operand(field));
  field.offset = 4;
  EXPECT_FALSE(is_usdt_operand(field)) << "no register begins there";
  field.offset = NO_REGISTER;
  EXPECT_FALSE(is_usdt_operand(field)) << "no register at all";
  field.index = 8;
  EXPECT_TRUE(is_usdt_operand(field));
  field.index_shift = 4;
  EXPECT_FALSE(is_usdt_operand(field));
  field.index_shift = 0;
  field.is_signed = 2;
  EXPECT_FALSE(is_usdt_operand(field));
}

}  // namespace
}  // namespace cicada::elf
