// SPDX-License-Identifier: Apache-2.0
#include "process/procfs/process_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

namespace cicada::process {
namespace {

constexpr Pid kPid = 77;

// A process directory with a root of its own, as /proc has it. The process calls itself 7.
class ProcessFilesTest : public testing::Test {
 protected:
  ProcessFilesTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cicada-files-XXXXXX").string();
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    proc_ = pattern;
    CHECK(::chmod(pattern.c_str(), 0755) == 0);
    std::filesystem::create_directories(proc_ + "/77/root/tmp");
    began(0);
    runs_as(::geteuid(), ::getegid());
  }
  ~ProcessFilesTest() override { std::filesystem::remove_all(proc_); }

  std::string path(const std::string& name) const { return proc_ + "/" + name; }
  std::string map() const { return path("77/root/tmp/map"); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  void runs_as(uint32_t uid, uint32_t gid, const std::string& groups = "") const {
    write("77/status", fmt::format("Name:\tx\nUid:\t{0}\t{0}\t{0}\t{0}\nGid:\t{1}\t{1}\t{1}\t{1}\nGroups:\t{2}\nNSpid:\t77\t7\n", uid, gid, groups));
  }
  void began(int64_t ticks) const {
    write("77/stat", fmt::format("77 (a\n b) c) R 1 1 1 0 -1 4194560 1 0 0 0 1 0 0 0 20 0 1 0 {} 1 1\n", ticks));
  }
  Result<ProcessFiles::File> open(const std::string& name = "/tmp/map") {
    return TRY(ProcessFiles::open(kPid, proc_)).open_file(children_, name, 0);
  }
  ErrorKind error_of(const std::string& name = "/tmp/map") {
    const auto file = open(name);
    EXPECT_FALSE(file);
    return file ? ErrorKind::kIo : file.error().kind();
  }
  void write_map() const { write("77/root/tmp/map", "text"); }

  std::string proc_;
  DisposableChildren children_{std::chrono::minutes(5)};
};

TEST_F(ProcessFilesTest, AreFoundBelowTheProcesssRoot) {
  write_map();
  const auto file = open();
  ASSERT_TRUE(file) << file.error().message();
  std::array<char, 8> text{};
  EXPECT_EQ(::pread(file->fd.get(), text.data(), text.size(), 0), 4);
  EXPECT_EQ(std::string(text.data()), "text");
  EXPECT_EQ(error_of("/tmp/none"), ErrorKind::kNotFound);
  const auto files = ProcessFiles::open(kPid, proc_);
  ASSERT_TRUE(files);
  EXPECT_EQ(files->pid_inside(), 7);
  EXPECT_EQ(files->uid(), ::geteuid());
}

TEST_F(ProcessFilesTest, OfADirectoryThatCannotBeOpenedAreNotThere) { EXPECT_EQ(error_of("relative"), ErrorKind::kNotFound); }

TEST_F(ProcessFilesTest, OfNoProcessAreGone) { EXPECT_EQ(ProcessFiles::open(78, proc_).error().kind(), ErrorKind::kGone); }

TEST_F(ProcessFilesTest, AreRegularWithOneNameAndNoLinks) {
  ASSERT_EQ(::mkfifo(map().c_str(), 0600), 0);
  EXPECT_EQ(error_of(), ErrorKind::kInvalid);  // and does not block
  std::filesystem::remove(map());
  write("77/root/tmp/inside", "text");
  std::filesystem::create_symlink("inside", map());
  EXPECT_EQ(error_of(), ErrorKind::kInvalid);
  std::filesystem::remove(map());
  std::filesystem::create_hard_link(path("77/root/tmp/inside"), map());
  EXPECT_EQ(error_of(), ErrorKind::kInvalid);
  std::filesystem::remove(path("77/root/tmp/inside"));
  EXPECT_TRUE(open());
}

TEST_F(ProcessFilesTest, StayInsideTheRoot) {
  std::filesystem::create_directory(path("outside"));
  write("outside/map", "secret");
  std::filesystem::create_directory_symlink("../../../outside", path("77/root/linked"));
  std::filesystem::create_directory_symlink(path("outside"), path("77/root/absolute"));
  std::filesystem::create_directory_symlink("tmp", path("77/root/var"));
  write_map();
  EXPECT_EQ(error_of("/linked/map"), ErrorKind::kNotFound);
  EXPECT_EQ(error_of("/absolute/map"), ErrorKind::kNotFound);
  EXPECT_EQ(error_of("/../../outside/map"), ErrorKind::kNotFound);
  EXPECT_TRUE(open("/var/map"));
}

TEST_F(ProcessFilesTest, AbandonedByAnEarlierProcessAreNone) {
  write_map();
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  began((now.tv_sec + 60) * ::sysconf(_SC_CLK_TCK));
  EXPECT_EQ(error_of(), ErrorKind::kNotFound);
}

TEST_F(ProcessFilesTest, AreNoneWhereTheBeginningIsNotKnown) {
  write_map();
  write("77/stat", "77 (a\n");
  EXPECT_EQ(error_of(), ErrorKind::kCorrupt);
}

TEST_F(ProcessFilesTest, OfARunningSetUserIdProgramAreNobodys) {
  write_map();
  write("77/status", "Uid:\t1\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t\n");
  EXPECT_EQ(error_of(), ErrorKind::kPermission);
  write("77/status", "Uid:\t0\t0\t0\t0\nGid:\t0\t5\t0\t0\nGroups:\t\n");
  EXPECT_EQ(error_of(), ErrorKind::kPermission);
  write("77/status", "Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n");
  EXPECT_EQ(error_of(), ErrorKind::kGone);
}

TEST_F(ProcessFilesTest, AreReadWithTheRightsOfTheProcess) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  write_map();
  ASSERT_EQ(::chmod(map().c_str(), 0600), 0);
  EXPECT_TRUE(open());
  runs_as(1234, 1234);
  EXPECT_EQ(error_of(), ErrorKind::kPermission) << "root's, and secret";
  ASSERT_EQ(::chown(map().c_str(), 0, 4321), 0);
  ASSERT_EQ(::chmod(map().c_str(), 0640), 0);
  EXPECT_EQ(error_of(), ErrorKind::kPermission) << "a group that the process is not in";
  runs_as(1234, 1234, "99 4321 ");
  EXPECT_TRUE(open()) << "one that it is in";
  ASSERT_EQ(::chown(map().c_str(), 999, 999), 0);
  ASSERT_EQ(::chmod(map().c_str(), 0644), 0);
  EXPECT_EQ(error_of(), ErrorKind::kPermission) << "somebody else's";
  runs_as(0, 0);
  ASSERT_EQ(::chown(map().c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(map().c_str(), 0), 0);
  EXPECT_EQ(error_of(), ErrorKind::kPermission) << "no capability is left";
}

TEST_F(ProcessFilesTest, AreFoundInTheWorkingDirectory) {
  std::filesystem::create_directory(path("77/cwd"));
  write("77/cwd/map", "text");
  write("77/secret", "text");
  EXPECT_TRUE(open("map"));
  EXPECT_EQ(error_of("../secret"), ErrorKind::kNotFound);
}

TEST_F(ProcessFilesTest, OfAUserAreReadWithTheUsersRights) {
  const UserRights own{::geteuid(), ::getegid()};
  const auto open_own = [&](const std::string& name) { return ProcessFiles::open_as_user(children_, own, path(name)); };
  write("text", "text");
  std::filesystem::create_symlink("text", path("link"));
  EXPECT_TRUE(open_own("text"));
  EXPECT_FALSE(open_own("link"));
  auto names = ProcessFiles::list_as_user(children_, own, proc_);
  ASSERT_TRUE(names) << names.error().message();
  std::sort(names->begin(), names->end());
  EXPECT_EQ(*names, (std::vector<std::string>{"77", "link", "text"}));
  EXPECT_FALSE(ProcessFiles::list_as_user(children_, own, path("text")));
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(::chmod(path("text").c_str(), 0600), 0);
  ASSERT_EQ(::chmod(path("77").c_str(), 0700), 0);
  EXPECT_EQ(ProcessFiles::open_as_user(children_, {1234, 1234}, path("text")).error().kind(), ErrorKind::kPermission);
  EXPECT_EQ(ProcessFiles::list_as_user(children_, {1234, 1234}, path("77")).error().kind(), ErrorKind::kPermission);
}

// /proc is no disk and no memory.
TEST_F(ProcessFilesTest, WhereNoDiskAnswersAreCopied) {
  auto files = ProcessFiles::open(::getpid());
  ASSERT_TRUE(files) << files.error().message();
  const auto file = files->open_file(children_, fmt::format("/proc/{}/comm", files->pid_inside()), 0);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_TRUE(file->is_copy);
}

}  // namespace
}  // namespace cicada::process
