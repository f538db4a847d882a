// SPDX-License-Identifier: Apache-2.0
#include "symbolize/symbols/function_search.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/cpu_clock.h"
#include "elf/go_table_for_test.h"
#include "symbolize/symbols/elf_image_for_test.h"
#include "symbolize/symbols/image_symbols_for_test.h"

namespace cicada::symbolize {
namespace {

using Sym = ElfImage::Sym;
using Names = std::vector<std::string>;

FunctionSearch find_in(const elf::ElfFile& elf, const Names& patterns, size_t limit = 100) {
  SymbolIndexBuilder tables;
  tables.append_section(elf, ".symtab", profile::NameSource::kSymtab);
  tables.append_section(elf, ".dynsym", profile::NameSource::kDynsym);
  return search_functions(elf, tables.candidates(), patterns, limit);
}

ElfImage image_of(const std::vector<Sym>& symbols) {
  ElfImage image;
  image.add_text(0x1000, 0x1000);
  image.load_code();
  image.add_symbols(".symtab", symbols);
  return image;
}

FunctionSearch find_in(const std::vector<Sym>& symbols, const Names& patterns, size_t limit = 100) {
  return find_in(image_of(symbols).parse(), patterns, limit);
}

// "0 1000 f": pattern, address, name.
Names listed(const FunctionSearch& found) {
  Names lines;
  for (const FoundFunction& one : found.functions) lines.push_back(fmt::format("{} {:x} {}", one.pattern, one.begin.value, one.name));
  return lines;
}

TEST(FunctionSearch, SaysWhereInTheFileAFunctionBegins) {
  const elf::ElfFile elf = image_of({{"f", 0x1010, 0x20}, {"g", 0x1ff0, 0x100}, {"h", 0x1040, 0}}).parse();
  const FunctionSearch found = find_in(elf, {"f", "g", "h"});
  ASSERT_EQ(found.functions.size(), 3U);
  const uint64_t text = elf.find_section(".text")->offset.value;
  EXPECT_EQ(found.functions[0].begin, LinkAddr(0x1010));
  EXPECT_EQ(found.functions[0].code.begin, FileOffset(text + 0x10));
  EXPECT_EQ(found.functions[0].code.bytes, 0x20U);
  EXPECT_EQ(found.functions[1].code.begin, FileOffset(text + 0xff0));
  EXPECT_EQ(found.functions[1].code.bytes, 0x10U) << "to the end of its section";
  EXPECT_EQ(found.functions[2].code.bytes, 0U);
  EXPECT_EQ(found.matches, 3U);
  EXPECT_TRUE(found.has_symbols);
  EXPECT_FALSE(found.is_go || found.cut_short);
}

TEST(FunctionSearch, SaysWhatWasMovedAwayFromAFunction) {
  const FunctionSearch found = find_in({{"f", 0x1010, 0x20}, {"f.cold", 0x1080, 8}, {"g", 0x1040, 8}, {"g.cold", 0x1090, 8}, {"g.cold", 0x10a0, 8}, {"h", 0x1050, 8}}, {"f", "g", "h"});
  ASSERT_EQ(found.functions.size(), 3U);
  EXPECT_EQ(found.functions[0].code.cold_begin, found.functions[0].code.begin + 0x70);
  EXPECT_EQ(found.functions[0].code.cold_bytes, 8U);
  EXPECT_EQ(found.functions[1].code.cold_bytes, 0U) << "of one of two, nobody knows which";
  EXPECT_EQ(found.functions[2].code.cold_bytes, 0U);
}

TEST(FunctionSearch, LeavesOutWhatIsInNoExecutableSegment) {
  ElfImage image;
  image.add_text(0x1000, 0x100);
  image.add_symbols(".symtab", {{"f", 0x1000, 8}});
  const FunctionSearch found = find_in(image.parse(), {"f", "*"});
  EXPECT_TRUE(found.functions.empty());
  EXPECT_EQ(found.matches, 0U);
  EXPECT_TRUE(found.has_symbols);
}

TEST(FunctionSearch, OrdersByPatternThenAddress) {
  const std::vector<Sym> symbols{{"b2", 0x1040, 8}, {"a1", 0x1020, 8}, {"b1", 0x1010, 8}, {"a2", 0x1030, 8}};
  EXPECT_EQ(listed(find_in(symbols, {"b*", "*1", "nothing", "a2"})),
            (Names{"0 1010 b1", "0 1040 b2", "1 1010 b1", "1 1020 a1", "3 1030 a2"}));
}

TEST(FunctionSearch, HasAliasesOnceByTheBestName) {
  const std::vector<Sym> aliases{{"__libc_write", 0x1000, 8}, {"write", 0x1000, 8, STT_FUNC, STB_WEAK}, {"__write", 0x1000, 8}, {"writev", 0x1010, 8}};
  EXPECT_EQ(listed(find_in(aliases, {"*write*"})), (Names{"0 1000 __write", "0 1010 writev"}));
  EXPECT_EQ(listed(find_in(aliases, {"write", "__libc_write"})), (Names{"0 1000 write", "1 1000 __libc_write"}));
  // Both constructors of a class, and one with a longer suffix.
  EXPECT_EQ(listed(find_in({{"_ZN1AC1Ei", 0x1000, 8}, {"_ZN1AC2Ei", 0x1000, 8}}, {"A::A"})), (Names{"0 1000 A::A(int)"}));
  EXPECT_EQ(listed(find_in({{"f.isra.0", 0x1000, 8}, {"f", 0x1000, 8, STT_FUNC, STB_LOCAL}}, {"f"})), (Names{"0 1000 f"}));
}

TEST(FunctionSearch, CountsWhatIsBeyondTheLimit) {
  std::vector<Sym> symbols;
  for (uint64_t i = 0; i < 50; ++i) symbols.push_back({"f" + std::to_string(i), 0x1000 + 16 * i, 8});
  const FunctionSearch found = find_in(symbols, {"f*", "f1"}, 10);
  EXPECT_EQ(found.functions.size(), 10U);
  EXPECT_EQ(found.functions.back().name, "f9");
  EXPECT_EQ(found.matches, 51U);
  EXPECT_EQ(found.near, Names(2)) << "was found";
  EXPECT_EQ(find_in(symbols, {"f1"}, 0).matches, 1U);
}

TEST(FunctionSearch, TellsIndirectFunctionsAndChangedArguments) {
  const FunctionSearch found = find_in({{"memcpy@@GLIBC_2.14", 0x1000, 8, STT_GNU_IFUNC}, {"memcpy@GLIBC_2.2.5", 0x1010, 8}, {"_Z3sumi.constprop.0", 0x1020, 8}, {"_Z3sumi", 0x1030, 8}},
                                      {"memcpy", "sum(int)"});
  EXPECT_EQ(listed(found), (Names{"0 1000 memcpy", "0 1010 memcpy", "1 1020 sum(int) [clone .constprop.0]", "1 1030 sum(int)"}));
  EXPECT_TRUE(found.functions[0].indirect);
  EXPECT_FALSE(found.functions[1].indirect);
  EXPECT_TRUE(found.functions[2].changed_arguments);
  EXPECT_FALSE(found.functions[3].changed_arguments);
}

TEST(FunctionSearch, LabelsByTheirExactNameOnly) {
  const std::vector<Sym> symbols{{"entry", 0x1000, 0, STT_NOTYPE}, {"loop.part.0", 0x1010, 0, STT_NOTYPE, STB_LOCAL}, {"data", 0x1020, 8, STT_OBJECT}};
  EXPECT_EQ(listed(find_in(symbols, {"entry", "loop.part.0"})), (Names{"0 1000 entry", "1 1010 loop.part.0"}));
  EXPECT_TRUE(find_in(symbols, {"entr*", "*", "loop", "data"}).functions.empty());
}

TEST(FunctionSearch, ProposesNamesThatAreNear) {
  const std::vector<Sym> symbols{{"_ZN4json6Parser5parseEPKc", 0x1000, 8}, {"_ZN4json6Parser5parseEPKcm", 0x1010, 8}, {"read_file", 0x1020, 8}, {"_ZN4json6Parser4peekEv", 0x1030, 8}};
  const FunctionSearch found = find_in(symbols, {"json::Parser::prase", "reed_file", "parse", "json::Parser::parse(int)", "zzz", "json::Parser::pek*", "read_file"});
  EXPECT_EQ(found.near, (Names{"json::Parser::parse, json::Parser::peek", "read_file", "json::Parser::parse", "json::Parser::parse(char const*), json::Parser::parse(char const*, unsigned long)", "",
                               "json::Parser::peek", ""}));
}

TEST(FunctionSearch, KnowsGoPrograms) {
  elf::GoTableBuilder table(0xfffffff1);
  table.add(0x40, {}, 0, "main.main");
  table.add(0x20, {}, 0, "main.(*Server).Run");
  ElfImage image;
  image.add_text(elf::GoTableBuilder::kText, 0x1000);
  image.load_code();
  image.add({".gopclntab", SHT_PROGBITS, SHF_ALLOC, 0x500000, 0, 0, table.build()});
  const auto symbols = open_symbols(image.parse(), "/go/program");
  const FunctionSearch found = symbols->find_functions(Names{"main.main", "main.(*Server).Run", "main.mian", "main.*"}, 100);
  EXPECT_EQ(listed(found), (Names{"0 401000 main.main", "1 401040 main.(*Server).Run", "3 401000 main.main", "3 401040 main.(*Server).Run"}));
  EXPECT_TRUE(found.is_go);
  EXPECT_EQ(found.functions[1].code.bytes, 0x20U);
  EXPECT_EQ(found.near[2], "main.main");

  ElfImage noted;
  noted.add_text(0x1000, 0x10);
  noted.add({".note.go.buildid", SHT_NOTE, SHF_ALLOC, 0x5000, 0, 0, std::vector<uint8_t>(16)});
  const FunctionSearch nothing = find_in(noted.parse(), {"main.main"});
  EXPECT_TRUE(nothing.is_go);
  EXPECT_FALSE(nothing.has_symbols);
}

TEST(FunctionSearch, EndsWhenItIsTakenBack) {
  const elf::ElfFile elf = image_of(std::vector<Sym>(5000, {"some_function_with_a_name", 0x1000, 8})).parse();
  std::stop_source stop;
  stop.request_stop();
  SymbolIndexBuilder tables;
  tables.append_section(elf, ".symtab", profile::NameSource::kSymtab);
  EXPECT_TRUE(search_functions(elf, tables.candidates(), Names{"x*"}, 10, stop.get_token()).cut_short);
}

// CPU time of a look at each byte of 20,000 names of 60,000 bytes, one after the other, on this machine and as this test is built: 20 s here, 35 s with sanitizers.
auto cost_of_a_look() {
  const std::string name(60'000, 'f');
  const auto begin = cpu_time();
  uint32_t hash = 0;
  for (int i = 0; i < 200; ++i) {
    for (const char letter : name) hash = hash * 31 + static_cast<uint8_t>(letter);
  }
  volatile uint32_t used = hash;
  static_cast<void>(used);
  return 100 * (cpu_time() - begin);
}

// Names that expand, or that a pattern nearly matches, again and again, by a string table that all share.
TEST(FunctionSearch, HostileNamesCostABoundedTime) {
  std::string doubling = "_Z1f1pI1xS0_E";
  for (int i = 1; i <= 17; ++i) {  // each twice the one before
    const std::string earlier = std::string("S") + "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[2 * i - 1] + "_";
    doubling += "1pI" + earlier + earlier + "E";
  }
  for (const std::string& name : {doubling, "_Z1f" + std::string(16000, 'P') + "i", std::string(60'000, 'f')}) {
    const elf::ElfFile elf = image_of(std::vector<Sym>(200, {name, 0x1000, 8})).parse();
    SymbolIndexBuilder tables;
    for (int i = 0; i < 100; ++i) tables.append_section(elf, ".symtab", profile::NameSource::kSymtab);
    const auto begin = cpu_time();
    search_functions(elf, tables.candidates(), Names{"f(char)", "*f*f*f*f*f*g", "g", "*"}, 1000);
    EXPECT_LT(cpu_time() - begin, cost_of_a_look() / 4) << name.substr(0, 20);
  }
}

TEST(FunctionSearch, FindsWhatTheCompilerMade) {
  TestDirectory directory;
  directory.write("a.cc", R"(
#include <cstdlib>
#include <string>
#define KEEP __attribute__((noinline, noclone, used))
volatile int sink;
KEEP int parse(int x) { return sink = x; }
KEEP int parse(const char* text) { return sink = text[0]; }
KEEP int parse(std::string text) { return sink = static_cast<int>(text.size()); }
namespace list {
template <typename T> KEEP T sum(T a, T b) { sink = 1; return a + b; }
struct Node { int value; KEEP int get() const { return sink = value; } KEEP Node operator+(const Node& other) const { return {value + other.value}; } };
}
namespace { KEEP int hidden(int x) { return sink = x + 1; } }
static KEEP int local_one(int x) { return sink = x + 2; }
extern "C" {
KEEP int c_name(int x) { return sink = x + 3; }
int c_alias(int x) __attribute__((alias("c_name")));
static int chosen_one(int x) { return x; }
typedef int Chosen(int);
Chosen* choose() { return &chosen_one; }
int chosen(int) __attribute__((ifunc("choose")));
}
static __attribute__((noinline)) int scaled(int x, int by) { for (int i = 0; i < x; ++i) sink = sink * by; return sink; }
__attribute__((noinline)) int may_fail(int x) { if (__builtin_expect(x == 77, 0)) { sink = x; std::abort(); } return sink = x; }
int main(int c, char** v) {
  const list::Node a{c}, b{2};
  auto lambda = [&](int x) KEEP { return sink = x + c; };
  return parse(c) + parse(v[0]) + parse(std::string(v[0])) + list::sum(c, 1) + static_cast<int>(list::sum(1.5, 2.5)) + (a + b).get() + hidden(c) + local_one(c) +
         c_name(c) + chosen(c) + scaled(c, 3) + may_fail(c) + lambda(c);
}
)");
  ASSERT_TRUE(directory.run("g++ -O2 -std=c++17 a.cc -o a && cp a stripped && objcopy --only-keep-debug a a.debug && strip stripped && objcopy --add-gnu-debuglink=a.debug stripped && "
                            "nm a | grep -E ' [TtWiu] ' > symbols"));
  for (const char* file : {"a", "stripped"}) {
    const UniqueFd fd(::open(directory.path(file).c_str(), O_RDONLY | O_CLOEXEC));
    const auto symbols = ImageSymbols::open(fd.get(), directory.path(file), companions_in({}), {});
    ASSERT_TRUE(symbols);
    const auto names_of = [&](const std::string& pattern) {
      Names names;
      for (const FoundFunction& found : (*symbols)->find_functions(Names{pattern}, 100).functions) names.push_back(found.name);
      std::sort(names.begin(), names.end());
      return names;
    };
    EXPECT_EQ(names_of("parse").size(), 3U);
    EXPECT_EQ(names_of("parse(int)"), Names{"parse(int)"});
    EXPECT_EQ(names_of("_Z5parsei"), Names{"parse(int)"});
    EXPECT_EQ(names_of("list::sum"), (Names{"double list::sum<double>(double, double)", "int list::sum<int>(int, int)"}));
    EXPECT_EQ(names_of("list::sum<int>"), Names{"int list::sum<int>(int, int)"});
    EXPECT_EQ(names_of("list::Node::*"), (Names{"list::Node::get() const", "list::Node::operator+(list::Node const&) const"}));
    EXPECT_EQ(names_of("list::Node::operator+"), Names{"list::Node::operator+(list::Node const&) const"});
    EXPECT_EQ(names_of("(anonymous namespace)::hidden"), Names{"(anonymous namespace)::hidden(int)"});
    EXPECT_EQ(names_of("local_one"), Names{"local_one(int)"});
    EXPECT_EQ(names_of("c_name"), Names{"c_name"});
    EXPECT_EQ(names_of("c_alias"), Names{"c_alias"});
    EXPECT_EQ(names_of("c_*"), Names{"c_name"});
    EXPECT_EQ(names_of("may_fail"), Names{"may_fail(int)"}) << "without its cold part";
    EXPECT_EQ(names_of("main::{lambda(int)#1}::operator()"), Names{"main::{lambda(int)#1}::operator()(int) const"});
    EXPECT_TRUE(names_of("abort").empty()) << "only its stub is here";
    EXPECT_EQ(names_of("/^choo?se[^_]*$/"), Names{"chosen"}) << "not what chooses it, at the same address";
    EXPECT_EQ(names_of("choose"), Names{"choose"});
    const FunctionSearch some = (*symbols)->find_functions(Names{"chosen", "scaled", "main"}, 100);
    ASSERT_EQ(some.functions.size(), 3U);
    EXPECT_TRUE(some.functions[0].indirect);
    EXPECT_EQ(some.functions[1].changed_arguments, directory.run("grep -qE 'scaled.*(constprop|isra)' symbols"));
    const auto elf = elf::ElfFile::open(directory.path(file));
    ASSERT_TRUE(elf);
    const Bytes code = elf->contents_at(some.functions[2].begin), file_code = elf->bytes().subspan(some.functions[2].code.begin.value, some.functions[2].code.bytes);
    EXPECT_TRUE(std::equal(file_code.begin(), file_code.end(), code.begin()));
  }
}

}  // namespace
}  // namespace cicada::symbolize
