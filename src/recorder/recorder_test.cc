// SPDX-License-Identifier: Apache-2.0
// What needs a kernel: tests/live (agent-tags-stacks, and every recording).
#include "recorder/recorder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace cicada::recorder {
namespace {

TEST(ServeAsReader, TheProgramsOwnArgumentsAreNone) {
  char program[] = "program", option[] = "-v", file[] = "file";
  char* const arguments[] = {program, option, file, nullptr};
  for (int count = 1; count <= 3; ++count) EXPECT_FALSE(serve_as_reader(count, const_cast<char**>(arguments)));
}

TEST(RecordingUser, IsWhoCalledSudoAndOnlyRootIsTold) {
  for (const auto& [told, user] : {std::pair<const char*, uint32_t>{"12345", 12345}, {"not a number", 0}, {"12x", 0}, {"", 0}, {"0", 0}}) {
    ::setenv("SUDO_UID", told, 1);
    EXPECT_EQ(recording_user(), ::geteuid() == 0 ? user : ::geteuid()) << told;
  }
  ::unsetenv("SUDO_UID");
  EXPECT_EQ(recording_user(), ::geteuid());
}

}  // namespace
}  // namespace cicada::recorder
