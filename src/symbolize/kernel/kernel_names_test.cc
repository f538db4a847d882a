// SPDX-License-Identifier: Apache-2.0
#include "symbolize/kernel/kernel_names.h"

#include <gtest/gtest.h>

#include "base/diagnostics.h"
#include "symbolize/symbols/elf_image_for_test.h"

namespace cicada::symbolize {
namespace {

TEST(KernelText, SplitsNameOffsetAndModule) {
  const auto plain = parse_kernel_text("tcp_sendmsg+0x12/0x340");
  EXPECT_EQ(plain.name, "tcp_sendmsg");
  EXPECT_EQ(plain.offset, 0x12U);
  EXPECT_EQ(plain.module, "");
  const auto module = parse_kernel_text("ext4_read+0x0/0x34 [ext4 0123abc]\n");
  EXPECT_EQ(module.name, "ext4_read");
  EXPECT_EQ(module.module, "ext4");
  EXPECT_EQ(parse_kernel_text("0xffffffff81000000").name, "");
  EXPECT_EQ(parse_kernel_text("").name, "");
  EXPECT_EQ(parse_kernel_text("name").name, "name");
}

TEST(KernelText, ShowsBpfProgramsByTheirName) {
  const auto named = parse_kernel_text("bpf_prog_6deef7357e7b4530_sd_fw_egress+0x5/0x40 [bpf]");
  EXPECT_EQ(named.name, "sd_fw_egress");
  EXPECT_EQ(named.module, "bpf");
  const auto nameless = parse_kernel_text("bpf_prog_6deef7357e7b4530+0x5/0x40");
  EXPECT_EQ(nameless.name, "bpf_prog_6deef7357e7b4530");
  EXPECT_EQ(nameless.module, "bpf");
  EXPECT_EQ(parse_kernel_text("bpf_prog_run+0x1/0x2").module, "");
}

std::vector<KernelSymbol> resolve(const std::string& kallsyms, const std::vector<uint64_t>& addresses) {
  TestDirectory directory;
  directory.write("kallsyms", kallsyms);
  std::vector<KernelSymbol> symbols;
  EXPECT_TRUE(kallsyms_names(directory.path("kallsyms"))->resolve(addresses, symbols));
  return symbols;
}

TEST(Kallsyms, FindsTheNearestFunctionBeforeEachAddress) {
  const auto symbols = resolve(
      "ffffffff81000000 T first\nffffffff81000100 T second\nffffffff81000100 t __second_alias\nffffffff81000200 D data\n"
      "ffffffffc0000000 t in_module\t[ext4]\nffffffffc0001000 t bpf_prog_0123456789abcdef_hello\t[bpf]\ngarbage\n\nffffffff80fff000 T before\n",
      {0xffffffff81000010, 0xffffffff81000100, 0xffffffff81000150, 0xffffffff81000210, 0xffffffffc0000004, 0xffffffffc0001004, 0xffffffff80ffe000, 0xffffffff81000011,
       0xffffffffd0000000});
  ASSERT_EQ(symbols.size(), 9U);
  EXPECT_EQ(symbols[0].name, "first");
  EXPECT_EQ(symbols[0].offset, 0x10U);
  EXPECT_EQ(symbols[1].name, "second");
  EXPECT_EQ(symbols[2].name, "second");
  EXPECT_EQ(symbols[3].name, "");
  EXPECT_EQ(symbols[4].name, "in_module");
  EXPECT_EQ(symbols[4].module, "ext4");
  EXPECT_EQ(symbols[5].name, "hello");
  EXPECT_EQ(symbols[5].module, "bpf");
  EXPECT_EQ(symbols[6].name, "");
  EXPECT_EQ(symbols[7].name, "first");
  EXPECT_EQ(symbols[8].name, "");
}

TEST(Kallsyms, ExplainsHiddenAddressesOnce) {
  TestDirectory directory;
  directory.write("kallsyms", "0000000000000000 T first\n0000000000000000 T second\n");
  std::vector<std::string> lines;
  diagnostics().set_handler([&](Severity severity, const std::string& line) {
    if (severity == Severity::kWarning) lines.push_back(line);
  });
  std::vector<KernelSymbol> symbols;
  const std::vector<uint64_t> addresses{0xffffffff81000010};
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(kallsyms_names(directory.path("kallsyms"))->resolve(addresses, symbols));
  diagnostics().set_handler({});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("kptr_restrict"), std::string::npos);
}

TEST(Kallsyms, NamesTheRunningKernel) {
  std::ifstream in("/proc/kallsyms");
  uint64_t address = 0;
  std::string type, name;
  std::vector<std::pair<uint64_t, std::string>> some;
  while (in >> std::hex >> address >> type >> name && some.size() < 5) {
    if (type == "T" && name == "vfs_read") some.emplace_back(address, name);
    in.ignore(1000, '\n');
  }
  if (some.empty() || some[0].first == 0) GTEST_SKIP() << "kernel addresses are hidden here";
  std::vector<KernelSymbol> symbols;
  const std::vector<uint64_t> addresses{some[0].first + 3};
  ASSERT_TRUE(kallsyms_names()->resolve(addresses, symbols));
  EXPECT_EQ(symbols[0].name, "vfs_read");
}

}  // namespace
}  // namespace cicada::symbolize
