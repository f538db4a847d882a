// SPDX-License-Identifier: Apache-2.0
#include "base/number_text.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace cicada {
namespace {

TEST(NumberText, SaysTimesInThreeDigits) {
  for (const auto& [seconds, text] : {std::pair(2.0832, "2.08 s"), {123.4, "123 s"}, {0.31, "310 ms"}, {0.99999, "1.00 s"}, {9.996, "10.0 s"}, {0.0000121, "12.1 µs"},
                                      {5e-9, "5.00 ns"}, {1e-12, "0.00 ns"}, {0.0, "0.00 ns"}, {86400.0, "86400 s"}})
    EXPECT_EQ(seconds_text(seconds), text);
  EXPECT_EQ(seconds_text(0.9151712, 5), "915.17 ms");
  EXPECT_EQ(seconds_text(1.36, 4), "1.360 s");
}

TEST(NumberText, SaysWhatItWasTold) {
  for (double seconds = 1e-9; seconds < 1e4; seconds *= 1.01) {
    const std::string text = seconds_text(seconds);
    const double unit = text.ends_with(" ms") ? 1e-3 : text.ends_with(" µs") ? 1e-6 : text.ends_with(" ns") ? 1e-9 : 1;
    EXPECT_NEAR(std::strtod(text.c_str(), nullptr) * unit / seconds, 1, 0.006) << text;
  }
}

TEST(NumberText, GroupsDigitsAndBytes) {
  EXPECT_EQ(grouped_digits(0), "0");
  EXPECT_EQ(grouped_digits(1234567), "1,234,567");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1.0 KiB");
  EXPECT_EQ(bytes_text(1.75 * 1024 * 1024), "1.8 MiB");
  EXPECT_EQ(percent(1, 0), 0);
  EXPECT_EQ(percent(1, 4), 25);
}

}  // namespace
}  // namespace cicada
