// SPDX-License-Identifier: Apache-2.0
#include "base/clean_text.h"

#include <gtest/gtest.h>

namespace cicada {
namespace {

constexpr const char* kBad = "\xef\xbf\xbd";

TEST(CleanText, LeavesGoodTextAsItIs) {
  std::string storage;
  const std::string good = "f(int) ä€😀 \xe2\x80\xa6 \xe2\x86\x92";
  EXPECT_EQ(clean_text(good, storage).data(), good.data());
}

TEST(CleanText, ReplacesWhatIsNotUtf8) {
  const std::string bad = kBad;
  EXPECT_EQ(clean_text("a\xff" "b"), "a" + bad + "b");
  EXPECT_EQ(clean_text("\xe2\x82"), bad);                   // cut off: one
  EXPECT_EQ(clean_text("\xed\xa0\x80"), bad + bad + bad);   // surrogate
  EXPECT_EQ(clean_text("\xc0\xaf"), bad + bad);             // overlong
  EXPECT_EQ(clean_text("\xf4\x90\x80\x80"), bad + bad + bad + bad);
}

TEST(CleanText, KeepsOneLineAndSteersNoTerminal) {
  const std::string bad = kBad;
  EXPECT_EQ(clean_text("a\tb\nc\r"), "a b c ");
  EXPECT_EQ(clean_text("\x1b[2J\x7f"), bad + "[2J" + bad);
  EXPECT_EQ(clean_text("csi \xc2\x9b!\xc2\xa0"), "csi " + bad + "!\xc2\xa0");
  EXPECT_EQ(clean_text(std::string_view("\0", 1)), bad);
}

TEST(CleanText, TurnsNoDirection) {
  for (const uint32_t code : {0x061cU, 0x200eU, 0x200fU, 0x2028U, 0x2029U, 0x202aU, 0x202bU, 0x202cU, 0x202dU, 0x202eU, 0x2066U, 0x2067U, 0x2068U, 0x2069U}) {
    std::string text;
    if (code < 0x800) text = {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
    else text = {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)), static_cast<char>(0x80 | (code & 0x3f))};
    EXPECT_EQ(clean_text("a" + text + "b"), std::string("a") + kBad + "b") << code;
  }
}

TEST(CleanLines, KeepsLines) { EXPECT_EQ(clean_lines("a\n\x1b\nb\n"), std::string("a\n") + kBad + "\nb\n"); }

}  // namespace
}  // namespace cicada
