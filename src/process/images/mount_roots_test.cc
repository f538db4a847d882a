// SPDX-License-Identifier: Apache-2.0
#include "process/images/mount_roots.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace cicada::process {
namespace {

// A child in a root directory of its own, until the object goes. `user`: in a user namespace of that user's, with mounts of its own.
class Confined {
 public:
  explicit Confined(const std::string& directory, uid_t user = 0) {
    int ready[2];
    if (::pipe(ready) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ready[0]);
      if (user != 0) {  // not by ourselves: a sanitizer may have a second thread, and then that is refused
        ::dup2(ready[1], STDOUT_FILENO);
        if (::setresgid(user, user, user) == 0 && ::setresuid(user, user, user) == 0) ::execlp("unshare", "unshare", "-Urm", "sh", "-c", "echo y; exec sleep 1000", nullptr);
        ::_exit(1);
      }
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
  const auto ours = roots.find(::getpid(), 0);
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->root, nullptr);
  EXPECT_FALSE(ours->is_strangers);
  EXPECT_FALSE(roots.find(1 << 30, 0));
}

TEST(MountRoots, OutliveTheirProcess) {
  std::string directory = (std::filesystem::temp_directory_path() / "cicada-roots-XXXXXX").string();
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  Confined child(directory);
  if (!child.confined()) GTEST_SKIP() << "SKIP: needs root to confine a process";
  MountRoots roots;
  const auto root = roots.find(child.pid(), 12345)->root;
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(roots.find(child.pid(), 0)->root, root) << "one descriptor for all processes of a container";
  child.end();
  struct stat held {}, wanted {};
  ASSERT_EQ(::fstat(root->get(), &held), 0);
  ASSERT_EQ(::stat(directory.c_str(), &wanted), 0);
  EXPECT_EQ(held.st_ino, wanted.st_ino);
  std::filesystem::remove_all(directory);
}

// Whose namespace it is says whose files it may speak of.
TEST(MountRoots, OfAUserNamespaceAreBelievedAboutItsUsersAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIP: needs root to become another user";
  constexpr uid_t kUser = 54321, kOther = 54322;
  const Confined child("/", kUser);
  if (!child.confined()) GTEST_SKIP() << "SKIP: no user namespaces for other users";
  MountRoots roots;
  const auto own = roots.find(child.pid(), kUser);
  ASSERT_TRUE(own);
  EXPECT_FALSE(own->is_strangers);
  EXPECT_NE(own->root, nullptr);
  for (const uid_t owner : {uid_t{0}, kOther}) {
    const auto view = roots.find(child.pid(), owner);
    ASSERT_TRUE(view);
    EXPECT_TRUE(view->is_strangers) << owner;
    EXPECT_EQ(view->root, nullptr) << owner;
  }
}

}  // namespace
}  // namespace cicada::process
