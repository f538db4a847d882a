// SPDX-License-Identifier: Apache-2.0
#include "top/pattern.h"

#include <gtest/gtest.h>

namespace cicada::top {
namespace {

bool matches(const std::string& pattern, std::string_view name) {
  const auto compiled = Pattern::compile(pattern);
  EXPECT_TRUE(compiled) << pattern;
  return compiled && compiled->matches(name);
}

TEST(Pattern, FindsAPartInAnyCase) {
  EXPECT_TRUE(matches("MALLOC", "__libc_malloc"));
  EXPECT_TRUE(matches("^std::.*<int>", "std::vector<int>::push_back"));
  EXPECT_FALSE(matches("^alloc", "malloc"));
  EXPECT_TRUE(matches("größe", "die Größe"));
  EXPECT_TRUE(matches("f.o", "\xff\xfe foo"));  // names need not be UTF-8
  EXPECT_TRUE(matches("a|b$", "b"));
  EXPECT_FALSE(matches("end$", std::string(Pattern::kLookedAt, 'x') + "end"));  // what is behind is not looked at
}

TEST(Pattern, RefusesWhatCannotBeFoundInTimeThatGrowsWithTheName) {
  for (const char* text : {"(.*)(.*)(.*)\\3\\2\\1zq", "(((x{1,255}){1,255}){1,99})", "(", "[a", "*", "a{2,1}"}) {
    const auto compiled = Pattern::compile(text);
    ASSERT_FALSE(compiled) << text;
    EXPECT_EQ(compiled.error().kind(), ErrorKind::kInvalid);
    EXPECT_EQ(compiled.error().message().find(text), 0U) << compiled.error().message();
  }
  EXPECT_FALSE(matches("(a*)*(a*)*(a*)*b", std::string(Pattern::kLookedAt, 'a')));
  EXPECT_FALSE(matches("(x+x+)+y", std::string(Pattern::kLookedAt, 'x')));
}

}  // namespace
}  // namespace cicada::top
