// SPDX-License-Identifier: Apache-2.0
#include "live/file_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "profile/synthetic_profile_for_test.h"
#include "sink/sink_registry.h"

namespace cicada::live {
namespace {

struct FileMaker : testing::Test {
  FileMaker() {
    std::filesystem::create_directory(folder);
    std::filesystem::current_path(folder);
    auto maker = start_file_maker(cli::InvokingUser::effective());
    EXPECT_TRUE(maker);
    files = std::make_shared<MadeFiles>(std::move(*maker));
  }
  ~FileMaker() override {
    std::filesystem::current_path(before);
    std::filesystem::remove_all(folder);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) all.push_back(entry.path().filename());
    return all;
  }
  const std::filesystem::path before = std::filesystem::current_path(), folder = std::filesystem::temp_directory_path() / fmt::format("cicada-file-maker-{}", ::getpid());
  std::shared_ptr<MadeFiles> files;
};

TEST_F(FileMaker, GivesAFileItsNameWhenItIsWhole) {
  sink::SinkOptions options;
  options.rights.opener = files;
  const auto sink = sink::make_sink("cicada.folded", options);
  ASSERT_TRUE(sink) << sink.error().message();
  ASSERT_TRUE((*sink)->finish(profile::make_synthetic_profile()));
  EXPECT_THAT(files->name(), testing::MatchesRegex("cicada-[0-9]{8}-[0-9]{6}\\.folded"));
  EXPECT_EQ(names(), std::vector<std::string>{files->name()});
  std::ifstream file(folder / files->name());
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), testing::HasSubstr("function_0;"));
}

TEST_F(FileMaker, ReplacesNothing) {
  std::set<std::string> made;
  for (int i = 0; i < 5; ++i) {
    const auto fd = files->open("cicada.svg");
    ASSERT_TRUE(fd) << fd.error().message();
    ASSERT_EQ(::write(fd->get(), "x", 1), 1);
    ASSERT_TRUE(files->commit("cicada.svg"));
    EXPECT_TRUE(made.insert(files->name()).second);
  }
  EXPECT_EQ(names().size(), 5U);
}

TEST_F(FileMaker, MakesWhatIsNotWholeGoAway) {
  ASSERT_TRUE(files->open("cicada.svg"));
  files.reset();
  for (int i = 0; i < 1000 && !names().empty(); ++i) ::usleep(10'000);
  EXPECT_EQ(names(), std::vector<std::string>());
}

TEST_F(FileMaker, MakesNothingElse) {
  for (const char* path : {"", ".svg", "cicada.exe", "cicada", "/etc/passwd", "../cicada.svg", "cicada/../x.svg", "x.svg"}) EXPECT_FALSE(files->open(path)) << path;
  EXPECT_FALSE(files->commit("cicada.svg"));
  EXPECT_EQ(names(), std::vector<std::string>());
}

}  // namespace
}  // namespace cicada::live
