// SPDX-License-Identifier: Apache-2.0
#include "process/images/mount_roots.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

namespace cicada::process {
namespace {

// A child in a root directory of its own, until the object goes.
class Confined {
 public:
  explicit Confined(const std::string& directory) {
    int ready[2];
    if (::pipe(ready) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ready[0]);
      const bool done = ::unshare(CLONE_NEWNS) == 0 && ::chroot(directory.c_str()) == 0;
      [[maybe_unused]] const ssize_t told = ::write(ready[1], done ? "y" : "n", 1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char answer = 'n';
    confined_ = ::read(ready[0], &answer, 1) == 1 && answer == 'y';
    ::close(ready[0]);
  }
  ~Confined() { end(); }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  Pid pid() const { return pid_; }
  bool confined() const { return confined_; }

 private:
  pid_t pid_ = -1;
  bool confined_ = false;
};

TEST(MountRoots, AreNothingForProcessesThatSeeOurFiles) {
  MountRoots roots;
  EXPECT_EQ(roots.find(::getpid()), nullptr);
  EXPECT_EQ(roots.find(1 << 30), nullptr);
}

TEST(MountRoots, OutliveTheirProcess) {
  std::string directory = (std::filesystem::temp_directory_path() / "cicada-roots-XXXXXX").string();
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  Confined child(directory);
  if (!child.confined()) GTEST_SKIP() << "SKIP: needs root to confine a process";
  MountRoots roots;
  const auto root = roots.find(child.pid());
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(roots.find(child.pid()), root) << "one descriptor for all processes of a container";
  child.end();
  struct stat held {}, wanted {};
  ASSERT_EQ(::fstat(root->get(), &held), 0);
  ASSERT_EQ(::stat(directory.c_str(), &wanted), 0);
  EXPECT_EQ(held.st_ino, wanted.st_ino);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace cicada::process
