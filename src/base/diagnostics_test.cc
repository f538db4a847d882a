// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostics.h"

#include <gtest/gtest.h>

#include <vector>

namespace cicada {
namespace {

TEST(Diagnostics, NamesTheObjectOnce) {
  Diagnostics diagnostics;
  std::vector<std::string> lines;
  diagnostics.set_handler([&](Severity, const std::string& line) { lines.push_back(line); });
  diagnostics.warn("/lib/a.so", "/lib/a.so: {}", "truncated");
  diagnostics.warn("/lib/b.so", "b.so: {}", "truncated");
  diagnostics.warn("/lib/c.so", "{}", "c.sonar: truncated");
  diagnostics.warn("", "{}", "nothing in particular");
  EXPECT_EQ(lines, (std::vector<std::string>{"/lib/a.so: truncated", "/lib/b.so: truncated", "/lib/c.so: c.sonar: truncated",
                                             "nothing in particular"}));
}

TEST(Diagnostics, SaysTheSameOfAnObjectOnce) {
  Diagnostics diagnostics;
  int count = 0;
  diagnostics.set_handler([&](Severity, const std::string&) { ++count; });
  for (const char* object : {"a", "b", "a"}) diagnostics.warn(object, "{} is damaged", object);
  EXPECT_EQ(count, 2);
}

}  // namespace
}  // namespace cicada
