// SPDX-License-Identifier: Apache-2.0
#include "attach/viewer_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "profile/compaction.h"
#include "profile/synthetic_profile_for_test.h"
#include "sink/recording/recording_decoder.h"
#include "sink/recording/recording_reader.h"

namespace cicada::attach {
namespace {

using namespace std::chrono_literals;
using profile::ProfileSnapshot;
using Clock = std::chrono::steady_clock;

// A recording that grows when it is told to.
class Recording {
 public:
  std::shared_ptr<const ProfileSnapshot> snapshot() const {
    const std::lock_guard lock(mutex_);
    ++looks_;
    return always_new_ ? std::make_shared<const ProfileSnapshot>(*latest_) : latest_;
  }
  void is_new_when_shown() { always_new_ = false; }
  void show(const ProfileSnapshot& profile) {
    auto made = std::make_shared<const ProfileSnapshot>(profile);
    const std::lock_guard lock(mutex_);
    latest_ = std::move(made);
  }
  size_t looks() const {
    const std::lock_guard lock(mutex_);
    return looks_;
  }

 private:
  mutable std::mutex mutex_;
  mutable size_t looks_ = 0;
  std::atomic<bool> always_new_ = true;
  std::shared_ptr<const ProfileSnapshot> latest_ = std::make_shared<const ProfileSnapshot>();
};

class ViewerServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto socket = ViewerSocket::open(::geteuid(), ::getegid());
    ASSERT_TRUE(socket) << socket.error().message();
    path_ = (*socket)->path();
    auto server = ViewerServer::start(std::move(*socket), ::geteuid(), [this] { return recording_.snapshot(); }, {.take = [this](std::string_view line) { return line != "format" && (asked_.append(line), true); },
                                        .moment = [this] { return sink::Moment{.paused = asked_.ends_with("pause")}; }});
    ASSERT_TRUE(server) << server.error().message();
    server_ = std::move(*server);
  }
  UniqueFd viewer(std::string_view says = {}) const {
    auto connected = connect_to_recorder(path_, ::geteuid());
    EXPECT_TRUE(connected) << connected.error().message();
    if (!connected) return {};
    const timeval timeout{20, 0};
    ::setsockopt(connected->get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    if (!says.empty()) {
      EXPECT_EQ(::send(connected->get(), says.data(), says.size(), MSG_NOSIGNAL), static_cast<ssize_t>(says.size()));
    }
    return std::move(*connected);
  }
  static std::string line(std::string_view what) { return std::string(what) + '\n'; }
  // What comes, until `enough`, or to its end.
  template <typename Enough>
  static std::string read_until(const UniqueFd& fd, Enough enough) {
    std::string all;
    char block[4096];
    for (ssize_t got; !enough(all) && (got = ::recv(fd.get(), block, sizeof block, 0)) > 0;) all.append(block, static_cast<size_t>(got));
    return all;
  }
  static std::string read_all(const UniqueFd& fd) {
    return read_until(fd, [](const std::string&) { return false; });
  }
  static Result<sink::Recording> parsed(const std::string& bytes) {
    return sink::read_recording({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "viewer");
  }
  static size_t samples_in(const std::string& bytes) {
    const auto recording = parsed(bytes);
    return recording ? recording->profile.sample_count() : 0;
  }

  Recording recording_;
  std::string path_, asked_;  // asked_: by the server's thread, read once it has ended or answered
  std::unique_ptr<ViewerServer> server_;
};

TEST_F(ViewerServerTest, IsFoundByItsUserOnly) {
  struct stat st {};
  ASSERT_EQ(::stat(path_.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600U);
  ASSERT_EQ(::stat(path_.substr(0, path_.rfind('/')).c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700U);
  EXPECT_TRUE(connect_to_recorder(std::to_string(::getpid()), ::geteuid()));
  const auto none = connect_to_recorder("2000000000", ::geteuid());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind(), ErrorKind::kGone);
  EXPECT_NE(none.error().message().find(std::to_string(::getpid())), std::string::npos) << none.error().message();
  server_.reset();
  EXPECT_NE(::access(path_.c_str(), F_OK), 0);
}

TEST_F(ViewerServerTest, NobodyLooksNothingIsAsked) {
  EXPECT_EQ(recording_.looks(), 0U);
  read_all(viewer(line(kOnce)));
  const size_t looks = recording_.looks();
  EXPECT_GT(looks, 0U);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(recording_.looks(), looks);
}

TEST_F(ViewerServerTest, ShowsWhatIsNewerThanTheQuestion) {
  recording_.is_new_when_shown();
  recording_.show(profile::make_synthetic_profile({.samples = 10}));
  const UniqueFd looks = viewer(line(kOnce));
  while (recording_.looks() == 0) std::this_thread::yield();
  const profile::Profile now = profile::make_synthetic_profile({.samples = 1000});
  recording_.show(now);
  EXPECT_EQ(samples_in(read_all(looks)), 1000U);
}

TEST_F(ViewerServerTest, OnceIsAllThereIs) {
  const profile::Profile profile = profile::make_synthetic_profile({.samples = 200'000, .hostile_names = true});  // several differences
  recording_.show(profile);
  const auto got = parsed(read_all(viewer(line(kOnce))));
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_TRUE(got->complete);
  EXPECT_GT(got->chunks, 2U);
  EXPECT_TRUE(got->profile.validate());
  EXPECT_EQ(got->profile.sample_count(), profile.sample_count());
  EXPECT_EQ(got->profile.stacks().size(), profile.stacks().size());
}

TEST_F(ViewerServerTest, FollowsUntilTheEnd) {
  profile::Profile profile = profile::make_synthetic_profile({.samples = 1000});
  recording_.show(profile);
  const UniqueFd looks = viewer(line(kFollow));
  std::string bytes = read_until(looks, [](const std::string& all) { return samples_in(all) == 1000; });
  const size_t before = bytes.size();
  for (size_t i = 0; i < 500; ++i) profile.append_sample(profile.sample(i));
  recording_.show(profile);
  bytes += read_until(looks, [&](const std::string& more) { return samples_in(bytes + more) == 1500; });
  server_->finish();
  bytes += read_all(looks);
  const auto got = parsed(bytes);
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_TRUE(got->complete);
  EXPECT_EQ(got->profile.sample_count(), 1500U);
  EXPECT_LT(bytes.size() - before, before / 2) << "not only what is new";
}

TEST_F(ViewerServerTest, WhoFollowsIsShownTheFirstSamplesAtOnce) {
  const UniqueFd looks = viewer(line(kFollow));
  for (const size_t before = recording_.looks(); recording_.looks() < before + 5;) std::this_thread::sleep_for(1ms);
  recording_.show(profile::make_synthetic_profile({.samples = 10}));
  sink::RecordingDecoder decoder("x");
  read_until(looks, [&, pushed = size_t{0}](const std::string& all) mutable {
    EXPECT_TRUE(decoder.push({reinterpret_cast<const uint8_t*>(all.data()) + pushed, all.size() - pushed}));
    pushed = all.size();
    return decoder.moments() != 0;
  });
  EXPECT_EQ(decoder.moments(), 1U);
  EXPECT_EQ(decoder.profile().sample_count(), 10U);
}

TEST_F(ViewerServerTest, AfterACompactionItBeginsAnew) {
  const profile::Profile first = profile::make_synthetic_profile({.samples = 3000, .seed = 1});
  recording_.show(first);
  const UniqueFd looks = viewer(line(kFollow));
  std::string bytes = read_until(looks, [](const std::string& all) { return samples_in(all) == 3000; });
  const profile::Profile other = profile::make_synthetic_profile({.samples = 700, .seed = 2});
  ASSERT_NE(other.sizes().lineage, first.sizes().lineage);
  recording_.show(other);
  server_->finish();
  bytes += read_all(looks);
  const auto got = parsed(bytes);
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_TRUE(got->complete);
  EXPECT_TRUE(got->profile.validate());
  EXPECT_EQ(got->profile.sample_count(), 700U);
}

TEST_F(ViewerServerTest, WhoDoesNotReadKeepsNobodyElse) {
  recording_.show(profile::make_synthetic_profile({.samples = 300'000}));
  const UniqueFd stuck = viewer(line(kFollow));
  for (int i = 0; i < 3; ++i) {
    const auto got = parsed(read_all(viewer(line(kOnce))));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->profile.sample_count(), 300'000U);
  }
  const auto begin = Clock::now();
  server_->finish();
  EXPECT_LT(Clock::now() - begin, 10s);
  const auto got = parsed(read_all(stuck));  // what fitted
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->complete);
}

TEST_F(ViewerServerTest, TenAtOnceAndASeventeenthIsTold) {
  recording_.show(profile::make_synthetic_profile({.samples = 1000}));
  std::vector<UniqueFd> viewers;
  for (size_t i = 0; i < ViewerServer::kMaxViewers; ++i) {
    viewers.push_back(viewer(line(kFollow)));
    read_until(viewers.back(), [](const std::string& all) { return samples_in(all) == 1000; });
  }
  EXPECT_NE(read_all(viewer()).find("look at this recording already"), std::string::npos);
  viewers.clear();
  EXPECT_EQ(samples_in(read_all(viewer(line(kOnce)))), 1000U);
}

TEST_F(ViewerServerTest, AnswersNonsense) {
  recording_.show(profile::make_synthetic_profile({.samples = 1000}));
  EXPECT_NE(read_all(viewer("GET / HTTP/1.1\r\n")).find("understands"), std::string::npos);
  EXPECT_NE(read_all(viewer("cicada-attach 9 once\n")).find("understands"), std::string::npos);
  EXPECT_EQ(read_all(viewer(std::string(1000, 'x'))), "");  // no line
  EXPECT_EQ(read_all(viewer()), "");                        // says nothing
  const UniqueFd halves = viewer("cicada-attach 1");
  ASSERT_EQ(::send(halves.get(), " once\n", 6, MSG_NOSIGNAL), 6);
  ASSERT_EQ(::shutdown(halves.get(), SHUT_WR), 0);
  EXPECT_EQ(samples_in(read_all(halves)), 1000U);
}

TEST_F(ViewerServerTest, WhoFollowsMayPauseAndStop) {
  recording_.show(profile::make_synthetic_profile({.samples = 1000}));
  const auto read = [](const std::string& bytes) {
    sink::RecordingDecoder decoder("x");
    EXPECT_TRUE(decoder.push({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}));
    return std::pair(decoder.moments(), decoder.moment().paused);
  };
  const UniqueFd looks = viewer(line(kFollow)), other = viewer(line(kFollow)), once = viewer(line(kOnce));
  std::string bytes = read_until(looks, [&](const std::string& all) { return read(all).first != 0; });
  EXPECT_FALSE(read(bytes).second);
  ASSERT_EQ(::send(looks.get(), "pause\n", 6, MSG_NOSIGNAL), 6);
  read_until(looks, [&](const std::string& more) { return read(bytes + more).second; });
  read_until(other, [&](const std::string& all) { return read(all).second; });  // all see it
  ASSERT_EQ(::send(looks.get(), "resume\nstop\n", 12, MSG_NOSIGNAL), 12);
  ASSERT_EQ(::send(other.get(), "format\n", 7, MSG_NOSIGNAL), 7);
  read_all(other);  // who says something else is let go
  server_->finish();
  EXPECT_EQ(asked_, "pauseresumestop");
}

TEST(ViewerServer, ShowsItToItsOwnViewer) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd theirs(ends[1]);
  const auto now = std::make_shared<const ProfileSnapshot>(profile::make_synthetic_profile({.samples = 1000}));
  const auto server = ViewerServer::start(nullptr, ::geteuid(), [&] { return now; }, {}, UniqueFd(ends[0]));
  ASSERT_TRUE(server);
  (*server)->finish();
  std::string all;
  char block[4096];
  for (ssize_t got; (got = ::recv(theirs.get(), block, sizeof block, 0)) > 0;) all.append(block, static_cast<size_t>(got));
  const auto read = sink::read_recording({reinterpret_cast<const uint8_t*>(all.data()), all.size()}, "x");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->profile.sample_count(), 1000U);
  EXPECT_TRUE(read->complete);
}

TEST(ViewerSocket, RefusesAFolderThatOthersCanEnter) {
  char folder[] = "/tmp/cicada-viewers-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  EXPECT_TRUE(ViewerSocket::open_in(folder, ::geteuid(), ::getegid()));
  ASSERT_EQ(::chmod(folder, 0755), 0);
  const auto refused = ViewerSocket::open_in(folder, ::geteuid(), ::getegid());
  ::rmdir(folder);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kPermission);
}

TEST(ViewerSocket, RemovesWhatAKilledRecorderLeft) {
  char folder[] = "/tmp/cicada-viewers-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = fmt::format("{}/{}.sock", folder, ::getpid()), moved = std::string(folder) + "/2000000000.sock", other = std::string(folder) + "/7.sock";
  const auto first = ViewerSocket::open_in(folder, ::geteuid(), ::getegid());
  ASSERT_TRUE(first);
  ASSERT_EQ(::rename(path.c_str(), moved.c_str()), 0);  // somebody listens there
  {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    other.copy(address.sun_path, sizeof address.sun_path - 1);
    const UniqueFd killed(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(::bind(killed.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  EXPECT_TRUE(ViewerSocket::open_in(folder, ::geteuid(), ::getegid()));
  EXPECT_NE(::access(other.c_str(), F_OK), 0);
  EXPECT_EQ(::access(moved.c_str(), F_OK), 0);
  ::unlink(moved.c_str());
  ::rmdir(folder);
}

}  // namespace
}  // namespace cicada::attach
