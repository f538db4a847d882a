// SPDX-License-Identifier: Apache-2.0
#include "names/demangle.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/cpu_clock.h"

namespace cicada::names {
namespace {

std::string full(std::string_view name) { return demangle(name, Demangle::kFull); }
std::string brief(std::string_view name) { return demangle(name, Demangle::kShort); }

TEST(Demangle, ReadsTheLanguagesOfTheIssue) {
  EXPECT_EQ(full("_ZN9Namespace5Class6methodEiPKc"), "Namespace::Class::method(int, char const*)");
  EXPECT_EQ(full("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"), "core::fmt::Formatter::pad");
  EXPECT_EQ(full("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
  EXPECT_EQ(full("_D3std5stdio7writelnFAyaZv"), "std.stdio.writeln(immutable(char)[])");
  EXPECT_EQ(full("main"), "main");
  EXPECT_EQ(full(""), "");
  EXPECT_EQ(full("_Z"), "_Z");
  EXPECT_EQ(full("_Znotaname"), "_Znotaname");
  EXPECT_EQ(full("_DYNAMIC"), "_DYNAMIC");
}

TEST(Demangle, ShortLeavesOutParametersAndTemplateArguments) {
  EXPECT_EQ(brief("_ZNSt6vectorIiSaIiEE9push_backERKi"), "std::vector::push_back");
  EXPECT_EQ(brief("_ZN9Namespace5Class6methodEiPKc"), "Namespace::Class::method");
  EXPECT_EQ(brief("_ZlsRSoRK3Foo"), "operator<<");
  EXPECT_EQ(brief("_ZN3FooltERKS_"), "Foo::operator<");
  EXPECT_EQ(brief("_ZN3FooptEv"), "Foo::operator->");
  EXPECT_EQ(brief("_ZN3FooIiEptEv"), "Foo::operator->");
  EXPECT_EQ(brief("_ZN1AIN1BIiEEE1fEv"), "A::f");
}

TEST(Demangle, WithoutParametersKeepsTemplateArguments) {
  const auto qualified = [](std::string_view name) { return demangle(name, Demangle::kWithoutParameters); };
  EXPECT_EQ(qualified("_ZNSt6vectorIiSaIiEE9push_backERKi"), "std::vector<int, std::allocator<int> >::push_back");
  EXPECT_EQ(qualified("_Z1gIiEiT_"), "g<int>");
  EXPECT_EQ(qualified("_ZNKR9Namespace5Class6methodEi"), "Namespace::Class::method");
  EXPECT_EQ(qualified("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"), "core::fmt::Formatter::pad");
  EXPECT_EQ(qualified("main"), "main");
}

TEST(LooksMangled, KnowsTheLanguagesThatAreRead) {
  for (const char* name : {"_Z1fv", "__Z1fv", "_RNvCs1234_7mycrate3foo", "_D3std5stdio7writelnFAyaZv"}) EXPECT_TRUE(looks_mangled(name)) << name;
  for (const char* name : {"main", "", "_DYNAMIC", "main.(*T).f"}) EXPECT_FALSE(looks_mangled(name)) << name;
}

// As clang 19 writes them. What comes behind a constraint is not read, rather than wrongly.
TEST(Demangle, ReadsNamesWithConstraints) {
  EXPECT_EQ(full("_Z1gITk5SmalliEiT_"), "int g<int>(int)");
  EXPECT_EQ(full("_ZN1n1VIiE4pushITkNS_5SmallEiEEiT_"), "int n::V<int>::push<int>(int)");
  EXPECT_EQ(full("_ZZN1n1VIiE4pushITkNS_5SmallEiEEiT_ENKUlS3_E_clIiEEDaS3_").substr(0, 39), "auto n::V<int>::push<int>(int)::{lambda");
  EXPECT_EQ(full("_ZN1S1hIiEEiT_QgtstS1_Li2E"), "int S::h<int>(int)");
  EXPECT_EQ(full("_ZN1n3sumIRSt6vectorIiSaIiEEEEDaOT_Qsr3std6rangesE5rangeIS5_E"), "auto n::sum<std::vector<int, std::allocator<int> >&>(std::vector<int, std::allocator<int> >&)");
  EXPECT_EQ(full("_Z1fIiQ5SmallIT_EEiS0_"), "f<int>…");
  EXPECT_EQ(full("_ZN5Queue4QuitIiQgtstT_Li1EEEvS1_"), "Queue::Quit<int>…");
  EXPECT_EQ(full("_ZZN1n1VIiE3popIiQsr1nE5SmallITL0__EEEiT_iENKUlS4_E_clIiEEDaS4_"), "n::V<int>::pop<int>…");
  EXPECT_EQ(full("_ZN1n2eqITkNS_4SameIiEEiEEiT_"), "n::eq…");
  EXPECT_EQ(brief("_Z1fIiQ5SmallIT_EEiS0_"), "f");
  EXPECT_EQ(full("_Z1fTk99999999999999999999999x"), "f…");
  EXPECT_EQ(full("_ZN20QQQQ"), "_ZN20QQQQ");
  // Concepts with arguments, nested ones, names that end in Q.
  for (const auto& [mangled, whole, brief_name] : std::vector<std::array<std::string, 3>>{
           {"_Z1fITkSt14convertible_toIiEdEvT_", "f…", "f"},
           {"_Z2eqITk4SameIiEiEiT_", "eq…", "eq"},
           {"_Z2eqITkN1n4SameIiEEiEiT_", "eq…", "eq"},
           {"_ZN1n1hITkNSt6ranges5rangeENS_4ListEEEvv", "n::h…", "n::h"},
           {"_ZN1n1gITkNSt6ranges5rangeERNS_4ListEEEvT_", "n::g…", "n::g"},
           {"_Z5fillQIiQ3AnyIT_EEiS0_", "fillQ<int>…", "fillQ"},
       }) {
    EXPECT_EQ(full(mangled), whole) << mangled;
    EXPECT_EQ(brief(mangled), brief_name) << mangled;
  }
  EXPECT_EQ(full("_ZQ"), "_ZQ");
}

TEST(Demangle, NoneKeepsTheLinkageName) { EXPECT_EQ(demangle("_Z1fv", Demangle::kNone), "_Z1fv"); }

TEST(Demangle, ReadsNamesBeyondTheLibrarysOwnLimit) {
  std::string name = "_Z1fIJ", tail;
  for (int i = 0; i < 700; ++i) name += "1aIiE";
  const std::string out = full(name + "EEvv");
  EXPECT_TRUE(out.starts_with("void f<a<int>, a<int>")) << out.substr(0, 60);
}

TEST(Demangle, GivesUpInBoundedTimeOnNamesThatDoubleWithoutEnd) {
  const auto start = cpu_time();
  // C++: each substitution refers to the previous pair, so that the text doubles
  std::string cpp = "_Z1fN1aI1bS_E";
  cpp = "_Z1f";
  std::string type = "1aI1bE";
  cpp += "1pI1xS0_E";
  for (int i = 1; i < 36; ++i) {
    std::string seq;
    int n = i;
    do seq.insert(seq.begin(), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[n % 36]); while ((n /= 36) != 0);
    cpp += "1pIS" + seq + "_S" + seq + "_E";
  }
  full(cpp);
  // D: an associative array of two back references to the previous one
  std::string d = "_D1fF";
  d += "HiiH";
  for (int i = 0; i < 60; ++i) d += "QdQfH";
  d += "iZv";
  full(d);
  for (int i = 0; i < 100; ++i) full("_D" + std::to_string(i) + d.substr(2));
  full("_Z" + std::string(16000, 'P'));
  full("_Z1f" + std::string(16000, 'F'));
  full("_Z1f" + std::string(1 << 20, 'P') + "i");
  full("_R" + std::string(16000, 'N'));
  full("_Z1f" + std::string(16000, 'Q'));
  for (std::string names = "_Z1fI"; names.size() < kMaxMangledBytes - 4; names += "Tk1a") full(names);
  for (int i = 0; i < 100; ++i) {
    full("_Z1f" + std::string(3900, 'P') + std::string(20 + i % 2, 'Q'));
    full("_Z" + std::string(3900, 'Z') + std::string(20 + i % 2, 'Q'));
    full("_Z1f" + std::string(15000, 'P') + std::string(20 + i % 2, 'Q'));
  }
  full("_RNvMC0TTTTTTTTTBd_Bd_EBb_Bb_EB9_B9_EB7_B7_EB5_B5_EB3_B3_E3foo");
  EXPECT_LT(cpu_time() - start, std::chrono::seconds(5));
}

TEST(Demangle, CutsAbsurdlyLongPlainNames) { EXPECT_EQ(full(std::string(1 << 20, 'x')).size(), kMaxNameBytes); }

TEST(FoldClone, RemovesOnlyKnownSuffixes) {
  EXPECT_EQ(fold_clone("f.cold"), "f");
  EXPECT_EQ(fold_clone("f.part.0"), "f");
  EXPECT_EQ(fold_clone("f.constprop.0.isra.12.cold"), "f");
  EXPECT_EQ(fold_clone("f.llvm.1234567"), "f");
  EXPECT_EQ(fold_clone("_Z1fv.lto_priv.3"), "_Z1fv");
  EXPECT_EQ(fold_clone("main.run"), "main.run");
  EXPECT_EQ(fold_clone("v1.2"), "v1.2");
  EXPECT_EQ(fold_clone(".cold"), ".cold");
  EXPECT_EQ(fold_clone("0.5"), "0.5");
}

TEST(StripVersion, KeepsNamesThatBeginWithAnAt) {
  EXPECT_EQ(strip_version("memcpy@@GLIBC_2.14"), "memcpy");
  EXPECT_EQ(strip_version("@odd"), "@odd");
}

}  // namespace
}  // namespace cicada::names
