// SPDX-License-Identifier: Apache-2.0
#include "base/process_state.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

namespace cicada {
namespace {

bool becomes(pid_t child, bool runnable) {
  for (int i = 0; i < 10'000 && is_runnable(child) != runnable; ++i) ::usleep(1000);
  return is_runnable(child) == runnable;
}

TEST(IsRunnable, WhoComputesAndNotWhoSleepsOrHasEnded) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NAME, "a) S R) Z R (b");
    for (std::atomic<uint64_t> turns{0};;) ++turns;
  }
  EXPECT_TRUE(becomes(child, true));
  ::kill(child, SIGSTOP);
  EXPECT_TRUE(becomes(child, false));
  ::kill(child, SIGCONT);
  EXPECT_TRUE(becomes(child, true));
  ::kill(child, SIGKILL);
  EXPECT_TRUE(becomes(child, false));
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_runnable(child));
}

}  // namespace
}  // namespace cicada
