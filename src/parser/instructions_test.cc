// SPDX-License-Identifier: Apache-2.0
#include "parser/instructions.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace cicada::parser {
namespace {

using symbolize::FunctionCode;
using symbolize::FunctionReturns;
using Code = std::vector<uint8_t>;

FunctionReturns returns_of(const Code& code) { return find_returns(code, {FileOffset(0), code.size(), {}, 0}); }

std::vector<uint64_t> offsets_of(const FunctionReturns& returns) {
  std::vector<uint64_t> offsets;
  for (const FileOffset offset : returns.offsets) offsets.push_back(offset.value);
  return offsets;
}

// By these instructions and no others.
void expect_returns(const Code& code, const std::vector<uint64_t>& offsets) {
  const FunctionReturns returns = returns_of(code);
  EXPECT_FALSE(returns.leaves_otherwise);
  EXPECT_EQ(offsets_of(returns), offsets);
}

// lea table(%rip),%rdx; movslq (%rdx,%rax,4),%rax; add %rdx,%rax; jmp *%rax; ret
const Code kSwitch{0x48, 0x8d, 0x15, 0, 1, 0, 0, 0x48, 0x63, 0x04, 0x82, 0x48, 0x01, 0xd0, 0xff, 0xe0, 0xc3};

TEST(Instructions, BeginWhereTheOneBeforeEnds) {
  const std::vector<uint8_t> code{0x53, 0x48, 0x8b, 0x15, 0x40, 0x29, 0x00, 0x00, 0xc3};  // push %rbx; mov 0x2940(%rip),%rdx; ret
  std::vector<uint64_t> begins;
  for (uint64_t offset = 0; offset < 12; ++offset)
    if (begins_instruction(code, offset)) begins.push_back(offset);
  EXPECT_EQ(begins, (std::vector<uint64_t>{0, 1, 8}));
}

TEST(Instructions, DoNotFollowWhatIsNone) {
  const std::vector<uint8_t> code{0x90, 0x06, 0x90, 0x90};  // 06 is none in 64-bit code
  EXPECT_TRUE(begins_instruction(code, 0));
  EXPECT_FALSE(begins_instruction(code, 1));
  EXPECT_FALSE(begins_instruction(code, 2));
  EXPECT_FALSE(begins_instruction({}, 0));
  EXPECT_FALSE(begins_instruction(std::vector<uint8_t>{0x48}, 0));  // cut off
}

TEST(Returns, AreAllOfAFunction) {
  expect_returns({0xc3}, {0});
  expect_returns({0x85, 0xff, 0x74, 0x01, 0xc3, 0xc3}, {4, 5});                          // test %edi,%edi; je 5; ret; ret
  expect_returns({0xf3, 0xc3}, {0});                                                     // rep ret
  expect_returns({0xf2, 0xc3}, {0});                                                     // bnd ret
  expect_returns({0xc2, 0x08, 0x00}, {0});                                               // ret $8
  expect_returns({0xf3, 0x0f, 0x1e, 0xfa, 0xeb, 0xfa}, {});                              // endbr64; jmp 0: it does not return
  expect_returns({0xb8, 0xc3, 0xc3, 0xc3, 0xc3, 0xc3, 0x66, 0x90}, {5});                 // mov $0xc3c3c3c3,%eax; ret; nop
  expect_returns({0xe2, 0xfe, 0xe3, 0x00, 0xc3}, {4});                                   // loop 0; jrcxz 4; ret
  expect_returns({0x74, 0x01, 0xc3, 0xe8, 0, 0, 0, 0}, {2});                             // je 3; ret; call …, which does not return
  expect_returns({0x74, 0x01, 0xc3, 0x0f, 0x0b}, {2});                                   // je 3; ret; ud2
}

TEST(Returns, AreNotAllWhereAJumpLeaves) {
  EXPECT_TRUE(returns_of({0xc3, 0xe9, 0, 1, 0, 0}).leaves_otherwise);                    // jmp far behind it
  EXPECT_TRUE(returns_of({0x74, 0x01, 0xc3}).leaves_otherwise);                          // je right behind it
  EXPECT_TRUE(returns_of({0x74, 0xf0, 0xc3}).leaves_otherwise);                          // je before it
  EXPECT_TRUE(returns_of({0xff, 0xe0}).leaves_otherwise);                                // jmp *%rax
  EXPECT_TRUE(returns_of({0xff, 0x25, 0, 1, 0, 0}).leaves_otherwise);                    // jmp *0x100(%rip)
  EXPECT_TRUE(returns_of({0xff, 0x24, 0xc5, 0, 1, 0, 0}).leaves_otherwise);              // jmp *0x100(,%rax,8): a table of functions, perhaps
  EXPECT_TRUE(returns_of({0xcb}).leaves_otherwise);                                      // lret
  EXPECT_TRUE(returns_of({0x48, 0xcf}).leaves_otherwise);                                // iretq
  EXPECT_TRUE(returns_of({0xc3, 0x89, 0xf8}).leaves_otherwise) << "goes on behind it";   // mov %edi,%eax
  EXPECT_EQ(offsets_of(returns_of({0xc3, 0xe9, 0, 1, 0, 0})), std::vector<uint64_t>{0});
}

TEST(Returns, AreAllWhereAJumpIsOfASwitch) {
  expect_returns(kSwitch, {16});
  expect_returns({0x3e, 0xff, 0xe0, 0xc3}, {3});                                         // notrack jmp *%rax
  expect_returns({0x3e, 0xff, 0x24, 0xc5, 0, 1, 0, 0, 0xc3}, {8});                       // notrack jmp *0x100(,%rax,8)
  // movslq (%rdx,%rax,4),%rax; mov %edi,%ecx; add %rax,%rdx; jmp *%rdx; ret
  expect_returns({0x48, 0x63, 0x04, 0x82, 0x89, 0xf9, 0x48, 0x01, 0xc2, 0xff, 0xe2, 0xc3}, {11});
}

// One page of code and one of constants behind it: jmp *table(,%rax,8); ret; nop; ret. `first`: of the table.
FunctionReturns returns_by_table(uint64_t first, uint32_t table = 0x402000, uint16_t type = ET_EXEC, uint32_t flags = PF_R) {
  Code file(0x3000);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = type;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  const Elf64_Phdr segments[] = {{PT_LOAD, PF_R | PF_X, 0x1000, 0x401000, 0x401000, 0x1000, 0x1000, 0x1000}, {PT_LOAD, flags, 0x2000, 0x402000, 0x402000, 0x1000, 0x1000, 0x1000}};
  const uint8_t code[] = {0xff, 0x24, 0xc5, static_cast<uint8_t>(table), static_cast<uint8_t>(table >> 8), static_cast<uint8_t>(table >> 16), 0, 0xc3, 0x90, 0xc3};
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + sizeof header, segments, sizeof segments);
  std::memcpy(file.data() + 0x1000, code, sizeof code);
  std::memcpy(file.data() + 0x2000, &first, sizeof first);
  const auto image = elf::ElfFile::parse_copy(file, "a program");
  EXPECT_TRUE(image) << image.error().message();
  return find_returns(file, {FileOffset(0x1000), sizeof code, {}, 0}, &*image);
}

TEST(Returns, AreAllWhereATableOfAddressesIsOfASwitch) {
  const FunctionReturns all = returns_by_table(0x401007);
  EXPECT_FALSE(all.leaves_otherwise);
  EXPECT_EQ(offsets_of(all), (std::vector<uint64_t>{0x1007, 0x1009}));
  EXPECT_FALSE(returns_by_table(0x401009).leaves_otherwise);
  EXPECT_TRUE(returns_by_table(0x401000).leaves_otherwise) << "of functions";
  EXPECT_TRUE(returns_by_table(0x40100a).leaves_otherwise) << "of functions";
  EXPECT_TRUE(returns_by_table(0x401002).leaves_otherwise) << "no instruction begins there";
  EXPECT_TRUE(returns_by_table(0).leaves_otherwise);
  EXPECT_TRUE(returns_by_table(0x401007, 0x402000, ET_DYN).leaves_otherwise);
  EXPECT_TRUE(returns_by_table(0x401007, 0x402000, ET_EXEC, PF_R | PF_W).leaves_otherwise) << "somebody may write";
  for (const uint32_t table : {0x402ff9U, 0x403000U, 0U}) EXPECT_TRUE(returns_by_table(0x401007, table).leaves_otherwise) << table;
}

TEST(Returns, AreNotAllWhereTheTargetIsNotTheTables) {
  const auto with = [](size_t at, std::initializer_list<uint8_t> inserted) {
    Code code = kSwitch;
    code.insert(code.begin() + static_cast<ptrdiff_t>(at), inserted);
    return returns_of(code).leaves_otherwise;
  };
  EXPECT_FALSE(with(11, {0x89, 0xf9}));                   // mov %edi,%ecx
  EXPECT_TRUE(with(11, {0x31, 0xc0}));                    // xor %eax,%eax: another distance
  EXPECT_TRUE(with(11, {0xb2, 0x01}));                    // mov $1,%dl: another base
  EXPECT_TRUE(with(14, {0x48, 0xff, 0xc0}));              // inc %rax: another sum
  EXPECT_TRUE(with(14, {0xe8, 0, 0, 0, 0}));              // call
  EXPECT_TRUE(with(16, {0xeb, 0xf9, 0x90})) << "jmp to the add, with other registers";
  Code code = kSwitch;
  code[9] = 0x44, code[10] = 0x82;                        // movslq 8(%rdx,%rax,4),%rax
  code.insert(code.begin() + 11, 8);
  EXPECT_TRUE(returns_of(code).leaves_otherwise);
}

TEST(Returns, OfWhatIsNoCodeAreNotKnown) {
  for (const Code& code : {Code{0xc3, 0x06}, Code{0xc3, 0x48}, Code{0xc3, 0xeb, 0xfe - 1, 0xb8, 0xc3}, Code{0xeb, 0x01, 0xb8, 0xc3, 0xc3, 0xc3, 0xc3}}) {
    const FunctionReturns returns = returns_of(code);
    EXPECT_TRUE(returns.leaves_otherwise);
    EXPECT_TRUE(returns.offsets.empty());
  }
  const Code code(10, 0xc3);
  EXPECT_TRUE(find_returns(code, {FileOffset(0), 0, {}, 0}).leaves_otherwise) << "no size";
  EXPECT_TRUE(find_returns(code, {FileOffset(0), 11, {}, 0}).leaves_otherwise);
  EXPECT_TRUE(find_returns(code, {FileOffset(11), 1, {}, 0}).leaves_otherwise);
  EXPECT_TRUE(find_returns(code, {FileOffset(~uint64_t{0}), 1, {}, 0}).leaves_otherwise);
  EXPECT_TRUE(find_returns(code, {FileOffset(0), 1, FileOffset(9), 2}).leaves_otherwise);
  EXPECT_EQ(offsets_of(find_returns(code, {FileOffset(9), 1, {}, 0})), std::vector<uint64_t>{9});
}

TEST(Returns, HaveABound) {
  EXPECT_EQ(returns_of(Code(symbolize::kMaxReturns, 0xc3)).offsets.size(), symbolize::kMaxReturns);
  const FunctionReturns more = returns_of(Code(symbolize::kMaxReturns + 1, 0xc3));
  EXPECT_TRUE(more.leaves_otherwise && more.offsets.empty());
  Code large(symbolize::kMaxCodeBytes, 0x90);
  large.back() = 0xc3;
  expect_returns(large, {symbolize::kMaxCodeBytes - 1});
  large.insert(large.begin(), 0x90);
  EXPECT_TRUE(returns_of(large).leaves_otherwise);
}

// cold: ud2; jmp to the ret. Behind it the function: je to the jump; ret.
TEST(Returns, AreLookedForInWhatWasMoved) {
  const Code code{0x0f, 0x0b, 0xeb, 0x04, 0x90, 0x90, 0x74, 0xfa, 0xc3};
  EXPECT_TRUE(find_returns(code, {FileOffset(6), 3, {}, 0}).leaves_otherwise);
  const FunctionReturns returns = find_returns(code, {FileOffset(6), 3, FileOffset(0), 4});
  EXPECT_FALSE(returns.leaves_otherwise);
  EXPECT_EQ(offsets_of(returns), std::vector<uint64_t>{8});
  const Code returning{0xc3, 0x90, 0x74, 0xfc, 0xc3};
  EXPECT_EQ(offsets_of(find_returns(returning, {FileOffset(2), 3, FileOffset(0), 1})), (std::vector<uint64_t>{0, 4}));
}

}  // namespace
}  // namespace cicada::parser
