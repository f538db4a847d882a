// SPDX-License-Identifier: Apache-2.0
// Programs, compiled in many ways. Where a parameter is follows from the calling convention, which each test says by hand; what compilers write about it is not asked.
#include "symbolize/dwarf/parameters.h"

#include <gtest/gtest.h>
#include <sys/user.h>

#include <cstddef>
#include <map>

#include "symbolize/symbols/elf_image_for_test.h"
#include "symbolize/symbols/image_symbols_for_test.h"

namespace cicada::symbolize {
namespace {

constexpr const char* kProgram = R"(
#include <stdint.h>
typedef const volatile int alias;
enum color { RED = -1, BLUE = 5 };
struct large { long a, b, c; };
struct small { int a, b; };
volatile long sink;
#define KEEP __attribute__((noipa))
KEEP void numbers(int first, unsigned second, long third, unsigned char fourth, signed char fifth, const char *sixth) { sink += first + second + third + fourth + fifth + *sixth; }
KEEP void typed(alias one, enum color two, _Bool three, short four, uint16_t five, char six) { sink += one + two + three + four + five + six; }
KEEP void floating(int before, double between, float more, int behind) { sink += before + (long)between + (long)more + behind; }
KEEP void many(int a, int b, int c, int d, int e, int f, int seventh, long eighth) { sink += a + b + c + d + e + f + seventh + eighth; }
KEEP void large_first(struct large by_value, int behind) { sink += by_value.a + by_value.c + behind; }
KEEP struct large returned(int first) { struct large all = {first, sink, 3}; return all; }
KEEP void small_first(struct small by_value, int behind) { sink += by_value.a + by_value.b + behind; }
KEEP void unused(int nobody, int wanted) { sink += wanted; }
KEEP void __attribute__((noinline)) addressed(int first, int second) { extern void take(int *); take(&second); sink += first + second; }
KEEP void take(int *one) { *one += 1; }
KEEP void nothing(void) { sink++; }
static __attribute__((noinline)) long clone(const struct large *one, int constant, int kept) { return one->b + constant * kept; }
int main(int argc, char **argv) {
  struct large all = {argc, 2, 3};
  struct small few = {1, 2};
  numbers(argc, 2, 3, 4, 5, argv[0]);
  typed(1, RED, 1, 4, 5, 6);
  floating(argc, 1, 2, 3);
  many(1, 2, 3, 4, 5, 6, 7, 8);
  large_first(all, 2);
  all = returned(1);
  small_first(few, 3);
  unused(1, 2);
  addressed(1, 2);
  nothing();
  sink += clone(&all, 7, argc) + clone(&all, 7, argc + 1);
  return 0;
}
)";

// "s4 rdi", "u8 [rsp+8]", or why not.
std::string text_of(const FunctionParameter& parameter) {
  static const std::map<size_t, std::string> registers{{offsetof(user_regs_struct, rdi), "rdi"}, {offsetof(user_regs_struct, rsi), "rsi"}, {offsetof(user_regs_struct, rdx), "rdx"},
                                                       {offsetof(user_regs_struct, rcx), "rcx"}, {offsetof(user_regs_struct, r8), "r8"},   {offsetof(user_regs_struct, r9), "r9"}};
  switch (parameter.problem) {
    case ParameterProblem::kNone: break;
    case ParameterProblem::kOptimizedAway: return "optimized away";
    case ParameterProblem::kFloatingPoint: return "float";
    case ParameterProblem::kNoNumber: return "no number";
    case ParameterProblem::kUncertain: return "uncertain";
  }
  const event_field& place = parameter.place;
  const std::string type = fmt::format("{}{} ", place.is_signed != 0 ? 's' : 'u', place.bytes);
  if (place.kind == FIELD_IN_MEMORY) return type + fmt::format("[rsp+{}]", place.offset == offsetof(user_regs_struct, rsp) && place.index == NO_REGISTER ? place.number : -1);
  return type + (registers.contains(place.offset) ? registers.at(place.offset) : fmt::format("at {}", place.offset));
}

class Compiled {
 public:
  Compiled(const std::string& compiler, std::string_view source, const std::string& then = "true") {
    directory_.write("program.c", source);
    works = directory_.run(compiler + " -o program program.c && " + then);
    if (works) symbols_ = open_symbols(*elf::ElfFile::open(directory_.path("program")), directory_.path("program"));
  }
  // "first: s4 rdi, second: u4 rsi"; of the function that the pattern finds.
  std::string parameters(const std::string& function) const {
    const FunctionSearch found = symbols_->find_functions(std::vector<std::string>{function}, 10);
    if (found.functions.empty()) return "no such function";
    const LinkAddr begin = found.functions.front().begin;
    const FunctionParameters all = symbols_->find_parameters(std::span(&begin, 1)).front();
    if (!all.is_described) return "not described";
    std::string text;
    for (const FunctionParameter& one : all.parameters) text += (text.empty() ? "" : ", ") + one.name + ": " + text_of(one);
    return text;
  }
  bool by_convention(const std::string& function) const {
    const LinkAddr begin = symbols_->find_functions(std::vector<std::string>{function}, 10).functions.at(0).begin;
    const FunctionParameters all = symbols_->find_parameters(std::span(&begin, 1)).front();
    return std::any_of(all.parameters.begin(), all.parameters.end(), [](const FunctionParameter& one) { return one.by_convention; });
  }
  bool works = false;

 private:
  TestDirectory directory_;
  std::unique_ptr<ImageSymbols> symbols_;
};

class ParametersOf : public ::testing::TestWithParam<const char*> {};

TEST_P(ParametersOf, AreWhereTheCallingConventionHasThem) {
  const std::string compiler = GetParam();
  const bool is_clang = compiler.starts_with("clang");
  const bool is_optimized = compiler.find("-O0") == std::string::npos;
  std::string source = kProgram;
  if (is_clang) source.replace(source.find("noipa"), 5, "noinline");
  const Compiled program(compiler, source);
  ASSERT_TRUE(program.works);
  EXPECT_EQ(program.parameters("numbers"), "first: s4 rdi, second: u4 rsi, third: s8 rdx, fourth: u1 rcx, fifth: s1 r8, sixth: u8 r9");
  EXPECT_EQ(program.parameters("typed"), "one: s4 rdi, two: s4 rsi, three: u1 rdx, four: s2 rcx, five: u2 r8, six: s1 r9");
  EXPECT_EQ(program.parameters("floating"), "before: s4 rdi, between: float, more: float, behind: s4 rsi");
  EXPECT_EQ(program.parameters("many"), "a: s4 rdi, b: s4 rsi, c: s4 rdx, d: s4 rcx, e: s4 r8, f: s4 r9, seventh: s4 [rsp+8], eighth: s8 [rsp+16]");
  EXPECT_EQ(program.parameters("large_first"), "by_value: no number, behind: s4 rdi");
  EXPECT_EQ(program.parameters("returned"), "first: s4 rsi");
  EXPECT_EQ(program.parameters("addressed"), "first: s4 rdi, second: s4 rsi");
  EXPECT_EQ(program.parameters("unused"), is_clang && is_optimized ? "nobody: optimized away, wanted: s4 rsi" : "nobody: s4 rdi, wanted: s4 rsi");
  EXPECT_EQ(program.parameters("nothing"), "");
  EXPECT_EQ(program.parameters("main"), "argc: s4 rdi, argv: u8 rsi");
  // How a small struct is passed is not looked at.
  const std::string behind = program.parameters("small_first");
  EXPECT_TRUE(behind == "by_value: no number, behind: uncertain" || (is_optimized && behind == "by_value: no number, behind: s4 rsi")) << behind;
}

INSTANTIATE_TEST_SUITE_P(Compilers, ParametersOf,
                         ::testing::Values("gcc -g -gdwarf-4 -O0", "gcc -g -gdwarf-5 -O0", "gcc -g -gdwarf-4 -O2", "gcc -g -gdwarf-5 -O2", "gcc -g -gdwarf-3 -O2", "gcc -g -O2 -flto", "gcc -g -O1 -fcf-protection -m64",
                                           "gcc -g -gdwarf-5 -O2 -gsplit-dwarf", "gcc -g -gdwarf-4 -O2 -gsplit-dwarf", "gcc -g -O2 -gz", "gcc -g -O2 -ffunction-sections -gvariable-location-views=incompat5",
                                           "clang -g -O0", "clang -g -gdwarf-4 -O0", "clang -g -gdwarf-5 -O2 -gsplit-dwarf"));

TEST(Parameters, OfACompilersCloneAreInItsRegisters) {
  const Compiled program("gcc -g -O2", kProgram);
  ASSERT_TRUE(program.works);
  // The struct's member is passed instead, and the constant not at all.
  const std::string clone = program.parameters("clone");
  EXPECT_NE(clone.find("constant: optimized away"), std::string::npos) << clone;
  EXPECT_NE(clone.find("kept: s4 rsi"), std::string::npos) << clone;
  EXPECT_FALSE(program.by_convention("clone"));
  EXPECT_TRUE(Compiled("gcc -g -O0", kProgram).by_convention("clone"));
}

constexpr const char* kClasses = R"(
#include <string_view>
volatile long sink;
#define KEEP __attribute__((noipa))
namespace shop {
struct Large { long a, b, c; };
struct Base { virtual ~Base() = default; virtual long weigh(int number, bool now); };
struct Till : Base {
  int kept = 0;
  explicit Till(int start);
  long weigh(int number, bool now) override;
  static long total(char16_t letter, long amount);
  Large copy(int which) const;
};
KEEP long Base::weigh(int number, bool now) { return number + now; }
KEEP Till::Till(int start) : kept(start) { sink += start; }
KEEP long Till::weigh(int number, bool now) { return kept + number + now; }
KEEP long Till::total(char16_t letter, long amount) { return letter + amount; }
KEEP Large Till::copy(int which) const { return {which, kept, sink}; }
template <typename T> KEEP T twice(T value, int &times) { times++; return value + value; }
enum class Level : unsigned char { kLow, kHigh };
struct Owner {
  long held;
  explicit Owner(long start) : held(start) {}
  Owner(const Owner &other) : held(other.held) {}
  ~Owner() { sink += held; }
};
KEEP long level(Level level, Owner copied, int behind) { return static_cast<long>(level) + copied.held + behind; }
KEEP long viewed(int before, std::string_view text, int behind) { return before + static_cast<long>(text.size()) + behind; }
}
int main(int argc, char **) {
  shop::Till till(argc);
  int times = 0;
  shop::Base base;
  sink += till.weigh(1, true) + base.weigh(1, true) + shop::Till::total(u'a', 2) + till.copy(3).a + shop::twice(4L, times) + shop::level(shop::Level::kHigh, shop::Owner(4), 5) + shop::viewed(1, "ab", 2);
}
)";

TEST(Parameters, OfMethodsHaveTheirObjectFirst) {
  for (const std::string compiler : {"g++ -x c++ -g -O0", "g++ -x c++ -g -O2", "g++ -x c++ -g -gdwarf-4 -O2"}) {
    const Compiled program(compiler, kClasses);
    ASSERT_TRUE(program.works);
    EXPECT_EQ(program.parameters("shop::Till::weigh"), "this: u8 rdi, number: s4 rsi, now: u1 rdx") << compiler;
    EXPECT_EQ(program.parameters("shop::Till::Till"), "this: u8 rdi, start: s4 rsi") << compiler;
    EXPECT_EQ(program.parameters("shop::Till::total"), "letter: u2 rdi, amount: s8 rsi") << compiler;
    EXPECT_EQ(program.parameters("shop::Till::copy"), "this: u8 rsi, which: s4 rdx") << compiler << ": where the struct goes comes first";
    EXPECT_EQ(program.parameters("shop::twice"), "value: s8 rdi, times: u8 rsi") << compiler;
    EXPECT_EQ(program.parameters("shop::level"), "level: u1 rdi, copied: no number, behind: s4 rdx") << compiler;
    const bool is_optimized = compiler.find("-O0") == std::string::npos;
    EXPECT_EQ(program.parameters("shop::viewed"), is_optimized ? "before: s4 rdi, text: no number, behind: s4 rcx" : "before: s4 rdi, text: no number, behind: uncertain") << compiler;
  }
}

TEST(Parameters, AreNotKnownWithoutDebugInformationOrWithinAFunction) {
  const Compiled plain("gcc -O2", kProgram);
  ASSERT_TRUE(plain.works);
  EXPECT_EQ(plain.parameters("numbers"), "not described");
  TestDirectory directory;
  directory.write("program.c", kProgram);
  ASSERT_TRUE(directory.run("gcc -g -O0 -o program program.c"));
  const auto symbols = open_symbols(*elf::ElfFile::open(directory.path("program")), directory.path("program"));
  const LinkAddr begin = symbols->find_functions(std::vector<std::string>{"numbers"}, 1).functions.at(0).begin;
  const std::vector<LinkAddr> asked{LinkAddr(begin.value + 1), begin, LinkAddr(1)};
  const auto all = symbols->find_parameters(asked);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_FALSE(all[0].is_described);
  EXPECT_EQ(all[1].parameters.size(), 6U);
  EXPECT_FALSE(all[2].is_described);
}

TEST(Parameters, OfDebugFilesAreFound) {
  const Compiled program("gcc -g -O2", kProgram, "mkdir -p .debug && objcopy --only-keep-debug program .debug/program.debug && strip -g program && objcopy --add-gnu-debuglink=.debug/program.debug program");
  ASSERT_TRUE(program.works);
  EXPECT_EQ(program.parameters("floating"), "before: s4 rdi, between: float, more: float, behind: s4 rsi");
}

}  // namespace
}  // namespace cicada::symbolize
