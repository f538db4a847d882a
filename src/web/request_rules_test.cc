// SPDX-License-Identifier: Apache-2.0
#include "web/request_rules.h"

#include <gtest/gtest.h>

namespace cicada::web {
namespace {

TEST(Tokens, AreTheSameOnlyIfAllOfThemIs) {
  EXPECT_TRUE(is_same_token("abc", "abc"));
  for (const char* wrong : {"", "ab", "abcd", "abd", "bbc", "ABC"}) EXPECT_FALSE(is_same_token(wrong, "abc")) << wrong;
  EXPECT_FALSE(is_same_token(std::string_view("abc\0", 4), "abc"));
}

TEST(Heads, LoseTheHeaderThatIsNotWanted) {
  EXPECT_EQ(without_header("GET / HTTP/1.1\r\nRange: x\r\nA: range\r\nrAnGe:y\r\nRanges: z\r\n\r\n", "range"), "GET / HTTP/1.1\r\nA: range\r\nRanges: z\r\n\r\n");
  EXPECT_EQ(without_header("\r\n", "range"), "\r\n");
}

TEST(Heads, AreLinesWithAColon) {
  EXPECT_EQ(check_head("GET / HTTP/1.1\r\nHost: x\r\nA:\tb\r\n\r\n"), 0);
  for (const char* wrong : {"\r\n\r\n", "\r\n", "GET /\r\n\r\n", "GET / HTTP/1.1 \r\n\r\n", "GET / HTTP/1.1\r\nHost\r\n\r\n", "GET / HTTP/1.1\r\n Host: x\r\n\r\n", "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n"})
    EXPECT_EQ(check_head(wrong), 400) << wrong;
}

TEST(Judge, AnswersADoubleSlashNotAsTheToken) {
  const RequestFacts request{.method = "GET", .path = "//x", .host = "localhost", .origin = {}, .fetch_site = {}, .fetch_mode = {}};
  EXPECT_EQ(judge(request, {.token = "x", .hosts = {}}).status, 404);
  EXPECT_EQ(judge(request, {.token = "", .hosts = {}}).rest, "/x");
}

}  // namespace
}  // namespace cicada::web
