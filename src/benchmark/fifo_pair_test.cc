// SPDX-License-Identifier: Apache-2.0
#include "benchmark/fifo_pair.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace cicada::benchmark {
namespace {

class FifoPairTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cicada-fifos-XXXXXX";
    places_.directory = ::mkdtemp(name);
    places_.lock = places_.directory + "/lock";
  }
  void TearDown() override { std::filesystem::remove_all(places_.directory); }
  Result<FifoPair> create() { return FifoPair::create(::geteuid(), ::getegid(), places_); }
  std::string path(const std::string& name) const { return places_.directory + "/" + name; }
  bool is_fifo(const std::string& name) const { return std::filesystem::is_fifo(std::filesystem::symlink_status(path(name))); }
  FifoPlaces places_;
};

TEST_F(FifoPairTest, IsPrivateAndGoesWithItsOwner) {
  {
    auto pair = create();
    ASSERT_TRUE(pair) << pair.error().message();
    struct stat st {};
    for (const std::string& name : {places_.control, places_.answer}) {
      ASSERT_EQ(::stat(path(name).c_str(), &st), 0);
      EXPECT_TRUE(S_ISFIFO(st.st_mode));
      EXPECT_EQ(st.st_mode & 07777, 0600U);
    }
  }
  EXPECT_FALSE(is_fifo(places_.control));
  EXPECT_FALSE(is_fifo(places_.answer));
}

TEST_F(FifoPairTest, ReplacesALinkWithoutFollowingIt) {
  std::ofstream(path("precious")) << "text";
  std::filesystem::create_symlink("precious", path(places_.control));
  const auto pair = create();
  ASSERT_TRUE(pair) << pair.error().message();
  EXPECT_TRUE(is_fifo(places_.control));
  EXPECT_EQ(std::filesystem::file_size(path("precious")), 4U);
}

TEST_F(FifoPairTest, TakesAStalePairOver) {
  ASSERT_EQ(::mkfifo(path(places_.control).c_str(), 0600), 0);
  EXPECT_TRUE(create());
}

TEST_F(FifoPairTest, LeavesAPairThatAnotherRunnerReads) {
  ASSERT_EQ(::mkfifo(path(places_.control).c_str(), 0600), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    const int fd = ::open(path(places_.control).c_str(), O_RDWR);
    ::pause();
    ::_exit(fd);
  }
  const UniqueFd both(::open(path(places_.control).c_str(), O_WRONLY));  // returns when the other one reads
  const auto pair = create();
  ASSERT_FALSE(pair);
  EXPECT_THAT(pair.error().message(), testing::HasSubstr(std::to_string(other)));
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
}

// Or anybody could keep announced benchmarks from everybody.
TEST_F(FifoPairTest, TakesAStrangersPairOver) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIP: needs root";
  ASSERT_EQ(::mkfifo(path(places_.control).c_str(), 0600), 0);
  ASSERT_EQ(::chown(path(places_.control).c_str(), 65533, 65533), 0);
  const UniqueFd theirs(::open(path(places_.control).c_str(), O_RDWR));
  const auto pair = create();
  ASSERT_TRUE(pair) << pair.error().message();
  struct stat st {}, old {};
  ASSERT_EQ(::stat(path(places_.control).c_str(), &st), 0);
  ASSERT_EQ(::fstat(theirs.get(), &old), 0);
  EXPECT_EQ(st.st_uid, ::geteuid());
  EXPECT_NE(st.st_ino, old.st_ino);
}

TEST_F(FifoPairTest, PutsADirectoryAside) {
  std::filesystem::create_directories(path(places_.control) + "/full");
  std::filesystem::create_directory(path(places_.answer));
  EXPECT_TRUE(create());
}

TEST_F(FifoPairTest, NobodyElseCanOpenTheLock) {
  const UniqueFd theirs(::open(places_.lock.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
  ASSERT_EQ(::flock(theirs.get(), LOCK_EX), 0);
  const auto pair = create();
  ASSERT_TRUE(pair);
  struct stat st {};
  ASSERT_EQ(::stat(places_.lock.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600U);
}

TEST_F(FifoPairTest, SaysWhoHoldsTheLock) {
  const auto first = create();
  ASSERT_TRUE(first);
  const auto second = create();
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message(), testing::HasSubstr(fmt::format("process {} ", ::getpid())));
}

TEST_F(FifoPairTest, GoesWhenItsOwnerIsKilled) {
  const pid_t owner = ::fork();
  if (owner == 0) {
    auto pair = create();
    ::raise(SIGKILL);
  }
  ::waitpid(owner, nullptr, 0);
  for (int i = 0; i < 30'000 && is_fifo(places_.control); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(is_fifo(places_.control));
}

}  // namespace
}  // namespace cicada::benchmark
