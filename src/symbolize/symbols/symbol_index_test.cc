// SPDX-License-Identifier: Apache-2.0
#include "symbolize/symbols/symbol_index.h"

#include <gtest/gtest.h>

#include "elf/go_table_for_test.h"
#include "symbolize/symbols/elf_image_for_test.h"
#include "symbolize/symbols/plt_symbols.h"

namespace cicada::symbolize {
namespace {

using profile::NameSource;
using Sym = ElfImage::Sym;

// Names by address, with the file that owns them.
struct Indexed {
  elf::ElfFile elf;
  SymbolIndex index;
  std::string at(uint64_t address) const {
    const auto symbol = index.find(LinkAddr(address));
    return symbol ? std::string(symbol->name) : "-";
  }
};

Indexed index_of(const std::vector<Sym>& symbols, const std::string& table = ".symtab") {
  ElfImage image;
  image.add_text(0x1000, 0x1000);
  image.add_symbols(table, symbols);
  Indexed result{image.parse(), {}};
  SymbolIndexBuilder builder;
  builder.append_section(result.elf, table, table == ".symtab" ? NameSource::kSymtab : NameSource::kDynsym);
  result.index = builder.build();
  return result;
}

TEST(SymbolIndex, NamesEveryByteOfASymbolAndNothingBehindIt) {
  const auto index = index_of({{"f", 0x1000, 0x10}, {"g", 0x1020, 0x10}});
  EXPECT_EQ(index.at(0xfff), "-");
  EXPECT_EQ(index.at(0x1000), "f");
  EXPECT_EQ(index.at(0x100f), "f");
  EXPECT_EQ(index.at(0x1010), "-");
  EXPECT_EQ(index.at(0x1020), "g");
  EXPECT_EQ(index.at(0x1030), "-");
}

TEST(SymbolIndex, HasTheFunctionsOfAGoProgram) {
  elf::GoTableBuilder table(0xfffffff1);
  table.add(0x40, {}, 0, "main.main");
  table.add(0x20, {}, 0, "runtime.futex.abi0");
  ElfImage image;
  image.add_text(elf::GoTableBuilder::kText, 0x1000);
  image.add({".gopclntab", SHT_PROGBITS, SHF_ALLOC, 0x500000, 0, 0, table.build()});
  Indexed go{image.parse(), {}};
  SymbolIndexBuilder builder;
  builder.append_go(go.elf);
  go.index = builder.build();
  EXPECT_EQ(go.at(0x401000), "main.main");
  EXPECT_EQ(go.at(0x40103f), "main.main");
  EXPECT_EQ(go.at(0x401040), "runtime.futex.abi0");
  EXPECT_EQ(go.at(0x401060), "-");
  EXPECT_EQ(go.index.find(LinkAddr(0x401000))->source, NameSource::kGoTable);
}

TEST(SymbolIndex, FindsTheTableOfAGoProgramAmidOtherData) {
  elf::GoTableBuilder table(0xfffffff0);
  table.add(0x40, {}, 0, "main.main");
  std::vector<uint8_t> data(40, 1);
  const std::vector<uint8_t> decoy = elf::GoTableBuilder(0xfffffff1).build(), bytes = table.build();  // of no functions
  data.insert(data.end(), decoy.begin(), decoy.end());
  data.resize((data.size() + 31) / 32 * 32 + 8);
  data.insert(data.end(), bytes.begin(), bytes.end());
  const auto name_of_main = [&](bool is_go, uint64_t text) {
    ElfImage image;
    image.add_text(text, 0x1000);
    image.add({".data.rel.ro", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x500018, 0, 0, data});
    if (is_go) image.add({".note.go.buildid", SHT_NOTE, SHF_ALLOC, 0x400100, 0, 0, {0, 0, 0, 0}});
    Indexed go{image.parse(), {}};
    SymbolIndexBuilder builder;
    builder.append_go(go.elf);
    go.index = builder.build();
    return go.at(elf::GoTableBuilder::kText);
  };
  EXPECT_EQ(name_of_main(true, elf::GoTableBuilder::kText), "main.main");
  EXPECT_EQ(name_of_main(false, elf::GoTableBuilder::kText), "-") << "another program's data";
  EXPECT_EQ(name_of_main(true, elf::GoTableBuilder::kText + 0x1000), "-") << "no code is there";
}

TEST(SymbolIndex, ChoosesOneAliasWhateverTheOrder) {
  std::vector<Sym> aliases{{"__write", 0x1000, 8}, {"write", 0x1000, 8, STT_FUNC, STB_WEAK}, {"_write", 0x1000, 8}, {"local", 0x1000, 8, STT_FUNC, STB_LOCAL}};
  std::sort(aliases.begin(), aliases.end(), [](const Sym& a, const Sym& b) { return a.name < b.name; });
  do {
    EXPECT_EQ(index_of(aliases).at(0x1004), "_write");
  } while (std::next_permutation(aliases.begin(), aliases.end(), [](const Sym& a, const Sym& b) { return a.name < b.name; }));
}

TEST(SymbolIndex, PrefersTheLargestOfSymbolsThatBeginTogether) {
  const auto index = index_of({{"entry", 0x1000, 4}, {"whole", 0x1000, 0x40, STT_FUNC, STB_LOCAL}});
  EXPECT_EQ(index.at(0x1002), "whole");
}

TEST(SymbolIndex, ReturnsToTheOuterSymbolBehindANestedOne) {
  const auto index = index_of({{"outer", 0x1000, 0x40}, {"inner", 0x1010, 0x10}, {"innermost", 0x1014, 4}, {"next", 0x1038, 0x20}});
  EXPECT_EQ(index.at(0x1008), "outer");
  EXPECT_EQ(index.at(0x1012), "inner");
  EXPECT_EQ(index.at(0x1016), "innermost");
  EXPECT_EQ(index.at(0x101a), "inner");
  EXPECT_EQ(index.at(0x1020), "outer");
  EXPECT_EQ(index.at(0x1039), "next");
  EXPECT_EQ(index.at(0x1050), "next");
}

TEST(SymbolIndex, AgreesWithALinearScan) {
  std::vector<Sym> symbols;
  uint32_t seed = 7;
  const auto random = [&seed](uint32_t below) { return (seed = seed * 1664525 + 1013904223) / 65536 % below; };
  for (int i = 0; i < 300; ++i) symbols.push_back({"s" + std::to_string(i), 0x1000 + random(0xf00), 1 + random(60)});
  const auto index = index_of(symbols);
  for (uint64_t address = 0x1000; address < 0x2000; ++address) {
    uint64_t best = 0;  // the innermost symbol begins last
    for (const Sym& s : symbols) {
      // of symbols that begin together only the largest exists
      bool largest = true;
      for (const Sym& other : symbols) largest = largest && !(other.value == s.value && other.size > s.size);
      if (largest && s.value <= address && address < s.value + s.size) best = std::max(best, s.value);
    }
    const auto found = index.index.find(LinkAddr(address));
    EXPECT_EQ(found ? found->begin.value : 0, best) << std::hex << address;
  }
}

TEST(SymbolIndex, LetsSizelessSymbolsFillGapsInAFullTableOnly) {
  const std::vector<Sym> symbols{{"asm_entry", 0x1010, 0}, {"f", 0x1040, 0x10}, {"label_in_f", 0x1044, 0, STT_NOTYPE, STB_LOCAL}, {"last", 0x1f00, 0}};
  const auto full = index_of(symbols);
  EXPECT_EQ(full.at(0x103f), "asm_entry");
  EXPECT_EQ(full.at(0x1046), "f");
  EXPECT_EQ(full.at(0x1050), "-");
  EXPECT_EQ(full.at(0x1fff), "last");
  EXPECT_EQ(full.at(0x2000), "-");
  const auto dynamic = index_of(symbols, ".dynsym");
  EXPECT_EQ(dynamic.at(0x1010), "asm_entry");
  EXPECT_EQ(dynamic.at(0x1011), "-");
}

TEST(SymbolIndex, LeavesOutDataUndefinedAndAbsoluteSymbols) {
  const auto index = index_of({{"object", 0x1000, 8, STT_OBJECT}, {"tls", 0x1000, 8, STT_TLS}, {"undefined", 0x1000, 8, STT_FUNC, STB_GLOBAL, SHN_UNDEF},
                               {"absolute", 0x1000, 8, STT_FUNC, STB_GLOBAL, SHN_ABS}, {"elsewhere", 0x9000, 8}});
  EXPECT_TRUE(index.index.empty());
}

TEST(SymbolIndex, StripsVersionsAndKeepsIfuncs) {
  const auto index = index_of({{"memcpy@@GLIBC_2.14", 0x1000, 8, STT_GNU_IFUNC}, {"old@GLIBC_2.2", 0x1008, 8}});
  EXPECT_EQ(index.at(0x1001), "memcpy");
  EXPECT_EQ(index.at(0x1009), "old");
}

TEST(SymbolIndex, SurvivesSymbolsThatWrapAroundTheAddressSpace) {
  const auto index = index_of({{"huge", 0x1004, UINT64_MAX}, {"f", 0x1100, 0x10}});
  EXPECT_EQ(index.at(0x1fff), "huge");
  EXPECT_EQ(index.at(0x2000), "-");
  EXPECT_EQ(index.at(0x1108), "f");
}

TEST(SymbolIndex, ReadsBinariesWithoutSectionHeaders) {
  TestDirectory directory;
  directory.write("a.c", "int visible_one(int x) { return x * 3 + 1; }\nint visible_two(int x) { return visible_one(x) ^ 5; }\n");
  ASSERT_TRUE(directory.run("gcc -O1 -shared -fPIC -Wl,--hash-style=gnu a.c -o gnu.so && gcc -O1 -shared -fPIC -Wl,--hash-style=sysv a.c -o sysv.so"));
  for (const std::string name : {"gnu.so", "sysv.so"}) {
    const auto whole = elf::ElfFile::open(directory.path(name));
    ASSERT_TRUE(whole);
    SymbolIndexBuilder from_sections;
    from_sections.append_section(*whole, ".dynsym", NameSource::kDynsym);
    const SymbolIndex expected = from_sections.build();
    // what `sstrip` does: the header forgets its section table
    std::vector<uint8_t> bytes(whole->bytes().begin(), whole->bytes().end());
    auto* header = reinterpret_cast<Elf64_Ehdr*>(bytes.data());
    header->e_shoff = 0;
    header->e_shnum = header->e_shstrndx = 0;
    const auto bare = elf::ElfFile::parse_copy(bytes, name);
    ASSERT_TRUE(bare);
    SymbolIndexBuilder from_dynamic;
    from_dynamic.append_dynamic(*bare);
    const SymbolIndex index = from_dynamic.build();
    ASSERT_GE(index.size(), 2U) << name;
    int checked = 0;
    for (uint64_t address = 0x1000; address < 0x1400; ++address) {
      const auto want = expected.find(LinkAddr(address));
      if (!want || !want->name.starts_with("visible")) continue;
      const auto got = index.find(LinkAddr(address));
      ASSERT_TRUE(got) << name;
      EXPECT_EQ(got->name, want->name);
      ++checked;
    }
    EXPECT_GT(checked, 10);
  }
}

TEST(PltSymbols, NamesStubsOfEveryLayout) {
  TestDirectory directory;
  directory.write("a.c", "#include <stdlib.h>\n#include <string.h>\nint main(int c, char** v) { return (int)strlen(v[c - 1]) + atoi(v[0]); }\n");
  ASSERT_TRUE(directory.run("gcc -O0 -fcf-protection=none a.c -o plain; gcc -O0 -Wl,-z,now a.c -o now; gcc -O0 -fcf-protection=full -Wl,-z,ibtplt a.c -o ibt"));
  for (const std::string name : {"plain", "now", "ibt"}) {
    const auto elf = elf::ElfFile::open(directory.path(name));
    ASSERT_TRUE(elf);
    const PltSymbols plt = PltSymbols::read(*elf);
    SymbolIndexBuilder builder;
    plt.append_to(builder);
    const SymbolIndex index = builder.build();
    // objdump knows these as <strlen@plt>; the call in main goes to one of them
    ASSERT_TRUE(directory.run("objdump -d --no-show-raw-insn " + name + " | grep -oE 'call +[0-9a-f]+ <strlen@plt>' | grep -oE '[0-9a-f]{4,}' | head -1 > call")) << name;
    uint64_t target = 0;
    std::ifstream(directory.path("call")) >> std::hex >> target;
    ASSERT_NE(target, 0U) << name;
    const auto found = index.find(LinkAddr(target));
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->name, "strlen@plt");
    if (name != "plain") continue;
    const auto header = index.find(elf->find_section(".plt")->address);  // what calls not bound yet go through
    ASSERT_TRUE(header);
    EXPECT_EQ(header->name, ".plt");
  }
}

// As libc calls its own string functions: the slot has no symbol, only the address of who chooses.
TEST(PltSymbols, NamesStubsOfFunctionsChosenAtStart) {
  TestDirectory directory;
  directory.write("a.c", "static int one(int x) { return x + 1; }\nstatic int (*choose(void))(int) { return one; }\n"
                      "__attribute__((ifunc(\"choose\"))) int chosen(int);\n"
                      "__attribute__((ifunc(\"choose\"), visibility(\"hidden\"))) int inside(int);\nint calls(int x) { return inside(x) + 1; }\n");
  ASSERT_TRUE(directory.run("gcc -O0 -fcf-protection=none -fPIC -shared a.c -o lib.so && readelf -rW lib.so | grep -q IRELATIVE"));
  const auto elf = elf::ElfFile::open(directory.path("lib.so"));
  ASSERT_TRUE(elf);
  SymbolIndexBuilder builder;
  const PltSymbols plt = PltSymbols::read(*elf);
  plt.append_to(builder);
  const SymbolIndex index = builder.build();
  ASSERT_TRUE(directory.run("objdump -d --no-show-raw-insn lib.so | sed -n '/<calls>:/,/ret/p' | grep -oE 'call +[0-9a-f]+' | grep -oE '[0-9a-f]{4,}' > call"));
  uint64_t target = 0;
  std::ifstream(directory.path("call")) >> std::hex >> target;
  const auto found = index.find(LinkAddr(target));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "chosen@plt");
}

}  // namespace
}  // namespace cicada::symbolize
