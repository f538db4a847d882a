// SPDX-License-Identifier: Apache-2.0
#include "cli/record/record_progress.h"

#include <gtest/gtest.h>

namespace cicada::cli {
namespace {

TEST(RecordProgress, IsOneLineOfAnyTerminal) {
  profile::Profile profile;
  profile.header.duration_ns = 12'300'000'000;
  profile.header.events[0].fired = 1000;
  profile.header.events[0].counts = {{"stored", 950, true}, {"lost: a", 20, true}, {"lost: b", 5, true}, {"lost: a note", 99, false}};
  EXPECT_EQ(format_progress(profile, "shop::total", 0.263, {{}, 100}), "12 s  0 samples  26.3 % shop::total  2.5 % lost  (Ctrl-C ends it)");
  EXPECT_EQ(format_progress(profile, "shop::total", 0.263, {60'000'000'000, 100}), "12 s of 60 s  0 samples  26.3 % shop::total  2.5 % lost");
  for (size_t columns = 2; columns < 90; ++columns) {
    const std::string line = format_progress(profile, std::string(200, 'f'), 0.5, {{}, columns});
    EXPECT_LT(std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; }), static_cast<ptrdiff_t>(columns));
  }
}

}  // namespace
}  // namespace cicada::cli
