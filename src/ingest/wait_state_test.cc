// SPDX-License-Identifier: Apache-2.0
#include "ingest/wait_state.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace cicada::ingest {
namespace {

std::string_view state(wait_kind wait, int system_call, uint8_t flags = 0) {
  sample_record sample{};
  sample.wait = wait;
  sample.system_call = static_cast<uint16_t>(system_call);
  sample.flags = flags;
  return wait_state(sample);
}

TEST(WaitState, SaysWhatTheThreadWaitsFor) {
  EXPECT_EQ(state(WAIT_NONE, SYS_futex), "");
  EXPECT_EQ(state(WAIT_SLEEPING, SYS_futex), "lock");
  EXPECT_EQ(state(WAIT_SLEEPING, SYS_clock_nanosleep), "sleep");
  EXPECT_EQ(state(WAIT_SLEEPING, SYS_read), "io");
  EXPECT_EQ(state(WAIT_SLEEPING, SYS_epoll_wait), "io");
  EXPECT_EQ(state(WAIT_SLEEPING, SYS_wait4), "other");
}

TEST(WaitState, AReadyThreadWaitsForTheCpuWhateverItDidBefore) {
  EXPECT_EQ(state(WAIT_PREEMPTED, SYS_read), "preempted");
  EXPECT_EQ(state(WAIT_RUNNABLE, SYS_futex), "runnable");
  EXPECT_EQ(state(WAIT_PREEMPTED, SYS_sched_yield), "runnable");
  EXPECT_EQ(state(WAIT_PREEMPTED, NO_SYSTEM_CALL), "preempted");
}

TEST(WaitState, AStoppedThreadWaitsForNothingOfItsOwn) { EXPECT_EQ(state(WAIT_STOPPED, SYS_futex), "stopped"); }

TEST(WaitState, ReadsOfFilesWaitForTheDisk) {
  EXPECT_EQ(state(WAIT_DISK, SYS_read), "disk");
  EXPECT_EQ(state(WAIT_UNINTERRUPTIBLE, SYS_read), "other");
  EXPECT_EQ(state(WAIT_UNINTERRUPTIBLE, SYS_clock_nanosleep), "other");
  EXPECT_EQ(state(WAIT_DISK, SYS_io_uring_enter), "io");
  EXPECT_EQ(state(WAIT_UNINTERRUPTIBLE, SYS_futex), "lock");
}

TEST(WaitState, AnExceptionOfAProgramIsAPageFault) {
  EXPECT_EQ(state(WAIT_DISK, NO_SYSTEM_CALL), "page fault");
  EXPECT_EQ(state(WAIT_UNINTERRUPTIBLE, NO_SYSTEM_CALL), "page fault");
  EXPECT_EQ(state(WAIT_SLEEPING, NO_SYSTEM_CALL), "other");
  EXPECT_EQ(state(WAIT_DISK, NO_USER_SIDE), "disk");  // a kernel thread
  EXPECT_EQ(state(WAIT_SLEEPING, NO_USER_SIDE), "other");
}

// 32-bit programs number their calls otherwise: 202 is getegid there.
TEST(WaitState, NumbersOf32BitProgramsAreNotOurs) { EXPECT_EQ(state(WAIT_SLEEPING, SYS_futex, SAMPLE_32_BIT), "other"); }

}  // namespace
}  // namespace cicada::ingest
