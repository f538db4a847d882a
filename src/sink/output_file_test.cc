// SPDX-License-Identifier: Apache-2.0
#include "sink/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sink/sink_registry.h"

namespace cicada::sink {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cicada-output-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory = name;
  }
  void TearDown() override { fs::remove_all(directory); }
  static std::string content(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  size_t entries() const { return static_cast<size_t>(std::distance(fs::directory_iterator(directory), {})); }
  fs::path directory;
};

TEST_F(OutputFileTest, AppearsOnlyWhenCommitted) {
  const fs::path path = directory / "a.folded";
  {
    auto file = OutputFile::create(path, {});
    ASSERT_TRUE(file);
    file->write("half");
    ASSERT_TRUE(file->flush());
    EXPECT_FALSE(fs::exists(path));
  }
  EXPECT_EQ(entries(), 0u);
  auto file = OutputFile::create(path, {});
  ASSERT_TRUE(file);
  const std::string big(1 << 20, 'x');
  file->write("head");
  file->write(big);
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(content(path), "head" + big);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFileTest, SaysThatWhatItPublishedIsGone) {
  const fs::path path = directory / "a.folded";
  for (const bool replaced : {false, true}) {
    auto file = OutputFile::create(path, {});
    ASSERT_TRUE(file);
    file->write("some");
    ASSERT_TRUE(file->publish());
    file->write("more");
    if (replaced) ASSERT_TRUE(OutputFile::create(path, {})->commit());
    else fs::remove(path);
    const Result<void> done = file->commit();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind(), ErrorKind::kGone);
  }
}

TEST_F(OutputFileTest, ReplacesASymbolicLinkAndNotItsTarget) {
  std::ofstream(directory / "secret") << "kept";
  fs::create_symlink(directory / "secret", directory / "out.folded");
  auto file = OutputFile::create(directory / "out.folded", {});
  ASSERT_TRUE(file);
  file->write("new");
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(content(directory / "secret"), "kept");
  EXPECT_FALSE(fs::is_symlink(directory / "out.folded"));
  EXPECT_EQ(content(directory / "out.folded"), "new");
}

TEST_F(OutputFileTest, BelongsToWhoAskedForIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "changing owners needs root";
  auto file = OutputFile::create(directory / "x", {.owner = FileOwner{1234, 2345}});
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->commit());
  struct stat st {};
  ASSERT_EQ(::stat((directory / "x").c_str(), &st), 0);
  EXPECT_EQ(st.st_uid, 1234u);
  EXPECT_EQ(st.st_gid, 2345u);
}

TEST_F(OutputFileTest, AFullDiskIsAClearError) {
  auto file = OutputFile::create("/dev/full", {});
  ASSERT_TRUE(file);
  file->write("x");
  const Result<void> result = file->commit();
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("no space left"), std::string::npos) << result.error().message();
}

TEST_F(OutputFileTest, AClosedPipeIsAnErrorAndNotASignal) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  auto file = OutputFile::create(fmt::format("/dev/fd/{}", ends[1]), {});
  ASSERT_TRUE(file);
  ::close(ends[0]);
  ::close(ends[1]);
  file->write("x");
  const Result<void> result = file->commit();
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("closed the pipe"), std::string::npos) << result.error().message();
}

TEST_F(OutputFileTest, RefusesDirectoriesAndMissingOnes) {
  EXPECT_FALSE(OutputFile::create(directory, {}));
  EXPECT_FALSE(OutputFile::create(directory / "none" / "x", {}));
  EXPECT_FALSE(check_writable(directory, {}));
  EXPECT_FALSE(check_writable(directory / "none" / "x", {}));
  EXPECT_TRUE(check_writable(directory / "x", {}));
  EXPECT_TRUE(check_writable("-", {}));
}

TEST_F(OutputFileTest, AFifoNeedsAReaderAndMustBeOurs) {
  const fs::path path = directory / "fifo";
  ASSERT_EQ(::mkfifo(path.c_str(), 0666), 0);
  const auto unread = OutputFile::create(path, {});
  ASSERT_FALSE(unread);
  EXPECT_NE(unread.error().message().find("nobody reads"), std::string::npos);
  const UniqueFd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  auto file = OutputFile::create(path, {});
  ASSERT_TRUE(file) << file.error().message();
  file->write("text");
  ASSERT_TRUE(file->commit());
  char text[8] = {};
  EXPECT_EQ(::read(reader.get(), text, sizeof text), 4);
  if (::geteuid() != 0) GTEST_SKIP() << "changing owners needs root";
  ASSERT_EQ(::chown(path.c_str(), 1234, 1234), 0);
  EXPECT_EQ(OutputFile::create(path, {}).error().kind(), ErrorKind::kPermission);
  EXPECT_EQ(check_writable(path, {}).error().kind(), ErrorKind::kPermission);
  EXPECT_TRUE(OutputFile::create(path, {.owner = FileOwner{1234, 1234}}));
}

TEST_F(OutputFileTest, IsReadableForWhomItShallBe) {
  auto file = OutputFile::create(directory / "x", {.mode = 0600});
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(fs::status(directory / "x").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(OutputFileTest, RemovesWhatAKilledRunAbandoned) {
  const auto open = OutputFile::create(directory / "x", {});
  ASSERT_TRUE(open);
  std::ofstream(directory / ".x.01234567.part") << "half";
  std::ofstream(directory / ".x.0123456.part") << "somebody's";
  std::ofstream(directory / ".y.01234567.part") << "another's";
  for (const auto& entry : fs::directory_iterator(directory)) fs::last_write_time(entry, fs::file_time_type::clock::now() - std::chrono::minutes(5));
  fs::create_symlink("/etc/passwd", directory / ".x.89abcdef.part");
  ASSERT_EQ(entries(), 5U);
  const auto next = OutputFile::create(directory / "x", {});
  ASSERT_TRUE(next);
  EXPECT_FALSE(fs::exists(directory / ".x.01234567.part"));
  EXPECT_EQ(entries(), 5U) << "two are being written, two are not ours, one is a link";
}

TEST_F(OutputFileTest, TheRegistryNamesWhatItKnows) {
  const auto unknown = make_sink(directory / "x.bmp", {});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find(".folded"), std::string::npos);
  EXPECT_FALSE(make_sink(directory / "none" / "x.folded", {}));
  for (const Format& format : known_formats()) EXPECT_TRUE(make_sink(directory / fmt::format("x{}", format.extension), {}));
  EXPECT_EQ(entries(), 0u);
}

}  // namespace
}  // namespace cicada::sink
