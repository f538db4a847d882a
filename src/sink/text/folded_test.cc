// SPDX-License-Identifier: Apache-2.0
#include "sink/text/folded.h"

#include <gtest/gtest.h>

namespace cicada::sink {
namespace {

TEST(FoldedEscape, RoundTrips) {
  for (const std::string name : {"plain", "a;b", "a\nb\r", "100%", "%3B", "%253B;", "operator%", "%%3B;%0A\n", "\x1b[2Jcleared", "a\tb\x7f", "%1B%7F%7E", "#not a comment", "%23"}) {
    const std::string escaped = escape_folded(name);
    EXPECT_EQ(escaped.find_first_of(";\n\r\t\x1b\x7f"), std::string::npos) << escaped;
    EXPECT_EQ(unescape_folded(escaped), name);
  }
  EXPECT_EQ(escape_folded("100% sure"), "100% sure");
  EXPECT_EQ(escape_folded("\x1b[2J"), "%1B[2J");
  EXPECT_EQ(escape_folded("100%7E"), "100%7E");
}

}  // namespace
}  // namespace cicada::sink
