// SPDX-License-Identifier: Apache-2.0
#include "base/scoped_file_user.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
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

// Root without the capabilities that override modes: what is another's and nobody else's is not for him either.
TEST(ScopedFileUser, RootHasNoMoreRightsThanTheOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  std::string path = (std::filesystem::temp_directory_path() / "cicada-file-user-XXXXXX").string();
  const UniqueFd file(::mkstemp(path.data()));
  ASSERT_TRUE(file);
  ASSERT_EQ(::fchown(file.get(), 54321, 54321), 0);
  for (const uid_t user : {0U, 54321U, 54322U}) {
    const ScopedFileUser rights(user);
    EXPECT_TRUE(rights.holds());
    EXPECT_EQ(can_open(path.c_str()), user == 54321) << user;
    EXPECT_EQ(can_open("/etc/shadow"), user == 0) << user;
  }
  EXPECT_TRUE(can_open(path.c_str()));
  ASSERT_EQ(::fchmod(file.get(), 0040), 0);
  {
    const ScopedFileUser rights(54322);
    EXPECT_FALSE(can_open(path.c_str()));
  }
  for (const std::vector<gid_t>& further : {std::vector<gid_t>{54321}, std::vector<gid_t>{}}) {
    const ScopedFileUser rights(54322, further.empty() ? 54321 : ScopedFileUser::kNoGroup, further);
    EXPECT_TRUE(can_open(path.c_str())) << further.size();
  }
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace cicada
