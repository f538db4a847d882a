// SPDX-License-Identifier: Apache-2.0
#include "base/left_behind.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace cicada {
namespace {

class LeftBehindTest : public testing::Test {
 protected:
  ~LeftBehindTest() override { end_all(); }
  void add(uint32_t owner) {
    const pid_t process = ::fork();
    if (process == 0) {
      ::pause();
      ::_exit(0);
    }
    processes_.push_back(process);
    left_.add(owner, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0))));
  }
  void end_all() {
    for (const pid_t process : processes_) {
      ::kill(process, SIGKILL);
      siginfo_t info{};
      ::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT);
    }
    EXPECT_TRUE(left_.has_room(0));
    for (const pid_t process : processes_) EXPECT_EQ(::waitpid(process, nullptr, WNOHANG), -1) << "it was not reaped";
    processes_.clear();
  }
  LeftBehind left_;
  std::vector<pid_t> processes_;
};

TEST_F(LeftBehindTest, OnesSilenceIsNobodyElses) {
  for (size_t i = 0; i < LeftBehind::kMaxOfOne; ++i) {
    EXPECT_TRUE(left_.has_room(1000));
    add(1000);
  }
  EXPECT_FALSE(left_.has_room(1000));
  EXPECT_TRUE(left_.has_room(1001));
}

TEST_F(LeftBehindTest, ManyUsersLeaveRootItsPlaces) {
  for (size_t i = 0; i < LeftBehind::kMaxOfUsers; ++i) add(static_cast<uint32_t>(1000 + i));
  EXPECT_FALSE(left_.has_room(4711));
  EXPECT_TRUE(left_.has_room(0));
}

TEST_F(LeftBehindTest, WhoEndsMakesRoom) {
  for (size_t i = 0; i < LeftBehind::kMaxOfOne; ++i) add(1000);
  EXPECT_FALSE(left_.has_room(1000));
  end_all();
  EXPECT_TRUE(left_.has_room(1000));
}

}  // namespace
}  // namespace cicada
