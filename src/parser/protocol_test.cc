// SPDX-License-Identifier: Apache-2.0
// What of a parser's answer about functions and USDT probes is refused. Answers are made by to_bytes(), with one field wrong.
#include "parser/protocol.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

#include "elf/usdt_operands.h"
#include "names/demangle.h"

namespace cicada::parser {
namespace {

using symbolize::FoundFunction;
using symbolize::FunctionSearch;

constexpr size_t kPatterns = 3;
constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();

FunctionSearch sample() {
  FunctionSearch search;
  search.functions = {{0, LinkAddr(0x1000), {FileOffset(0x400), 0x20, FileOffset(0x800), 8}, 4, false, false, "f(int)"},
                      {0, LinkAddr(0x1040), {FileOffset(0x440), 0, {}, 0}, 0, true, false, std::string("g\x1b\0", 3)},
                      {2, LinkAddr(0x1000), {FileOffset(0x400), 0x20, {}, 0}, 0, false, true, "f(int)"}};
  search.matches = 7;
  search.is_go = search.has_symbols = search.cut_short = true;
  search.near = {"", "h, i", ""};
  return search;
}

bool is_refused(const std::string& bytes, size_t patterns = kPatterns) {
  const auto search = functions_from(bytes, patterns);
  if (!search) {
    EXPECT_EQ(search.error().kind(), ErrorKind::kCorrupt);
  }
  return !search;
}

bool is_refused(const std::function<void(FunctionSearch&)>& damage) {
  FunctionSearch search = sample();
  damage(search);
  return is_refused(to_bytes(search));
}

TEST(FunctionAnswers, ArriveAsTheyWere) {
  const FunctionSearch search = sample();
  const auto arrived = functions_from(to_bytes(search), kPatterns);
  ASSERT_TRUE(arrived);
  EXPECT_EQ(to_bytes(*arrived), to_bytes(search));
  ASSERT_EQ(arrived->functions.size(), 3U);
  const FoundFunction& last = arrived->functions[2];
  EXPECT_EQ(last.pattern, 2U);
  EXPECT_EQ(last.begin, LinkAddr(0x1000));
  EXPECT_EQ(last.code.begin, FileOffset(0x400));
  EXPECT_EQ(last.code.bytes, 0x20U);
  EXPECT_TRUE(last.changed_arguments && !last.indirect);
  EXPECT_EQ(arrived->functions[0].code, search.functions[0].code);
  EXPECT_EQ(arrived->functions[0].within, 4U);
  EXPECT_TRUE(arrived->functions[1].indirect);
  EXPECT_EQ(arrived->functions[1].name, search.functions[1].name);
  EXPECT_EQ(arrived->matches, 7U);
  EXPECT_TRUE(arrived->is_go && arrived->has_symbols && arrived->cut_short);
  EXPECT_EQ(arrived->near, search.near);
  EXPECT_FALSE(is_refused(to_bytes(FunctionSearch{}), 0));
}

TEST(FunctionAnswers, AreRefusedWhereverTheyAreCutOff) {
  const std::string bytes = to_bytes(sample());
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_TRUE(is_refused(bytes.substr(0, size))) << size;
  EXPECT_TRUE(is_refused(bytes + '\0'));
}

TEST(FunctionAnswers, HaveFieldsInRange) {
  EXPECT_FALSE(is_refused([](FunctionSearch&) {}));
  EXPECT_TRUE(is_refused([](FunctionSearch& s) { s.functions[2].pattern = kPatterns; }));
  EXPECT_TRUE(is_refused([](FunctionSearch& s) { s.functions[0].pattern = 1; })) << "not in order";
  EXPECT_TRUE(is_refused([](FunctionSearch& s) { s.functions[0].begin = LinkAddr(0x1040); })) << "twice";
  EXPECT_TRUE(is_refused([](FunctionSearch& s) { s.functions[0].code.bytes = kLast; }));
  EXPECT_TRUE(is_refused([](FunctionSearch& s) { s.functions[0].code.cold_bytes = kLast; }));
  EXPECT_TRUE(is_refused([](FunctionSearch& s) { s.functions[1].begin = LinkAddr(kLast), s.functions[1].code.bytes = 1; }));
  EXPECT_TRUE(is_refused([](FunctionSearch& s) { s.functions[1].code.begin = FileOffset(kLast), s.functions[1].code.bytes = 1; }));
  EXPECT_TRUE(is_refused([](FunctionSearch& s) { s.matches = 2; })) << "fewer than there are";
  EXPECT_TRUE(is_refused([](FunctionSearch& s) { s.functions[0].name.clear(); }));
  EXPECT_TRUE(is_refused([](FunctionSearch& s) { s.functions[0].name.assign(names::kMaxNameBytes + 1, 'x'); }));
  EXPECT_FALSE(is_refused([](FunctionSearch& s) { s.functions[0].name.assign(names::kMaxNameBytes, 'x'); }));
  EXPECT_TRUE(is_refused([](FunctionSearch& s) { s.near[1].assign(names::kMaxNameBytes + 1, 'x'); }));
  EXPECT_TRUE(is_refused([](FunctionSearch& s) { s.near.pop_back(); }));
  EXPECT_TRUE(is_refused([](FunctionSearch& s) { s.near.emplace_back(); }));
  EXPECT_TRUE(is_refused(to_bytes(sample()), kPatterns + 1));
}

// Counts, lengths and flags as bytes: any of them larger than what is there.
TEST(FunctionAnswers, SizesAddUp) {
  const std::string bytes = to_bytes(sample());
  const size_t texts = bytes.size() - (6 + 3 + 6 + 4), rows = texts - kPatterns * 4 - 3 * 64;
  const auto with = [&](size_t at, uint64_t value, size_t size) {
    std::string damaged = bytes;
    std::memcpy(&damaged[at], &value, size);
    return damaged;
  };
  for (const uint64_t count : {uint64_t{2}, uint64_t{4}, uint64_t{1} << 32, uint64_t{1} << 60, kLast}) {
    std::string damaged = with(8, count, 8);
    std::memcpy(damaged.data(), &kLast, 8);  // as many matches as one likes
    EXPECT_TRUE(is_refused(damaged)) << count;
  }
  for (const size_t flag : {size_t{16}, size_t{17}, size_t{18}, rows + 56, rows + 57}) EXPECT_TRUE(is_refused(with(flag, 2, 1))) << flag;
  for (const uint64_t length : {uint64_t{5}, uint64_t{7}, uint64_t{0x7fffffff}, uint64_t{0xffffffff}}) {
    EXPECT_TRUE(is_refused(with(rows + 52, length, 4))) << length;
    EXPECT_TRUE(is_refused(with(texts - kPatterns * 4 + 4, length, 4))) << length;
  }
}

std::vector<symbolize::FunctionParameters> parameters() {
  symbolize::FunctionParameter number, removed;
  number.name = "a\x1b";
  number.place.bytes = 4;
  number.place.is_signed = 1;
  number.place.offset = 112;
  number.by_convention = true;
  removed.name = "b";
  removed.problem = symbolize::ParameterProblem::kOptimizedAway;
  return {{true, {number, removed}}, {false, {}}, {true, {number}}};
}

bool are_parameters_refused(const std::function<void(std::vector<symbolize::FunctionParameters>&)>& damage) {
  auto all = parameters();
  damage(all);
  return !parameters_from(to_bytes(all), 3);
}

TEST(ParameterAnswers, ArriveAsTheyWereOrNotAtAll) {
  const std::string bytes = to_bytes(parameters());
  const auto arrived = parameters_from(bytes, 3);
  ASSERT_TRUE(arrived);
  EXPECT_EQ(to_bytes(*arrived), bytes);
  EXPECT_EQ((*arrived)[0].parameters[0].name, "a\x1b");
  EXPECT_EQ((*arrived)[0].parameters[1].problem, symbolize::ParameterProblem::kOptimizedAway);
  EXPECT_TRUE((*arrived)[2].parameters[0].by_convention);
  EXPECT_FALSE((*arrived)[1].is_described);
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(parameters_from(bytes.substr(0, size), 3)) << size;
  EXPECT_FALSE(parameters_from(bytes + '\0', 3));
  EXPECT_FALSE(parameters_from(bytes, 2));
  EXPECT_FALSE(parameters_from(bytes, 4));
}

TEST(ParameterAnswers, HaveFieldsInRange) {
  using All = std::vector<symbolize::FunctionParameters>;
  EXPECT_FALSE(are_parameters_refused([](All&) {}));
  EXPECT_TRUE(are_parameters_refused([](All& all) { all[0].parameters[0].place.bytes = 3; }));
  EXPECT_TRUE(are_parameters_refused([](All& all) { all[0].parameters[0].place.bytes = 0; })) << "without a reason";
  EXPECT_TRUE(are_parameters_refused([](All& all) { all[0].parameters[1].place.bytes = 8; })) << "with a reason";
  EXPECT_TRUE(are_parameters_refused([](All& all) { all[0].parameters[0].place.offset = 1000; }));
  EXPECT_TRUE(are_parameters_refused([](All& all) { all[0].parameters[0].place.kind = FIELD_CONSTANT; }));
  EXPECT_TRUE(are_parameters_refused([](All& all) { all[0].parameters[0].place.kind = FIELD_OF_ARGUMENT; }));
  EXPECT_TRUE(are_parameters_refused([](All& all) { all[0].parameters[1].problem = static_cast<symbolize::ParameterProblem>(9); }));
  EXPECT_TRUE(are_parameters_refused([](All& all) { all[0].parameters[0].name.clear(); }));
  EXPECT_TRUE(are_parameters_refused([](All& all) { all[0].parameters[0].name.assign(symbolize::kMaxParameterNameBytes + 1, 'x'); }));
  EXPECT_TRUE(are_parameters_refused([](All& all) { all[0].is_described = false; })) << "nobody described them";
  EXPECT_TRUE(are_parameters_refused([](All& all) { all[0].parameters.resize(symbolize::kMaxParameters + 1, all[0].parameters[0]); }));
}

elf::UsdtSearch probes() {
  event_field memory{};
  memory.kind = FIELD_IN_MEMORY;
  memory.bytes = 4;
  memory.index = NO_REGISTER;
  elf::UsdtSearch search;
  search.probes = {{0, FileOffset(0x400), FileOffset(0x900), {memory, {}}, "app:begin"}, {0, FileOffset(0x440), FileOffset(), {}, "app:end"}, {2, FileOffset(0x400), FileOffset(0x900), {memory}, "a\x1b"}};
  search.notes = 7;
  search.cut_short = true;
  search.near = {"", "h, i", ""};
  return search;
}

bool is_usdt_refused(const std::string& bytes) {
  const auto search = usdt_from(bytes, kPatterns);
  if (!search) {
    EXPECT_EQ(search.error().kind(), ErrorKind::kCorrupt);
  }
  return !search;
}

bool is_usdt_refused(const std::function<void(elf::UsdtSearch&)>& damage) {
  elf::UsdtSearch search = probes();
  damage(search);
  return is_usdt_refused(to_bytes(search));
}

TEST(UsdtAnswers, ArriveAsTheyWere) {
  const elf::UsdtSearch search = probes();
  const auto arrived = usdt_from(to_bytes(search), kPatterns);
  ASSERT_TRUE(arrived);
  EXPECT_EQ(to_bytes(*arrived), to_bytes(search));
  ASSERT_EQ(arrived->probes.size(), 3U);
  EXPECT_EQ(arrived->probes[0].arguments.size(), 2U);
  EXPECT_EQ(arrived->probes[0].semaphore, FileOffset(0x900));
  EXPECT_EQ(arrived->probes[2].name, "a\x1b");
  EXPECT_EQ(arrived->probes[2].arguments[0].kind, FIELD_IN_MEMORY);
  EXPECT_EQ(arrived->near, search.near);
  EXPECT_EQ(arrived->notes, 7U);
  EXPECT_TRUE(arrived->cut_short);
}

TEST(UsdtAnswers, AreRefusedWhereverTheyAreCutOff) {
  const std::string bytes = to_bytes(probes());
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_TRUE(is_usdt_refused(bytes.substr(0, size))) << size;
  EXPECT_TRUE(is_usdt_refused(bytes + '\0'));
}

TEST(UsdtAnswers, HaveFieldsInRange) {
  using Search = elf::UsdtSearch;
  EXPECT_FALSE(is_usdt_refused([](Search&) {}));
  EXPECT_TRUE(is_usdt_refused([](Search& s) { s.probes[2].pattern = kPatterns; }));
  EXPECT_TRUE(is_usdt_refused([](Search& s) { s.probes[0].pattern = 1; })) << "not in order";
  EXPECT_TRUE(is_usdt_refused([](Search& s) { s.notes = elf::kMaxUsdtNotes + 1; }));
  EXPECT_TRUE(is_usdt_refused([](Search& s) { s.probes[0].name.clear(); }));
  EXPECT_TRUE(is_usdt_refused([](Search& s) { s.probes[0].name.assign(names::kMaxNameBytes + 1, 'x'); }));
  EXPECT_TRUE(is_usdt_refused([](Search& s) { s.probes[0].arguments[0].bytes = 3; }));
  EXPECT_TRUE(is_usdt_refused([](Search& s) { s.probes[0].arguments[0].offset = 1000; }));
  EXPECT_TRUE(is_usdt_refused([](Search& s) { s.probes[0].arguments.resize(elf::kMaxUsdtArguments + 1); }));
  EXPECT_TRUE(is_usdt_refused([](Search& s) { s.near.pop_back(); }));
}

// Counts and lengths as bytes: any of them larger than what is there, or smaller.
TEST(UsdtAnswers, SizesAddUp) {
  const std::string bytes = to_bytes(probes());
  const auto with = [&](size_t at, uint64_t value, size_t size) {
    std::string damaged = bytes;
    std::memcpy(&damaged[at], &value, size);
    return damaged;
  };
  for (const uint64_t count : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{4}, uint64_t{1} << 32, uint64_t{1} << 60, kLast}) {
    EXPECT_TRUE(is_usdt_refused(with(8, count, 8))) << count;
    EXPECT_TRUE(is_usdt_refused(with(16, count, 8))) << count;
  }
  EXPECT_TRUE(is_usdt_refused(with(24, 2, 1)));
  for (const uint64_t count : {uint64_t{0}, uint64_t{1}, uint64_t{3}, uint64_t{0xffffffff}}) EXPECT_TRUE(is_usdt_refused(with(32 + 24, count, 4))) << count;
}

TEST(Patterns, ArriveAsTheyWere) {
  const std::vector<std::string> patterns{"f(char*)", "", std::string("a\0b", 3), std::string(symbolize::kMaxPatternBytes, '*')};
  const std::string bytes = to_bytes(patterns);
  const auto arrived = patterns_from(bytes, patterns.size());
  ASSERT_TRUE(arrived);
  EXPECT_EQ(*arrived, patterns);
  for (size_t size = 0; size < bytes.size(); size += size < 64 ? 1 : 1000) EXPECT_FALSE(patterns_from(bytes.substr(0, size), patterns.size())) << size;
  EXPECT_FALSE(patterns_from(bytes, patterns.size() - 1));
  EXPECT_FALSE(patterns_from(bytes, patterns.size() + 1));
  EXPECT_FALSE(patterns_from(bytes, ~size_t{0}));
  EXPECT_FALSE(patterns_from("\xff\xff\xff\xff", 1));
}

}  // namespace
}  // namespace cicada::parser
