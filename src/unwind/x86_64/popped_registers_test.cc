// SPDX-License-Identifier: Apache-2.0
#include "unwind/x86_64/popped_registers.h"

#include <gtest/gtest.h>

#include "dwarf/cfi_builder_for_test.h"
#include "dwarf/cfi_image_for_test.h"
#include "unwind/row_compiler.h"
#include "unwind/row_report.h"

namespace cicada::unwind {
namespace {

using Code = std::vector<uint8_t>;

// GCC's CFI of an end as in the header: CFA = r10 from the first byte on, CFA = rsp + 8 from `last` on.
UnwindRows compile(Code code, uint8_t last) {
  const auto size = static_cast<uint8_t>(code.size());
  code.resize(0x40, 0x90);
  dwarf::CfiBuilder cfi;
  cfi.add_fde(cfi.add_cie(), dwarf::kCodeBegin, 0x40,
              {0x0c, 10, 0, 0x10, 6, 2, 0x76, 0, 0x10, 3, 2, 0x76, 0x68, 0x02, last, 0x0c, 7, 8, 0x02, static_cast<uint8_t>(size - last), 0x0f, 3, 0x76, 0x78, 0x06});
  return *compile_rows(*elf::ElfFile::parse_copy(dwarf::wrap_in_elf(cfi.bytes(), {}, code), "test image"));
}
std::string rule_at(const UnwindRows& table, uint64_t offset) { return to_text(table.find(LinkAddr(dwarf::kCodeBegin + offset))); }

TEST(MarkPoppedRegisters, FromBehindThePopToTheReturn) {
  // pop %r10; pop %rbx; pop %rbp; lea -8(%r10),%rsp; ret; xor %eax,%eax
  const UnwindRows table = compile({0x41, 0x5a, 0x5b, 0x5d, 0x49, 0x8d, 0x62, 0xf8, 0xc3, 0x31, 0xc0}, 8);
  const std::string before = rule_at(table, 0);
  EXPECT_NE(before.find("rbp"), std::string::npos) << before;
  EXPECT_EQ(rule_at(table, 3), before);
  EXPECT_EQ(rule_at(table, 4), "cfa=r10+0");
  EXPECT_EQ(rule_at(table, 7), "cfa=r10+0");
  EXPECT_EQ(rule_at(table, 8), "cfa=rsp+8");
  EXPECT_NE(rule_at(table, 9).find("rbp"), std::string::npos) << "behind the return";
}

TEST(MarkPoppedRegisters, AlsoBehindLeave) {
  const UnwindRows table = compile({0xc9, 0x49, 0x8d, 0x62, 0xf8, 0xc3, 0x90}, 5);
  EXPECT_NE(rule_at(table, 0), "cfa=r10+0");
  EXPECT_EQ(rule_at(table, 1), "cfa=r10+0");
  EXPECT_EQ(rule_at(table, 5), "cfa=rsp+8");
}

TEST(MarkPoppedRegisters, NothingWhereTheFrameIsNotPopped) {
  // A function's begin: and $-64,%rsp; push -8(%r10); push %rbp; mov %rsp,%rbp; call
  const UnwindRows table = compile({0x48, 0x83, 0xe4, 0xc0, 0x41, 0xff, 0x72, 0xf8, 0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 0, 0, 0x90}, 17);
  for (uint64_t at = 0; at < 17; ++at) EXPECT_EQ(rule_at(table, at), rule_at(table, 0));
  EXPECT_NE(rule_at(table, 0), "cfa=r10+0");
}

TEST(MarkPoppedRegisters, NothingInCodeThatEndsOrIsNoCode) {
  const UnwindRows cut = compile({0x41, 0x5a, 0x5d}, 2);  // nops follow, to the end
  EXPECT_NE(rule_at(cut, 0), "cfa=r10+0");
  const UnwindRows bad = compile({0x41, 0x5a, 0x5d, 0x06, 0x06, 0x06}, 5);  // no instructions of 64-bit code
  EXPECT_EQ(rule_at(bad, 3), rule_at(bad, 0));
}

}  // namespace
}  // namespace cicada::unwind
