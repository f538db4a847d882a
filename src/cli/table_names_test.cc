// SPDX-License-Identifier: Apache-2.0
#include "cli/table_names.h"

#include <gtest/gtest.h>

#include <set>

namespace cicada::cli {
namespace {

std::vector<std::string> fitted(const std::vector<std::string>& names, size_t columns) {
  std::vector<TableNames::Row> rows;
  for (const std::string& name : names) rows.push_back({name, columns});
  return TableNames().fit(rows);
}

TEST(TableNames, TellNamesApartInAnyWidth) {
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) {
    names.push_back("common::prefix::of<all, of, them, " + std::to_string(i) + ">::and_what_follows(int)");
    names.push_back(std::string(200, 'm') + std::to_string(i) + std::string(200, 'n'));
    names.push_back("größe<ä, ö, " + std::to_string(i) + ">::maß(" + std::string(60, 'x') + ")");
  }
  for (size_t columns = 10; columns < 120; ++columns) {
    const std::vector<std::string> texts = fitted(names, columns);
    EXPECT_EQ(std::set<std::string>(texts.begin(), texts.end()).size(), names.size()) << columns;
    for (const std::string& text : texts) {
      const auto letters = std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; });
      EXPECT_LE(static_cast<size_t>(letters), columns) << text;
    }
  }
}

TEST(TableNames, AreTheSameForOneFunction) {
  const auto texts = fitted({"f<one, very, long, list, of, arguments>()", "f<one, very, long, list, of, arguments>()"}, 12);
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(TableNames, FindFunctionsByTheirShortNames) {
  profile::Profile profile;
  profile.intern_function({profile.intern("int shop::total<long>(long)"), profile.intern("_ZN4shop5totalIlEEiT_"), {}});
  TableNames names;
  names.shorten(profile);
  EXPECT_EQ(names.short_name("int shop::total<long>(long)"), "shop::total");
  EXPECT_TRUE(names.means("int shop::total<long>(long)", "shop::total"));
  EXPECT_TRUE(names.means("int shop::total<long>(long)", "int shop::total<long>"));
  EXPECT_FALSE(names.means("int shop::total<long>(long)", "total"));
}

}  // namespace
}  // namespace cicada::cli
