// SPDX-License-Identifier: Apache-2.0
#include "cli/record/asked_tasks.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

namespace cicada::cli {
namespace {

namespace fs = std::filesystem;

class ControlGroups : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cicada-groups.XXXXXX";
    root_ = ::mkdtemp(name);
    fs::create_directories(root_ + "/system.slice/docker-0123456789abcdef.scope/inner");
    fs::create_directories(root_ + "/system.slice/docker-0123456777abcdef.scope");
  }
  void TearDown() override { fs::remove_all(root_); }

  uint64_t inode(const std::string& path) const {
    struct stat status {};
    ::stat((root_ + path).c_str(), &status);
    return status.st_ino;
  }
  void expect(std::string_view text, const std::string& path, uint32_t level) const {
    const auto found = find_cgroup(root_, text);
    ASSERT_TRUE(found) << text << ": " << found.error().message();
    EXPECT_EQ(found->id, inode(path)) << text;
    EXPECT_EQ(found->level, level) << text;
  }
  ErrorKind error(std::string_view text) const { return find_cgroup(root_, text).error().kind(); }

  std::string root_;
};

TEST_F(ControlGroups, PathsBeginAtTheHierarchyOrAtTheRootOfAllFiles) {
  const std::string scope = "/system.slice/docker-0123456789abcdef.scope";
  expect(scope, scope, 2);
  expect(scope.substr(1), scope, 2);
  expect(root_ + scope + "/inner/", scope + "/inner", 3);
  expect("/", "", 0);
  expect("/system.slice/../system.slice", "/system.slice", 1);
}

TEST_F(ControlGroups, AContainerIsFoundByPartOfItsId) {
  expect("0123456789ab", "/system.slice/docker-0123456789abcdef.scope", 2);
  EXPECT_EQ(error("01234567"), ErrorKind::kInvalid);  // two
  EXPECT_EQ(error("fedcba98"), ErrorKind::kNotFound);
  EXPECT_EQ(error("01234"), ErrorKind::kNotFound);  // too short to be meant so
}

TEST_F(ControlGroups, NothingOutsideIsAGroup) {
  EXPECT_EQ(error("../../etc"), ErrorKind::kNotFound);
  EXPECT_EQ(error("/etc"), ErrorKind::kNotFound);
  EXPECT_EQ(error("no/such"), ErrorKind::kNotFound);
}

TEST(AskedTasks, NamesAreComparedAsTheKernelCutsThem) {
  const auto asked = find_asked_tasks({.users = {}, .processes = {"java,a-name-of-more-than-15"}, .threads = {"C2*", "*"}, .cgroups = {}});
  ASSERT_TRUE(asked);
  ASSERT_EQ(asked->processes, 2U);
  EXPECT_STREQ(asked->process[0].text, "java");
  EXPECT_EQ(asked->process[0].bytes, 5U);
  EXPECT_STREQ(asked->process[1].text, "a-name-of-more-");
  EXPECT_EQ(asked->process[1].bytes, 16U);
  ASSERT_EQ(asked->threads, 2U);
  EXPECT_EQ(asked->thread[0].bytes, 2U);
  EXPECT_EQ(asked->thread[1].bytes, 0U);
}

TEST(AskedTasks, UsersAreNamesOrNumbers) {
  const auto asked = find_asked_tasks({.users = {"root,1234"}, .processes = {}, .threads = {}, .cgroups = {}});
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->users, 2U);
  EXPECT_EQ(asked->user[0], 0U);
  EXPECT_EQ(asked->user[1], 1234U);
  EXPECT_FALSE(find_asked_tasks({.users = {"no such user"}, .processes = {}, .threads = {}, .cgroups = {}}));
  EXPECT_FALSE(find_asked_tasks({.users = {"4294967296"}, .processes = {}, .threads = {}, .cgroups = {}}));
}

}  // namespace
}  // namespace cicada::cli
