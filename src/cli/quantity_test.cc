// SPDX-License-Identifier: Apache-2.0
#include "cli/quantity.h"

#include <gmock/gmock.h>

namespace cicada::cli {
namespace {

TEST(ParseDuration, KnowsTheUnitsPeopleType) {
  EXPECT_EQ(*parse_duration_ns("10", "-d"), 10'000'000'000u);
  EXPECT_EQ(*parse_duration_ns("0.5", "-d"), 500'000'000u);
  EXPECT_EQ(*parse_duration_ns("250ms", "-d"), 250'000'000u);
  EXPECT_EQ(*parse_duration_ns("2m", "-d"), 120'000'000'000u);
  EXPECT_EQ(*parse_duration_ns("1h", "-d"), 3'600'000'000'000u);
}

TEST(ParseDuration, RefusesWhatIsNoDuration) {
  for (const char* text : {"", "0", "-1", "ten", "5 s", "1e3", "nan", "inf", "5d", "99999999999999h", ".", "1.2.3"}) {
    EXPECT_FALSE(parse_duration_ns(text, "-d")) << text;
  }
  EXPECT_EQ(parse_duration_ns("5d", "-d").error().message(), "-d 5d: unknown unit 'd'; use us, ms, s, m or h");
}

TEST(ParseBytes, CountsInPowersOf1024) {
  EXPECT_EQ(*parse_bytes("64M", "x"), uint64_t{64} << 20);
  EXPECT_EQ(*parse_bytes("1.5k", "x"), 1536u);
  EXPECT_EQ(*parse_bytes("4096", "x"), 4096u);
  EXPECT_FALSE(parse_bytes("0", "x"));
  EXPECT_FALSE(parse_bytes("64T", "x"));
}

TEST(ParseNumber, TellsTooLargeFromNonsense) {
  EXPECT_EQ(*parse_number("18446744073709551615", "-c"), UINT64_MAX);
  EXPECT_THAT(parse_number("18446744073709551616", "-c").error().message(), testing::HasSubstr("too large"));
  for (const char* text : {"", "-1", "0x10", "12 ", "1.0"}) EXPECT_FALSE(parse_number(text, "-c")) << text;
}

TEST(ParseFrequency, IsAWholeNumberAboveZero) {
  EXPECT_EQ(*parse_frequency_hz("1"), 1u);
  EXPECT_EQ(*parse_frequency_hz("997"), 997u);
  const auto refused = [](const char* text) { return parse_frequency_hz(text).error().message(); };
  EXPECT_EQ(refused("0"), "-F 0: nothing would be sampled");
  EXPECT_EQ(refused("18446744073709551616"), "-F 18446744073709551616: too large");
  for (const std::string text : {"", "-1", "+99", "99Hz", "99 ", " 99", "9.5", "max"}) EXPECT_EQ(refused(text.c_str()), "-F " + text + ": not a whole number");
}

TEST(SplitList, DropsEmptyParts) {
  EXPECT_THAT(split_list(",a,,bc,"), testing::ElementsAre("a", "bc"));
  EXPECT_THAT(split_list(""), testing::IsEmpty());
}

}  // namespace
}  // namespace cicada::cli
