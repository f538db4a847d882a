// SPDX-License-Identifier: Apache-2.0
#include "top/run_states.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "process/procfs/proc_fs.h"

namespace cicada::top {
namespace {

constexpr uint64_t kTick = 10'000'000;

uint64_t start_of(Pid pid) { return process::read_stat(pid)->start_ticks * kTick; }

TEST(RunStates, SaysWhatAProcessDoes) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  const uint64_t start = start_of(child);
  EXPECT_EQ(RunStates().of(child, start, child), 'T');
  EXPECT_EQ(RunStates().of(child, start + 7 * kTick, child), 0) << "another one with that number";
  EXPECT_EQ(RunStates().of(::getpid(), start_of(::getpid()), ::getpid()), 'R');
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(RunStates().of(child, start, child), 0);
}

TEST(RunStates, SaysWhatAThreadDoes) {
  std::atomic<Tid> tid{0};
  std::jthread other([&](const std::stop_token& stop) {
    tid = ::gettid();
    while (!stop.stop_requested()) continue;
  });
  while (tid == 0) ::usleep(1000);
  EXPECT_EQ(RunStates().of(::getpid(), start_of(::getpid()), tid), 'R');
  EXPECT_EQ(RunStates().of(::getpid(), start_of(::getpid()), 0x3fffffff), 0);
}

TEST(RunStates, ReadsOnceASecond) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  RunStates states;
  const uint64_t start = start_of(child);
  const char first = states.of(child, start, child);
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(states.of(child, start, child), first);
  ::sleep(1);
  EXPECT_EQ(states.of(child, start, child), 0);
}

}  // namespace
}  // namespace cicada::top
