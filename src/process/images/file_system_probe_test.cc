// SPDX-License-Identifier: Apache-2.0
// File systems that do not answer: tests/live/survives-mute-file-system.sh.
#include "process/images/file_system_probe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace cicada::process {
namespace {

constexpr auto kTimeout = std::chrono::minutes(5);

// A file on a device without a disk (tmpfs), and the name that others know our descriptor by.
class FileSystemProbeTest : public testing::Test {
 protected:
  FileSystemProbeTest() {
    struct stat st {};
    EXPECT_EQ(::fstat(memory_.get(), &st), 0);
    file_.major = major(st.st_dev);
    file_.minor = minor(st.st_dev);
    file_.inode = st.st_ino;
  }
  UniqueFd memory_{::memfd_create("file", MFD_CLOEXEC)};
  std::string path_ = fmt::format("/proc/{}/fd/{}", ::getpid(), memory_.get());
  FileIdentity file_;
  FileSystemProbe file_systems_{kTimeout};
};

TEST_F(FileSystemProbeTest, OneInMemoryAnswers) {
  ASSERT_EQ(file_.major, 0U);
  EXPECT_TRUE(file_systems_.ask(file_, path_));
}

TEST_F(FileSystemProbeTest, SaysWhatOpeningSays) {
  const auto asked = file_systems_.ask(file_, "/proc/self/no such file");
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().kind(), ErrorKind::kNotFound);
}

TEST_F(FileSystemProbeTest, OnesKnownToBeOursAreNotAskedAgain) {
  ASSERT_TRUE(file_systems_.ask(file_, path_));
  EXPECT_TRUE(file_systems_.ask(file_, "/no such file"));
}

TEST_F(FileSystemProbeTest, DisksAreNotAsked) {
  file_.major = 8;
  EXPECT_TRUE(file_systems_.ask(file_, "/no such file"));
}

TEST_F(FileSystemProbeTest, OneThatFellSilentIsNotAskedAgain) {
  ASSERT_TRUE(file_systems_.ask(file_, path_));
  EXPECT_EQ(file_systems_.note_silent(file_).kind(), ErrorKind::kIo);
  const auto asked = file_systems_.ask(file_, path_);
  ASSERT_FALSE(asked);
  EXPECT_NE(asked.error().message().find("does not answer"), std::string::npos);
}

TEST_F(FileSystemProbeTest, NumbersOfDevicesAreNotBelievedForEver) {
  FileSystemProbe forgetful(kTimeout, std::chrono::milliseconds(0));
  EXPECT_EQ(forgetful.note_silent(file_).kind(), ErrorKind::kIo);
  EXPECT_TRUE(forgetful.ask(file_, path_));
  EXPECT_FALSE(forgetful.ask(file_, "/proc/self/no such file"));
}

TEST_F(FileSystemProbeTest, WhoWaitsForAnyChildFindsNone) {
  ASSERT_TRUE(file_systems_.ask(file_, path_));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(AnsweredByOthersTest, TellsServedFromLocalFileSystems) {
  EXPECT_TRUE(is_answered_by_others(FUSE_SUPER_MAGIC));
  EXPECT_TRUE(is_answered_by_others(NFS_SUPER_MAGIC));
  EXPECT_FALSE(is_answered_by_others(EXT4_SUPER_MAGIC));
  EXPECT_FALSE(is_answered_by_others(TMPFS_MAGIC));
}

}  // namespace
}  // namespace cicada::process
