// SPDX-License-Identifier: Apache-2.0
#include "base/scoped_file_user.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/unique_fd.h"

namespace cicada {
namespace {

bool can_open(const char* path) { return bool(UniqueFd(::open(path, O_RDONLY | O_CLOEXEC))); }

TEST(ScopedFileUser, OpensWhatTheUserMayAndOnlyInThisThread) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_TRUE(can_open("/etc/shadow"));
  std::atomic<bool> changed{false};
  std::thread other([&] {
    changed.wait(false);
    EXPECT_TRUE(can_open("/etc/shadow"));
  });
  {
    const ScopedFileUser nobody(65534);
    EXPECT_TRUE(nobody.holds());
    EXPECT_FALSE(can_open("/etc/shadow"));
    EXPECT_TRUE(can_open("/etc/passwd"));
    changed = true;
    changed.notify_one();
    other.join();
  }
  EXPECT_TRUE(can_open("/etc/shadow"));
}

TEST(ScopedFileUser, OurselvesIsNoChange) {
  const ScopedFileUser same(::geteuid());
  EXPECT_TRUE(same.holds());
}

}  // namespace
}  // namespace cicada
