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

TEST(Diagnostics, CountsWhatOneCauseDoesToMany) {
  Diagnostics diagnostics;
  std::vector<std::string> lines;
  diagnostics.set_handler([&](Severity, const std::string& line) { lines.push_back(line); });
  for (int i = 0; i < 1000; ++i) diagnostics.warn("file " + std::to_string(i), "{}", "cannot be read");
  for (int i = 0; i < 100; ++i) diagnostics.pass_on(Severity::kWarning, "image " + std::to_string(i) + ": repeats itself");
  diagnostics.warn("another", "is {}", "damaged");
  EXPECT_EQ(lines.size(), 2 * Diagnostics::kMaxOfOneCause + 1);
  lines.clear();
  diagnostics.tell_rest();
  EXPECT_EQ(lines, (std::vector<std::string>{"84 more like this: image 99: repeats itself", "984 more like this: file 999: cannot be read"}));
  lines.clear();
  diagnostics.tell_rest();
  EXPECT_TRUE(lines.empty());
}

// One who varies his words makes causes without end.
TEST(Diagnostics, ManyCausesCountAsOne) {
  Diagnostics diagnostics;
  size_t lines = 0;
  diagnostics.set_handler([&](Severity, const std::string&) { ++lines; });
  for (int i = 0; i < 4000; ++i) diagnostics.pass_on(Severity::kWarning, "image: words " + std::to_string(i));
  EXPECT_LT(lines, 100U);
}

// What is said for those who want to know everything is said in full.
TEST(Diagnostics, NotesAreNotCounted) {
  Diagnostics diagnostics;
  int lines = 0;
  diagnostics.set_handler([&](Severity, const std::string&) { ++lines; });
  for (int i = 0; i < 100; ++i) diagnostics.info("file " + std::to_string(i), "is opened");
  EXPECT_EQ(lines, 100);
}

}  // namespace
}  // namespace cicada
