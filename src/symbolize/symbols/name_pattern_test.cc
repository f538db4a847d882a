// SPDX-License-Identifier: Apache-2.0
#include "symbolize/symbols/name_pattern.h"

#include <gtest/gtest.h>

#include "base/cpu_clock.h"
#include "names/demangle.h"

namespace cicada::symbolize {
namespace {

using Match = NamePattern::Match;

Match match(std::string_view pattern, std::string_view symbol) {
  WorkBudget work(1 << 30);
  SymbolName name(symbol, work);
  return NamePattern(pattern).match(name, work);
}
bool means(std::string_view pattern, std::string_view symbol) { return match(pattern, symbol) != Match::kNone; }

constexpr std::string_view kPushBack = "_ZNSt6vectorIiSaIiEE9push_backERKi", kSum = "_ZN4list3sumIiEEiT_", kGet = "_ZNK3Foo3getEv";

TEST(NamePattern, MeansEveryWayToWriteAName) {
  for (const auto& [symbol, patterns] : std::vector<std::pair<std::string_view, std::vector<std::string_view>>>{
           {"read", {"read", "re*", "*", "r?ad", "*ad", "**r**d**"}},
           {kPushBack,
            {kPushBack, "std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector<int, std::allocator<int> >::push_back",
             "std::vector::push_back", "std::vector*::push_back", "*::push_back", "*push_b?ck", "std::vector::*", "_ZNSt6vector*"}},
           {kSum, {kSum, "int list::sum<int>(int)", "list::sum<int>", "list::sum", "list::*", "*sum", "list::sum<*>"}},
           {kGet, {"Foo::get", "Foo::get() const", "Foo::*", "F?o::get"}},
           {"_ZN3FooclEi", {"Foo::operator()", "Foo::operator()(int)", "*::operator()"}},
           {"_ZN3FoocvbEv", {"Foo::operator bool", "Foo::operator bool()", "Foo::oper*", "*bool"}},
           {"_ZN3FooD1Ev", {"Foo::~Foo", "*::~Foo", "Foo::~Foo()"}},
           {"_ZNSsC1Ev", {"std::basic_string::basic_string", "std::*", "*::basic_string", "*::basic?string"}},
           {"_ZNSaIcEC2Ev", {"std::allocator::allocator", "std::allocator<char>::allocator"}},
           {"_ZN12_GLOBAL__N_13runEi", {"(anonymous namespace)::run", "(anonymous namespace)::run(int)", "(anonymous namespace)::*", "*::run"}},
           {"_ZZ4mainENKUliE_clEi", {"main::{lambda(int)#1}::operator()", "main::{lambda(int)#1}::operator()(int) const", "main::*"}},
           {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", {"core::fmt::Formatter::pad", "core::*::pad"}},
           {"_ZN47_$LT$my..T$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE", {"<my::T as core::ops::drop::Drop>::drop", "*::drop"}},
           {"_RNvCs1234_7mycrate3foo", {"mycrate::foo", "mycrate::*", "my*::f?o"}},
           {"_D3std5stdio7writelnFAyaZv", {"std.stdio.writeln*", "std.stdio.*", "std.stdio.writeln(immutable(char)[])"}},
           {"main.(*T).Run", {"main.(*T).Run", "main.*"}},
           {"_Z1fIiQ5SmallIT_EEiS0_", {"f<int>", "f", "f<int>\xe2\x80\xa6"}},
           {"_Znotaname", {"_Znotaname", "_Znot*", "*aname"}},
       }) {
    for (const std::string_view pattern : patterns) EXPECT_TRUE(means(pattern, symbol)) << pattern << " " << symbol;
  }
}

TEST(NamePattern, MeansNothingElse) {
  for (const auto& [symbol, patterns] : std::vector<std::pair<std::string_view, std::vector<std::string_view>>>{
           {"read", {"", "reads", "rea", "?", "read?", "r*x", "pread", "re?d*x", "READ", "read()"}},
           {kPushBack, {"push_back", "vector::push_back", "std::vector::push_back(int)", "std::vector::push_bac", "*push_back(int*"}},
           {kSum, {"sum", "list::sum(int)", "int*", "int list::sum", "*Ei*", "list::sum<long>"}},
           {kGet, {"get", "Foo::get()", "Foo::get const", "*Fooget*"}},
           {"_ZN3foo3barESs", {"*string*", "*Ss"}},  // of its parameters
           {"main.(*T).Run", {"main.(*?).Run", "main.(*)*"}},
       }) {
    for (const std::string_view pattern : patterns) EXPECT_FALSE(means(pattern, symbol)) << pattern << " " << symbol;
  }
}

TEST(NamePattern, ExactIsTheSymbolItself) {
  EXPECT_EQ(match("read", "read"), Match::kExact);
  EXPECT_EQ(match("re*", "read"), Match::kMeant);
  EXPECT_EQ(match("*", "*"), Match::kMeant);
  EXPECT_EQ(match("f", "f.isra.0"), Match::kMeant);
  EXPECT_EQ(match("f.isra.0", "f.isra.0"), Match::kExact);
  EXPECT_EQ(match("list::sum", kSum), Match::kMeant);
  EXPECT_EQ(match("int list::sum<int>(int)", kSum), Match::kExact);
}

TEST(NamePattern, ClonesAreTheirFunctionAndFragmentsAreNot) {
  for (const char* clone : {"f.isra.0", "f.constprop.0.isra.3", "f.llvm.123", "f.lto_priv.7"}) {
    for (const char* pattern : {"f", "f*", "?"}) EXPECT_TRUE(means(pattern, clone)) << clone;
  }
  for (const char* pattern : {"sum(int)", "sum", "s*", "sum(int) [clone .constprop.0]", "_Z3sumi", "_Z3sumi.constprop.0"}) {
    EXPECT_TRUE(means(pattern, "_Z3sumi.constprop.0")) << pattern;
  }
  for (const char* fragment : {"f.cold", "f.part.0", "f.constprop.0.cold", "f.part.0.isra.0", "_Z1fv.cold"}) {
    for (const char* pattern : {"f", "f*", "*", "f()", "f() [clone .cold]", "*.cold"}) EXPECT_FALSE(means(pattern, fragment)) << pattern << " " << fragment;
    EXPECT_TRUE(means(fragment, fragment));
  }
  EXPECT_TRUE(means("f.party", "f.party"));
  EXPECT_TRUE(means("f.*", "f.party"));
}

TEST(SymbolName, KnowsWhoseArgumentsHaveChanged) {
  WorkBudget work(1 << 20);
  for (const char* name : {"f.isra.0", "f.constprop.2", "_Z1fi.constprop.0.isra.1"}) EXPECT_TRUE(SymbolName(name, work).has_changed_arguments()) << name;
  for (const char* name : {"f", "f.cold", "f.llvm.1", "isra.0", "constprop", "f.lto_priv.0"}) EXPECT_FALSE(SymbolName(name, work).has_changed_arguments()) << name;
}

// The filter may pass over nothing that the comparison would take.
TEST(NamePattern, WhatPeopleAreShownIsFoundAgain) {
  for (const char* symbol : {"_ZNSt6vectorIiSaIiEE9push_backERKi", "_ZlsRSoRK3Foo", "_ZN3FooltERKS_", "_ZN3FooIiEptEv", "_ZThn8_N1A1fEv", "_ZTv0_n24_N1B1gEv", "_ZNSolsEi",
                             "_ZNSdD1Ev", "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", "_Znwm", "_ZdlPvm", "_Zli3_kmy", "_ZN1AcvNSt7__cxx1112basic_stringIcEEEv",
                             "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4findB5cxx11Ev", "_ZZZ1fvENKUlvE_clEvENKUlT_E_clIiEEDaS0_", "_ZN1nUt_1fEv", "_ZGVZ1fvE1x",
                             "_RNCNvCs1234_7mycrate3foo0B3_", "_RNvXs_Cs1234_7mycrateNtB4_3FooNtB4_3Bar3baz", "_RINvCs1234_7mycrate3foohlE"}) {
    const std::string shown = names::demangle(symbol, names::Demangle::kFull), without = names::demangle(symbol, names::Demangle::kWithoutParameters);
    EXPECT_TRUE(means(shown, symbol)) << shown;
    EXPECT_TRUE(means(without, symbol)) << without;
    EXPECT_TRUE(means(names::demangle(symbol, names::Demangle::kShort), symbol)) << symbol;
    for (size_t i = 0; i < without.size(); ++i) {
      std::string any = without, one = without;
      any.erase(i).append("*");
      one[i] = '?';
      EXPECT_TRUE(means("*" + without.substr(i), symbol) || without.find('(') != std::string::npos) << without.substr(i);
      EXPECT_TRUE(means(any, symbol) || without.find('(') != std::string::npos) << any;
      EXPECT_TRUE(means(one, symbol) || without.find('(') != std::string::npos) << one;
    }
  }
}

TEST(NamePattern, BetweenSlashesIsARegularExpression) {
  EXPECT_TRUE(means("/^sql_.*query$/", "sql_do_query"));
  EXPECT_FALSE(means("/^sql_.*query$/", "my_sql_do_query"));
  EXPECT_TRUE(means("/query/", "sql_do_query.constprop.0"));
  EXPECT_FALSE(means("/query/", "sql_do_query.cold"));
  EXPECT_TRUE(means("/parse\\(char const\\*\\)$/", "_ZN4json6Parser5parseEPKc"));
  EXPECT_FALSE(means("/^parse/", "_ZN4json6Parser5parseEPKc"));
  EXPECT_FALSE(means("/PKc/", "_ZN4json6Parser5parseEPKc")) << "of the demangled name";
  EXPECT_TRUE(means("//", "//")) << "too short for one";
  EXPECT_EQ(NamePattern("/f(/").error().empty(), false);
  EXPECT_FALSE(means("/f(/", "f(")) << "none that can be read";
  EXPECT_EQ(NamePattern("/f/").error(), "");
}

TEST(NamePattern, NameLeavesOutParametersAndWildcards) {
  EXPECT_EQ(NamePattern("json::parse(char const*)").name(), "json::parse");
  EXPECT_EQ(NamePattern("json::*::par?e").name(), "json::::pare");
  EXPECT_EQ(NamePattern("T::operator()(int)").name(), "T::operator()");
  EXPECT_TRUE(NamePattern("f()").has_parameters());
  EXPECT_FALSE(NamePattern("(anonymous namespace)::f").has_parameters());
}

TEST(NamePattern, EndsWhereItsBudgetDoes) {
  std::string stars;
  for (int i = 0; i < 4000; ++i) stars += "*a";
  WorkBudget work(100'000'000);
  const std::string text(60'000, 'a'), pattern = stars + "*b" + std::string(4000, 'a') + "c";
  const auto begin = cpu_time();
  for (int i = 0; i < 1000; ++i) {
    SymbolName name(text, work);
    EXPECT_EQ(NamePattern(pattern).match(name, work), Match::kNone);
  }
  EXPECT_TRUE(work.exhausted());
  EXPECT_LT(cpu_time() - begin, std::chrono::seconds(3));
}

}  // namespace
}  // namespace cicada::symbolize
