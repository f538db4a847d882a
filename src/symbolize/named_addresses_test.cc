// SPDX-License-Identifier: Apache-2.0
#include "symbolize/named_addresses.h"

#include <gtest/gtest.h>

namespace cicada::symbolize {
namespace {

using profile::NameSource;

NamedAddresses make(uint64_t budget_bytes = 1 << 20) {
  DemangleCache demangled(names::Demangle::kFull, true);
  WorkBudget budget(budget_bytes);
  NamedAddressesBuilder builder(4, demangled, budget);
  const std::vector<SourcePosition> first{{"_Z5innerv", "/a.cc", 3, true, NameSource::kDwarf}, {"outer.cold", "/b.cc", 7, false, NameSource::kSymtab}};
  const std::vector<SourcePosition> third{{"outer.cold", "/b.cc", 9, false, NameSource::kSymtab}};
  builder.set(0, first);
  builder.set(3, third);
  return builder.take();
}

std::string describe(const NamedAddresses& named, size_t address) {
  std::string text;
  for (const NamedAddresses::Position& position : named.positions_of(address)) {
    const NamedAddresses::Function& function = named.functions[position.function];
    text += fmt::format("{}|{} {}:{}{} ", named.text(function.shown), named.text(function.linkage), named.text(position.file), position.line, position.inlined ? " inlined" : "");
  }
  return text;
}

TEST(NamedAddresses, HoldWhatWasFoundOnceEach) {
  const NamedAddresses named = make();
  ASSERT_TRUE(named.check(4));
  EXPECT_EQ(describe(named, 0), "inner()|_Z5innerv /a.cc:3 inlined outer|outer.cold /b.cc:7 ");
  EXPECT_EQ(describe(named, 1), "");
  EXPECT_EQ(describe(named, 3), "outer|outer.cold /b.cc:9 ");
  EXPECT_EQ(named.functions.size(), 2U);
  EXPECT_EQ(named.texts, "/b.ccouterouter.cold/a.ccinner()_Z5innerv") << "each text once";
}

TEST(NamedAddresses, ShareWhatAddressesAreInlinedInto) {
  DemangleCache demangled(names::Demangle::kFull, true);
  WorkBudget budget(64 << 20);
  NamedAddressesBuilder builder(1000, demangled, budget);
  std::vector<SourcePosition> positions(255, {"inlined", "/a.h", 7, true, NameSource::kDwarf});
  positions.push_back({"outer", "/a.cc", 9, false, NameSource::kDwarf});
  for (uint32_t i = 0; i < 1000; ++i) {
    positions[0].line = i + 100;
    builder.set(i, positions);
  }
  const NamedAddresses named = builder.take();
  ASSERT_TRUE(named.check(1000));
  EXPECT_EQ(named.positions.size(), 1255U);
  EXPECT_EQ(named.positions_of(999).size(), 256U);
  EXPECT_EQ(named.positions_of(999).front().line, 1099U);
  EXPECT_EQ(named.positions_of(999).back().line, 9U);
}

TEST(NamedAddresses, LeaveAnAddressOutRatherThanHalfOfIt) {
  const NamedAddresses named = make(20);
  EXPECT_TRUE(named.check(4));
  EXPECT_EQ(describe(named, 0), "");
}

TEST(NamedAddresses, AreCheckedBeforeTheyAreUsed) {
  EXPECT_FALSE(make().check(3));
  const auto broken = [](auto change) {
    NamedAddresses named = make();
    change(named);
    return !named.check(4);
  };
  EXPECT_TRUE(broken([](NamedAddresses& n) { n.innermost[1] = NamedAddresses::PositionId(3); }));
  EXPECT_TRUE(broken([](NamedAddresses& n) { n.positions[0].outer = NamedAddresses::PositionId(0); }));
  EXPECT_TRUE(broken([](NamedAddresses& n) { n.positions[1].outer = NamedAddresses::PositionId(2); }));
  EXPECT_TRUE(broken([](NamedAddresses& n) { n.positions[1].depth = 1; }));
  EXPECT_TRUE(broken([](NamedAddresses& n) { n.positions[2].depth = 7; }));
  EXPECT_TRUE(broken([](NamedAddresses& n) { n.positions[2].function = 2; }));
  EXPECT_TRUE(broken([](NamedAddresses& n) { n.positions[0].file = static_cast<uint32_t>(n.text_ends.size()); }));
  EXPECT_TRUE(broken([](NamedAddresses& n) { n.positions[0].inlined = 2; }));
  EXPECT_TRUE(broken([](NamedAddresses& n) { n.positions[0].source = static_cast<NameSource>(200); }));
  EXPECT_TRUE(broken([](NamedAddresses& n) { n.functions[1].linkage = 1000; }));
  EXPECT_TRUE(broken([](NamedAddresses& n) { n.functions[0].module = 1000; }));
  EXPECT_TRUE(broken([](NamedAddresses& n) { n.text_ends.back() += 1; }));
  EXPECT_TRUE(broken([](NamedAddresses& n) { std::swap(n.text_ends[1], n.text_ends[2]); }));
  EXPECT_TRUE(broken([](NamedAddresses& n) { n.text_ends.clear(); }));
}

}  // namespace
}  // namespace cicada::symbolize
