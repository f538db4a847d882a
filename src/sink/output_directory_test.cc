// SPDX-License-Identifier: Apache-2.0
#include "sink/output_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cicada::sink {
namespace {

namespace fs = std::filesystem;

class OutputDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cicada-output-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    room = name;
  }
  void TearDown() override { fs::remove_all(room); }
  std::shared_ptr<const OutputDirectory> open(const std::string& name) {
    auto directory = OutputDirectory::open(room / name, rights);
    if (directory) return *directory;
    error = directory.error().message();
    return nullptr;
  }
  Result<void> write(const std::shared_ptr<const OutputDirectory>& below, const std::string& path) const {
    FileRights inside = rights;
    inside.below = below;
    OutputFile file = TRY(OutputFile::create(path, inside));
    file.write("text");
    return file.commit();
  }
  fs::path room;
  FileRights rights;
  std::string error;
};

TEST_F(OutputDirectoryTest, FilesStayInTheDirectoryThatWasOpened) {
  const auto directory = open("results");
  ASSERT_NE(directory, nullptr) << error;
  ASSERT_TRUE(directory->make_inside("pages", rights));
  fs::rename(room / "results", room / "away");
  fs::create_directory(room / "elsewhere");
  fs::create_symlink(room / "elsewhere", room / "results");
  ASSERT_TRUE(write(directory, "bench.json"));
  ASSERT_TRUE(write(directory, "pages/1.html"));
  EXPECT_TRUE(fs::exists(room / "away/bench.json"));
  EXPECT_TRUE(fs::exists(room / "away/pages/1.html"));
  EXPECT_TRUE(fs::is_empty(room / "elsewhere"));
  EXPECT_TRUE(directory->contains("bench.json"));
}

TEST_F(OutputDirectoryTest, NoLinkBelowIsFollowedWheneverItWasMade) {
  const auto directory = open("results");
  ASSERT_NE(directory, nullptr) << error;
  ASSERT_TRUE(directory->make_inside("pages", rights));
  fs::create_directory(room / "elsewhere");
  fs::remove(room / "results/pages");
  fs::create_symlink(room / "elsewhere", room / "results/pages");
  EXPECT_FALSE(write(directory, "pages/1.html"));
  EXPECT_FALSE(write(directory, "../elsewhere/1.html"));
  const Result<void> made = directory->make_inside("pages", rights);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message().find("is a link"), std::string::npos) << made.error().message();
  EXPECT_TRUE(fs::is_empty(room / "elsewhere"));
}

TEST_F(OutputDirectoryTest, ItsOwnNameMayBeALink) {
  fs::create_directory(room / "there");
  fs::create_symlink("there", room / "results");
  const auto directory = open("results/");
  ASSERT_NE(directory, nullptr) << error;
  ASSERT_TRUE(write(directory, "a"));
  EXPECT_TRUE(fs::exists(room / "there/a"));
}

TEST_F(OutputDirectoryTest, RefusesWhatOthersMayReplace) {
  fs::create_directory(room / "open");
  ASSERT_EQ(::chmod((room / "open").c_str(), 0777), 0);
  EXPECT_EQ(open("open"), nullptr);
  EXPECT_NE(error.find("everybody may replace"), std::string::npos) << error;
  std::ofstream(room / "file");
  EXPECT_EQ(open("file"), nullptr);
  EXPECT_EQ(open("missing/results"), nullptr);
}

TEST_F(OutputDirectoryTest, IsTheOwnersAndNoStrangers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  constexpr uid_t kUser = 12345, kStranger = 23456;
  rights.owner = FileOwner{kUser, kUser};
  const auto directory = open("results");
  ASSERT_NE(directory, nullptr) << error;
  struct stat st {};
  ASSERT_EQ(::stat((room / "results").c_str(), &st), 0);
  EXPECT_EQ(st.st_uid, kUser);
  fs::create_directory(room / "theirs");
  ASSERT_EQ(::chown((room / "theirs").c_str(), kStranger, kStranger), 0);
  EXPECT_EQ(open("theirs"), nullptr);
  EXPECT_NE(error.find("belongs to user 23456"), std::string::npos) << error;
  fs::create_symlink("results", room / "link");
  ASSERT_EQ(::lchown((room / "link").c_str(), kStranger, kStranger), 0);
  EXPECT_EQ(open("link"), nullptr) << "a stranger's link";
}

TEST_F(OutputDirectoryTest, WhatWasThereIsNotGivenAway) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  rights.owner = FileOwner{12345, 12345};
  fs::create_directory(room / "roots");
  ASSERT_NE(open("roots"), nullptr) << error;
  struct stat st {};
  ASSERT_EQ(::stat((room / "roots").c_str(), &st), 0);
  EXPECT_EQ(st.st_uid, 0U);
}

TEST_F(OutputDirectoryTest, RemovesWhatIsEmpty) {
  const auto directory = open("results");
  ASSERT_NE(directory, nullptr) << error;
  for (const char* name : {"empty", "full"}) ASSERT_TRUE(directory->make_inside(name, rights));
  ASSERT_TRUE(write(directory, "full/a"));
  directory->remove_inside("empty");
  directory->remove_inside("full");
  EXPECT_FALSE(fs::exists(room / "results/empty"));
  EXPECT_TRUE(fs::exists(room / "results/full"));
}

}  // namespace
}  // namespace cicada::sink
