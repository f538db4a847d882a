// SPDX-License-Identifier: Apache-2.0
#include "symbolize/symbols/unnamed_functions.h"

#include <gtest/gtest.h>

#include <map>

#include "symbolize/symbols/elf_image_for_test.h"

namespace cicada::symbolize {
namespace {

// Symbols by name, as nm prints them.
std::map<std::string, uint64_t> symbols_in(const std::string& path) {
  std::map<std::string, uint64_t> symbols;
  std::ifstream file(path);
  std::string kind, name;
  uint64_t address = 0;
  while (file >> std::hex >> address >> kind >> name) symbols[name] = address;
  return symbols;
}

void expect_start_of(const TestDirectory& directory, const std::string& build) {
  ASSERT_TRUE(directory.run(build + " -o a && nm a | grep -E ' [Tt] ' > symbols && strip a")) << build;
  const auto elf = elf::ElfFile::open(directory.path("a"));
  ASSERT_TRUE(elf);
  UnnamedFunctions functions(*elf);
  const auto symbols = symbols_in(directory.path("symbols"));
  for (const char* name : {"main", "_start"}) {
    const uint64_t begin = symbols.at(name);
    const auto found = functions.find(LinkAddr(begin + 1));
    ASSERT_TRUE(found) << build << ": " << name;
    EXPECT_EQ(found->name, name) << build;
    EXPECT_EQ(found->begin, LinkAddr(begin)) << build;
  }
  for (const auto& [code, name] : functions.named()) EXPECT_EQ(code.begin, LinkAddr(symbols.at(std::string(name)))) << build;
  const auto other = functions.find(LinkAddr(symbols.at("f") + 1));
  ASSERT_TRUE(other) << build;
  EXPECT_EQ(other->begin, LinkAddr(symbols.at("f"))) << build;
  EXPECT_TRUE(other->name.empty()) << build;
}

constexpr char kProgram[] = "#include <stdio.h>\nstatic int __attribute__((noinline)) f(int c) { return printf(\"%d\", c); }\nint main(int c, char** v) { (void)v; return f(c) + f(c + 1); }\n";

TEST(UnnamedFunctions, NameWhereAProgramStartsAndItsMain) {
  TestDirectory directory;
  directory.write("a.c", kProgram);
  for (const char* options : {"-O0", "-O2", "-O2 -no-pie", "-Os -static", "-O2 -static-pie", "-O2 -fcf-protection", "-O2 -fno-asynchronous-unwind-tables"}) {
    expect_start_of(directory, std::string("gcc ") + options + " a.c");
  }
}

TEST(UnnamedFunctions, LendNoNameToWhatLiesBehind) {
  TestDirectory directory;
  directory.write("a.c", kProgram);
  directory.write("b.c", "int behind(int x) { return x * x + 7; }\nint (*const table[])(int) = {behind};\n");
  ASSERT_TRUE(directory.run("gcc -O2 -no-pie -fno-asynchronous-unwind-tables a.c b.c -o a && nm a | grep ' T ' > symbols && strip a"));
  const auto elf = elf::ElfFile::open(directory.path("a"));
  ASSERT_TRUE(elf);
  UnnamedFunctions functions(*elf);
  const auto behind = functions.find(LinkAddr(symbols_in(directory.path("symbols")).at("behind") + 1));
  EXPECT_TRUE(!behind || behind->name.empty());
}

TEST(UnnamedFunctions, NameTheStartOfMuslsPrograms) {
  TestDirectory directory;
  directory.write("a.c", kProgram);
  if (!directory.run("which musl-gcc >/dev/null")) GTEST_SKIP() << "no musl-gcc: apt-get install musl-tools";
  for (const char* options : {"-O2", "-O2 -static", "-O2 -static -no-pie"}) expect_start_of(directory, std::string("musl-gcc ") + options + " a.c");
}

TEST(UnnamedFunctions, NameNothingOfALibraryWithAnEntry) {
  TestDirectory directory;
  // As C++'s landing pads may begin.
  directory.write("a.S", ".text\n.globl f\n.type f, @function\nf: .cfi_startproc\nmov %rsp, %rdi\ncall g\nret\n.cfi_endproc\n.section .note.GNU-stack,\"\",@progbits\n");
  directory.write("b.c", "void g(void *p) { *(int *)p = 1; }\n");
  ASSERT_TRUE(directory.run("gcc -O2 -shared -fPIC -Wl,-e,f -Wl,-soname,liba.so -Wl,-Bsymbolic a.S b.c -o a && strip a"));
  const auto elf = elf::ElfFile::open(directory.path("a"));
  ASSERT_TRUE(elf);
  UnnamedFunctions functions(*elf);
  const auto found = functions.find(elf->entry());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->begin, elf->entry());
  EXPECT_TRUE(found->name.empty());
  EXPECT_TRUE(functions.named().empty());
}

// Code without call-frame information: by the calls and addresses of the code, and where code does not go on.
TEST(UnnamedFunctions, BeginInAssemblyWhereTheInstructionsSay) {
  TestDirectory directory;
  directory.write("a.S", R"(
        .text
        .p2align 4
kernel_one:
        push %rbp
        mov $100, %ebp
1:      dec %ebp
        jnz 1b
        call kernel_three
        pop %rbp
        ret
        .p2align 4
kernel_two:
        test %edi, %edi
        jz 2f
        lea 3(%rdi), %eax
        ret
        .p2align 4
2:      lea 7(%rdi), %eax
        ret
kernel_three:
        lea 5(%rdi), %eax
        ret
        .p2align 4
not_followed:
        pop %rax
        pop %rcx
        jmp *%rcx
        .globl table
        .data
        .p2align 3
table:  .quad kernel_one
        .section .note.GNU-stack,"",@progbits
)");
  directory.write("b.c", "extern int (*table[])(int);\nint f(int x) { return table[0](x) + 1; }\nint g(int x) { return f(x) * f(x + 1) + f(x * 3); }\n"
                         "int h(int x) { return g(x) / (1 + f(x)) + g(x + 3) * g(x - 9) + f(x * 5) / (3 + g(x)); }\n"
                         "int k(int x) { return h(x) / (1 + g(x)) + h(x + 3) * h(x - 9) + g(x * 5) / (3 + h(x)) + h(x * 7) / (9 + f(x)); }\n");
  ASSERT_TRUE(directory.run("gcc -O2 -shared -nostartfiles -fPIC a.S b.c -o a -Wl,-Bsymbolic && nm a | grep ' t ' > symbols && strip a"));
  const auto elf = elf::ElfFile::open(directory.path("a"));
  ASSERT_TRUE(elf);
  UnnamedFunctions functions(*elf);
  const auto symbols = symbols_in(directory.path("symbols"));
  for (const char* name : {"kernel_one", "kernel_two", "kernel_three", "not_followed"}) {
    const uint64_t begin = symbols.at(name);
    for (const uint64_t inside : {uint64_t{0}, uint64_t{2}}) {
      const auto found = functions.find(LinkAddr(begin + inside));
      ASSERT_TRUE(found) << name;
      EXPECT_EQ(found->begin.value, begin) << name;
      EXPECT_TRUE(found->name.empty());
    }
  }
  const auto end = functions.find(LinkAddr(symbols.at("kernel_three") - 1));  // behind the alignment in it
  ASSERT_TRUE(end);
  EXPECT_EQ(end->begin.value, symbols.at("kernel_two"));
}

// More code than is followed at once.
TEST(UnnamedFunctions, AreTheSameInWhateverOrderMuchCodeIsAskedFor) {
  TestDirectory directory;
  directory.write("a.S", R"(
        .macro FUNCTION name
        .p2align 4
\name:  push %rbx
        mov %rdi, %rbx
1:      dec %rbx
        jnz 1b
        pop %rbx
        ret
        .pushsection .data.rel.ro, "aw"
        .p2align 3
        .quad \name
        .popsection
        .endm
        .text
        .irp n, 1, 2, 3
        FUNCTION first_\n
        .endr
        .skip 17 << 20, 0xcc
        .irp n, 1, 2, 3
        FUNCTION middle_\n
        .endr
        .skip 17 << 20, 0xcc
        .irp n, 1, 2, 3
        FUNCTION last_\n
        .endr
        .section .note.GNU-stack,"",@progbits
)");
  for (const std::string options : {"-Wl,-z,nopack-relative-relocs", "-Wl,-z,pack-relative-relocs"}) {
    ASSERT_TRUE(directory.run("gcc -shared -nostdlib " + options + " a.S -o a && nm a | grep ' t ' > symbols && strip a"));
    const auto elf = elf::ElfFile::open(directory.path("a"));
    ASSERT_TRUE(elf);
    EXPECT_EQ(elf->find_section(".relr.dyn") != nullptr, options.ends_with(",pack-relative-relocs")) << "not what this linker calls it";
    const auto symbols = symbols_in(directory.path("symbols"));
    ASSERT_EQ(symbols.size(), 9U);
    UnnamedFunctions forwards(*elf), backwards(*elf);
    const auto expect = [](UnnamedFunctions& functions, const std::string& name, uint64_t begin) {
      for (const uint64_t inside : {0, 1, 10}) {
        const auto found = functions.find(LinkAddr(begin + inside));
        ASSERT_TRUE(found) << name;
        EXPECT_EQ(found->begin.value, begin) << name;
      }
    };
    for (const auto& [name, begin] : symbols) expect(forwards, name, begin);
    for (auto symbol = symbols.rbegin(); symbol != symbols.rend(); ++symbol) expect(backwards, symbol->first, symbol->second);
    EXPECT_FALSE(forwards.find(LinkAddr(symbols.at("first_1") + (9 << 20)))) << "padding";
  }
}

TEST(UnnamedFunctions, AreNoneInPaddingAndOutsideOfCode) {
  ElfImage image;
  ElfImage::Part text{".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 0, 0, std::vector<uint8_t>(0x100, 0xcc)};
  // xor %ebp,%ebp; lea 0x39(%rip),%rdi; call *8(%rip); hlt: _start; at 0x1040: ret: main
  const std::vector<uint8_t> start = {0x31, 0xed, 0x48, 0x8d, 0x3d, 0x37, 0, 0, 0, 0xff, 0x15, 8, 0, 0, 0, 0xf4};
  std::copy(start.begin(), start.end(), text.bytes.begin());
  text.bytes[0x40] = 0xc3;
  image.add(text);
  image.load_code();
  std::vector<uint8_t> bytes = image.bytes();
  reinterpret_cast<Elf64_Ehdr*>(bytes.data())->e_entry = 0x1000;
  const auto elf = elf::ElfFile::parse_copy(bytes, "test image");
  ASSERT_TRUE(elf);
  UnnamedFunctions functions(*elf);
  ASSERT_TRUE(functions.find(LinkAddr(0x100f)));
  EXPECT_EQ(functions.find(LinkAddr(0x100f))->name, "_start");
  ASSERT_TRUE(functions.find(LinkAddr(0x1040)));
  EXPECT_EQ(functions.find(LinkAddr(0x1040))->name, "main");
  EXPECT_FALSE(functions.find(LinkAddr(0x1010)));  // padding
  EXPECT_FALSE(functions.find(LinkAddr(0x1041)));
  EXPECT_FALSE(functions.find(LinkAddr(0x5000)));
  EXPECT_TRUE(functions.named().empty()) << "no table tells where they end";
}

}  // namespace
}  // namespace cicada::symbolize
