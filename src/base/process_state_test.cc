// SPDX-License-Identifier: Apache-2.0
#include "base/process_state.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <fstream>
#include <string>

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

// Burns CPU time until the kernel has counted so much.
void burn(long ms) {
  const auto used = [] { return ::clock() * 1000 / CLOCKS_PER_SEC; };
  for (const long begun = used(); used() < begun + ms;) continue;
}

TEST(UsedCpu, OfAProcessAndOfAllBelowIt) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NAME, "a) 1 2 3 (b");
    if (::fork() == 0) {
      burn(200);
      ::_exit(0);
    }
    ::wait(nullptr);
    if (::fork() == 0) {
      burn(300);
      if (::write(ready[1], "", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    burn(100);
    if (::write(ready[1], "", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char ignored;
  for (int i = 0; i < 2; ++i) ASSERT_EQ(::read(ready[0], &ignored, 1), 1);
  const uint64_t used = used_cpu_ns(child);
  EXPECT_GE(used, 570'000'000U);  // three processes, each counted in ticks of 10 ms
  EXPECT_LE(used, 900'000'000U);
  EXPECT_EQ(used_cpu_ns(child), used);
  const std::string children = "/proc/" + std::to_string(child) + "/task/" + std::to_string(child) + "/children";
  pid_t grandchild = 0;
  std::ifstream(children) >> grandchild;
  ::kill(child, SIGKILL);
  ::kill(grandchild, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(used_cpu_ns(child), 0U);
  for (const int fd : ready) ::close(fd);
}

}  // namespace
}  // namespace cicada
