// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/function_place.h"

#include <gtest/gtest.h>

namespace cicada::bpf_source {
namespace {

FunctionPlace place_of(std::string_view text) {
  FunctionPlace place;
  PlaceError error;
  EXPECT_TRUE(parse_function_place(text, place, error)) << text << ": " << error.message;
  return place;
}
std::string error_of(std::string_view text, bool at_return = false) {
  FunctionPlace place;
  place.at_return = at_return;
  PlaceError error;
  EXPECT_FALSE(parse_function_place(text, place, error)) << text;
  return fmt::format("{}: {}", error.at, error.message);
}
std::string first_of(std::string_view text) { return std::string(text.substr(0, end_of_function_place(text, 0))); }

TEST(FunctionPlaces, NameAnImageAFunctionAndAnOffset) {
  EXPECT_EQ(place_of("malloc"), (FunctionPlace{"", "malloc", 0, false}));
  EXPECT_EQ(place_of("libc:malloc"), (FunctionPlace{"libc", "malloc", 0, false}));
  EXPECT_EQ(place_of("/opt/lib x.so.1:fn+0x1f"), (FunctionPlace{"/opt/lib x.so.1", "fn", 31, false}));
  EXPECT_EQ(place_of("fn+10"), (FunctionPlace{"", "fn", 10, false}));
  EXPECT_EQ(place_of("\"/a:b/x.so\":fn"), (FunctionPlace{"/a:b/x.so", "fn", 0, false}));
  EXPECT_EQ(place_of("\"/a\\\"b\":fn"), (FunctionPlace{"/a\"b", "fn", 0, false}));
  EXPECT_EQ(place_of("net/http.(*Client).Get"), (FunctionPlace{"", "net/http.(*Client).Get", 0, false}));
}

TEST(FunctionPlaces, NameALine) {
  const auto line = [](const char* image, const char* place) { return FunctionPlace{.image = image, .function = place, .is_line = true}; };
  EXPECT_EQ(place_of("parser.c:42"), line("", "parser.c:42"));
  EXPECT_EQ(place_of("/opt/x.so:src/a b.cc:7"), line("/opt/x.so", "src/a b.cc:7"));
  EXPECT_EQ(place_of("\"/a:b.cc\":7"), line("", "/a:b.cc:7"));
}

TEST(FunctionPlaces, NameFunctionsByARegularExpression) {
  EXPECT_EQ(place_of("/^sql_.*query/"), (FunctionPlace{"", "/^sql_.*query/", 0, false}));
  EXPECT_EQ(place_of("libc:/^mem(cpy|move)$/"), (FunctionPlace{"libc", "/^mem(cpy|move)$/", 0, false}));
  EXPECT_EQ(place_of("/opt/x.so:/a\\/b|[(]/"), (FunctionPlace{"/opt/x.so", "/a\\/b|[(]/", 0, false}));
  EXPECT_EQ(first_of("/^sql_.*query/"), "/^sql_.*query/");
  EXPECT_EQ(first_of("/^sql_.*query/,free"), "/^sql_.*query/");
  EXPECT_EQ(first_of("libc:/^mem[(,]/,free"), "libc:/^mem[(,]/");
  EXPECT_EQ(first_of("/^sql_.*query//value=arg0/"), "/^sql_.*query/");
  EXPECT_EQ(first_of("/x.so:/a\\/b//period=2/,free"), "/x.so:/a\\/b/");
  EXPECT_EQ(first_of("/x.so:f/period=2/"), "/x.so:f");
}

TEST(FunctionPlaces, TakeTheColonsOfNamesForLetters) {
  EXPECT_EQ(place_of("std::vector<int>::push_back"), (FunctionPlace{"", "std::vector<int>::push_back", 0, false}));
  EXPECT_EQ(place_of("app:a::b(c::d, int)"), (FunctionPlace{"app", "a::b(c::d, int)", 0, false}));
  EXPECT_EQ(place_of("app:operator<<"), (FunctionPlace{"app", "operator<<", 0, false}));
  EXPECT_EQ(place_of("A::operator+"), (FunctionPlace{"", "A::operator+", 0, false}));
  EXPECT_EQ(place_of("x.so:std::*"), (FunctionPlace{"x.so", "std::*", 0, false}));
}

TEST(FunctionPlaces, SayWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of("main.c:0"), "0: expected FILE:LINE; lines count from 1");
  EXPECT_EQ(error_of("main.c:42", true), "0: a line of a source file does not return");
  EXPECT_EQ(error_of("libc:/mem(/"), "5: this regular expression cannot be read: missing ): mem(");
  EXPECT_EQ(error_of("a:b:c"), "3: expected [IMAGE:]FUNCTION; an image's name with a colon in it needs quotes (\"…\":FUNCTION)");
  EXPECT_EQ(error_of(":fn"), "0: expected the name of a program or library before the colon");
  EXPECT_EQ(error_of("libc:"), "5: expected the name of a function");
  EXPECT_EQ(error_of(""), "0: expected the name of a function");
  EXPECT_EQ(error_of("fn+0xzz"), "3: not a number of bytes");
  EXPECT_EQ(error_of("fn+4", true), "2: a function returns where it wants to: no offset");
  EXPECT_EQ(error_of("/usr/bin/x"), "0: expected FILE:FUNCTION");
}

TEST(FunctionPlaces, EndAtACommaOrBeforeTerms) {
  EXPECT_EQ(first_of("malloc,free"), "malloc");
  EXPECT_EQ(first_of("malloc/value=arg0/"), "malloc");
  EXPECT_EQ(first_of("/opt/x.so:fn"), "/opt/x.so:fn");
  EXPECT_EQ(first_of("/opt/x.so:fn/period=2/,cpu-clock"), "/opt/x.so:fn");
  EXPECT_EQ(first_of("net/http.Get/arg0<5,arg1>6/"), "net/http.Get");
  EXPECT_EQ(first_of("f(int, char)/x/"), "f(int, char)");
  EXPECT_EQ(first_of("std::map<int, long>::at,free"), "std::map<int, long>::at");
  EXPECT_EQ(first_of("a::operator<<,free"), "a::operator<<");
  EXPECT_EQ(first_of("a::operator,,free"), "a::operator,");
  EXPECT_EQ(first_of("a::operator/,free"), "a::operator/");
  EXPECT_EQ(first_of("f<&A::operator-> >,free"), "f<&A::operator-> >");
  EXPECT_EQ(first_of("my_operator,free"), "my_operator");
  EXPECT_EQ(first_of("\"/a,b/x.so\":fn,free"), "\"/a,b/x.so\":fn");
  EXPECT_EQ(first_of("\"open"), "\"open");
}

TEST(FunctionPlaces, MeanFilesByNameOrPath) {
  const auto means = [](std::string image, std::string_view path) { return is_meant({std::move(image), "fn", 0, false}, path); };
  EXPECT_TRUE(means("", "/usr/lib/libc.so.6"));
  EXPECT_TRUE(means("libc", "/usr/lib/libc.so.6"));
  EXPECT_TRUE(means("c", "/usr/lib/libc.so.6"));
  EXPECT_TRUE(means("libc.so.6", "/usr/lib/libc.so.6"));
  EXPECT_TRUE(means("/usr/lib/libc.so.6", "/usr/lib/libc.so.6"));
  EXPECT_TRUE(means("nginx", "/usr/sbin/nginx"));
  EXPECT_TRUE(means("libc", "/lib/libc-2.31.so"));
  EXPECT_FALSE(means("libc", "/lib/libc-client.so"));
  EXPECT_TRUE(means("python3", "/usr/bin/python3.11"));
  EXPECT_TRUE(means("libc.so", "/usr/lib/libc.so.6"));
  EXPECT_FALSE(means("python3", "/usr/bin/python3.11-config"));
  EXPECT_FALSE(means("python3", "/usr/bin/python3."));
  EXPECT_FALSE(means("nginx", "/usr/sbin/nginx-1"));
  EXPECT_FALSE(means("lib", "/usr/lib/libc.so.6"));
  EXPECT_FALSE(means("libc", "/usr/lib/libcrypt.so.1"));
  EXPECT_FALSE(means("/lib/libc.so.6", "/usr/lib/libc.so.6"));
  EXPECT_FALSE(means("ngin", "/usr/sbin/nginx"));
}

// Whatever is written: it ends, within the text, and again at the same place.
TEST(FunctionPlaces, EndAnyText) {
  std::string text;
  const std::string_view letters = "a:/,<>()[]\"\\+operator*1";
  uint64_t state = 1;
  for (int i = 0; i < 20'000; ++i) {
    text.clear();
    for (int k = 0; k < 24; ++k) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      text += letters[(state >> 33) % letters.size()];
    }
    const size_t end = end_of_function_place(text, 0);
    ASSERT_LE(end, text.size());
    ASSERT_TRUE(end == text.size() || text[end] == ',' || text[end] == '/') << text;
    FunctionPlace place;
    PlaceError error;
    if (!parse_function_place(std::string_view(text).substr(0, end), place, error)) {
      ASSERT_LE(error.at, end) << text;
    }
    if (!parse_usdt_place(std::string_view(text).substr(0, end), place, error)) {
      ASSERT_LE(error.at, end) << text;
    }
  }
}

}  // namespace
}  // namespace cicada::bpf_source
