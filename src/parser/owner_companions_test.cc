// SPDX-License-Identifier: Apache-2.0
// File systems that fall silent: tests/live/survives-mute-companions.sh.
#include "parser/owner_companions.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <stop_token>
#include <thread>

#include "parser/opener_threads_for_test.h"

namespace cicada::parser {
namespace {

using symbolize::CompanionFiles;
using symbolize::FileRoot;

constexpr auto kImage = CompanionFiles::Place::kImage;

class Companions : public testing::Test {
 protected:
  Companions() {
    std::string folder = "/tmp/cicada-companions-XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    EXPECT_EQ(::chmod(folder.c_str(), 0755), 0);
    folder_ = folder;
    file_ = folder + "/file";
    const UniqueFd made(::open(file_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    EXPECT_EQ(::write(made.get(), "text", 4), 4);
  }
  ~Companions() override {
    ::unlink(file_.c_str());
    ::rmdir(folder_.c_str());
  }
  std::string read(const Result<CompanionFiles::File>& file) {
    char text[8] = {};
    return file && ::pread(file->fd.get(), text, sizeof text, 0) >= 0 ? text : "";
  }
  OpenerThreads threads_{&serve_names};
  std::string folder_, file_;
};

TEST_F(Companions, AreOpenedInTheImagesRootOrInOurs) {
  {
    const auto openers = threads_.make();
    const auto ours = companions_of({}, openers, {}, nullptr);
    const auto opened = ours->open(kImage, folder_ + "/../" + folder_.substr(5) + "/file");
    EXPECT_EQ(read(opened), "text");
    EXPECT_EQ(opened->path, file_) << "where links lead";
    EXPECT_EQ(ours->open(CompanionFiles::Place::kHost, file_).error().kind(), ErrorKind::kNotFound) << "the same place";
    EXPECT_EQ(ours->open(CompanionFiles::Place::kServer, "00").error().kind(), ErrorKind::kNotFound) << "there is none";
    const FileRoot root(std::make_shared<const UniqueFd>(::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
    const auto inside = companions_of({}, openers, root, nullptr);
    EXPECT_EQ(read(inside->open(kImage, "/file")), "text");
    EXPECT_EQ(inside->open(kImage, file_).error().kind(), ErrorKind::kNotFound);
    EXPECT_EQ(read(inside->open(CompanionFiles::Place::kHost, file_)), "text");
    for (const char* other : {"/dev/null", "/tmp", "/no/such/file"}) EXPECT_FALSE(ours->open(kImage, other)) << other;
  }
  EXPECT_EQ(threads_.started, 1U) << "one has done it all";
}

// What a parser that was taken over asks for is opened as the owner would.
TEST_F(Companions, AreWhatTheOwnerMayReadAndMayName) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const auto openers = threads_.make();
  const auto opens = [&](const std::string& name, Ownership whose) {
    return bool(companions_of(whose, openers, {}, nullptr)->open(kImage, name));
  };
  EXPECT_FALSE(opens("/etc/shadow", {200000, 0}));
  EXPECT_TRUE(opens("/etc/shadow", {0, 0}));
  EXPECT_TRUE(opens(file_, {200000, 0}));
  EXPECT_TRUE(opens(file_, {0, 0})) << "root's for root's image";
  ASSERT_EQ(::chown(file_.c_str(), 200000, 200000), 0);
  EXPECT_FALSE(opens(file_, {0, 0})) << "a stranger's for root's image";
  EXPECT_TRUE(opens(file_, {200000, 0}));
  EXPECT_FALSE(opens(file_, {200002, 0})) << "a stranger's for another's image, though everybody may read it";
  EXPECT_TRUE(opens(file_, {200002, 200000})) << "of the user who records";
  EXPECT_TRUE(opens(file_, {0, 200000}));
}

TEST(FileOpeners, LeaveBehindWhoIsSilent) {
  OpenerThreads silent([](sandbox::Channel channel) {
    while (channel.receive(true)) continue;
  });
  {
    const auto openers = silent.make(std::chrono::milliseconds(5));
    const auto ask = [&](uint32_t user) {
      const auto opened = openers->open({}, "/etc/passwd", user);
      ASSERT_FALSE(opened);
      EXPECT_EQ(opened.error().kind(), ErrorKind::kIo);
    };
    for (uint32_t user = 1; user <= 10; ++user) {
      for (size_t i = 0; i < LeftBehind::kMaxOfOne + 5; ++i) ask(user);
      EXPECT_EQ(silent.started, std::min(user * LeftBehind::kMaxOfOne, LeftBehind::kMaxOfUsers));
    }
    ask(0);
    EXPECT_EQ(silent.started, LeftBehind::kMaxOfUsers + 1) << "root's are apart";
  }
}

// Of one that says nothing, and of one that says again and again that it is at work.
TEST(FileOpeners, NobodyWaitsOnceAskedToStop) {
  for (const bool is_silent : {true, false}) {
    OpenerThreads slow(is_silent ? +[](sandbox::Channel channel) {
      while (channel.receive(true)) continue;
    } : +[](sandbox::Channel channel) {
      sandbox::Message progress;
      progress.kind = 2;
      for (bool asked{channel.receive(true)}; asked && channel.send(progress);) ::usleep(1000);
    });
    const auto openers = slow.make();
    std::stop_source stop;
    const std::jthread later([&] {
      while (slow.started == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      stop.request_stop();
    });
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(openers->open({}, "/etc/passwd", 0, stop.get_token()));
    EXPECT_TRUE(stop.stop_requested());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, FileOpeners::kMaxOpen);
  }
}

}  // namespace
}  // namespace cicada::parser
