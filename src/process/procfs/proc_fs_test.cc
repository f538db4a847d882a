// SPDX-License-Identifier: Apache-2.0
#include "process/procfs/proc_fs.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace cicada::process {
namespace {

// A child that waits until it is killed.
class Child {
 public:
  explicit Child(const char* name = nullptr) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      if (name != nullptr) ::prctl(PR_SET_NAME, name);
      if (::write(ready[1], "x", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char byte;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Pid pid() const { return pid_; }

 private:
  Pid pid_ = 0;
};

TEST(ProcStat, CommMayHoldParenthesesBlanksAndNewlines) {
  const auto stat = find_stat("42 (a) b) (c\n) S 7 42 42 0 -1 4194304 1 2 3 4 5 6 7 8 9 20 1 0 123456 99 1");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, 42);
  EXPECT_EQ(stat->comm, "a) b) (c\n");
  EXPECT_EQ(stat->parent_pid, 7);
  EXPECT_EQ(stat->state, 'S');
}

TEST(ProcStat, RefusesWhatIsNoStatus) {
  for (const char* text : {"", "()", "1", "1 (x", "1 (x) S", "1 (x) S 2 3", "x (y) S 1 1 1 0 -1 0 0 0", ") 1 ("}) {
    EXPECT_FALSE(find_stat(text)) << text;
  }
}

TEST(ProcStat, StartTimeIsFieldTwentyTwo) {
  const Child child(") S 1 2 (");
  const auto stat = read_stat(child.pid());
  ASSERT_TRUE(stat) << stat.error().message();
  EXPECT_EQ(stat->comm, ") S 1 2 (");
  EXPECT_EQ(stat->parent_pid, ::getpid());
  EXPECT_FALSE(stat->kernel_thread);
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const uint64_t ticks = static_cast<uint64_t>(now.tv_sec) * 100 + static_cast<uint64_t>(now.tv_nsec) / 10'000'000;
  EXPECT_LE(stat->start_ticks, ticks);
  EXPECT_GT(stat->start_ticks + 1000, ticks);
}

TEST(ProcFs, ListsThreads) {
  const Child child;
  const auto threads = list_threads(child.pid());
  ASSERT_FALSE(threads.empty());
  EXPECT_EQ(threads.front(), child.pid());  // under TSan there is a second one, its own
  EXPECT_TRUE(list_threads(0x3fffffff).empty());
}

TEST(ProcFs, ThreadBelongsToAProcess) {
  std::atomic<Tid> tid{0};
  std::jthread other([&](std::stop_token stop) {
    tid = ::gettid();
    while (!stop.stop_requested()) ::usleep(1000);
  });
  while (tid == 0) ::usleep(1000);
  EXPECT_EQ(*read_process_of(tid), ::getpid());
  EXPECT_EQ(*read_process_of(::getpid()), ::getpid());
  EXPECT_EQ(read_process_of(0x3fffffff).error().kind(), ErrorKind::kGone);
}

TEST(ProcFs, ProcessThatIsGoneIsGone) {
  const auto stat = read_stat(0x3fffffff);
  ASSERT_FALSE(stat);
  EXPECT_EQ(stat.error().kind(), ErrorKind::kGone);
}

TEST(ProcFs, FindsMountsByTypeAndDevice) {
  constexpr std::string_view kMounts =
      "22 28 0:20 / /sys rw,nosuid - sysfs sysfs rw\n113 90 0:42 / /a\\040-\\040b rw shared:7 - overlay overlay rw,lowerdir=l\n114 90 8:1 / /c rw - ext4 /dev/sda1 rw";
  EXPECT_TRUE(has_mount(kMounts, "overlay", 0, 42));
  EXPECT_TRUE(has_mount(kMounts, "ext4", 8, 1));
  EXPECT_FALSE(has_mount(kMounts, "overlay", 0, 20));
  EXPECT_FALSE(has_mount(kMounts, "overlay", 0, 4));
  EXPECT_FALSE(has_mount(kMounts, "overlay", 90, 0));
  EXPECT_FALSE(has_mount("", "overlay", 0, 42));
  EXPECT_FALSE(has_mount("113 90\n\n113", "overlay", 0, 42));
  const auto ours = read_proc_file("/proc/self/mountinfo", 4 << 20);
  struct stat st {};
  ASSERT_TRUE(ours && ::stat("/proc", &st) == 0);
  EXPECT_TRUE(has_mount(*ours, "proc", major(st.st_dev), minor(st.st_dev)));
}

TEST(ProcFs, SeesAMountedProc) {
  const ProcVisibility visibility = proc_visibility();
  EXPECT_TRUE(visibility.mounted);
  EXPECT_TRUE(::geteuid() != 0 || visibility.others_visible);
}

}  // namespace
}  // namespace cicada::process
