// SPDX-License-Identifier: Apache-2.0
#include "web/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace cicada::web {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

std::string port_of(const Listener& listener) { return listener.where.substr(listener.where.rfind(':') + 1); }

class Paths : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / ("cicada-listener-" + std::to_string(::getpid()));
    std::filesystem::create_directory(directory_);
    path_ = directory_ / "s";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path directory_, path_;
};

TEST(ListenAt, NothingTakesTheFirstFreePort) {
  const auto first = listen_at(""), second = listen_at("");
  ASSERT_TRUE(first && second);
  EXPECT_THAT(first->where, StartsWith("127.0.0.1:47"));
  EXPECT_LT(std::stoi(port_of(*first)), std::stoi(port_of(*second)));
  EXPECT_TRUE(first->local);
}

TEST(ListenAt, TellsWhereItListensAndWhoCanReachIt) {
  const auto loopback = listen_at("0"), named = listen_at("localhost:0"), everybody = listen_at("0.0.0.0:0");
  ASSERT_TRUE(loopback && named && everybody);
  EXPECT_THAT(loopback->where, MatchesRegex("127.0.0.1:[1-9][0-9]*"));
  EXPECT_THAT(named->where, StartsWith("127.0.0.1:"));
  EXPECT_TRUE(loopback->local && named->local);
  EXPECT_FALSE(everybody->local);
  EXPECT_NE(::fcntl(loopback->fd.get(), F_GETFD) & FD_CLOEXEC, 0);
  const auto v6 = listen_at("[::1]:0");
  if (!v6) GTEST_SKIP() << v6.error().message();
  EXPECT_THAT(v6->where, StartsWith("[::1]:"));
  EXPECT_TRUE(v6->local);
}

TEST(ListenAt, OffersTheNextFreePort) {
  const auto first = listen_at("0");
  ASSERT_TRUE(first);
  const auto again = listen_at(port_of(*first));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind(), ErrorKind::kLimit);
  EXPECT_THAT(again.error().message(), MatchesRegex("127.0.0.1:[0-9]+ is taken; [0-9]+ is free: --listen 127.0.0.1:[0-9]+|.* port 0 .*"));
  EXPECT_THAT(again.error().message(), StartsWith(first->where + " is taken"));
}

TEST(ListenAt, RefusesWhatIsNoAddress) {
  for (const auto& [where, part] : std::initializer_list<std::pair<const char*, const char*>>{{"example.org:80", "address of this machine is needed"},
           {"myhost:80", "is a name"}, {"80x", "expected"}, {"127.0.0.1", "expected"}, {"127.0.0.1:", "no port"}, {"127.0.0.1:65536", "no port"}, {"::1:80", "brackets"},
           {"[::1]", "brackets"}, {"[::g]:80", "expected"}, {"[127.0.0.1]:80", "expected"}, {":80", "expected"}, {"-1", "expected"}, {"127.0.0.1:-1", "no port"},
           {"unix:", "needs a path"}, {" 80", "expected"}, {"256.0.0.1:80", "is a name"}}) {
    const auto refused = listen_at(where);
    ASSERT_FALSE(refused) << where;
    EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid) << where;
    EXPECT_THAT(refused.error().message(), HasSubstr(part)) << where;
  }
  const auto foreign = listen_at("192.0.2.1:8080");
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message(), HasSubstr("this machine does not have that address"));
  EXPECT_FALSE(listen_at("unix:/" + std::string(200, 'x')));
}

TEST_F(Paths, AreForTheirUserOnly) {
  const auto listener = listen_at("unix:" + path_.string());
  ASSERT_TRUE(listener) << listener.error().message();
  EXPECT_EQ(listener->where, "unix:" + path_.string());
  EXPECT_TRUE(listener->local);
  struct stat st {};
  ASSERT_EQ(::stat(path_.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600U);
}

TEST_F(Paths, OfADeadProcessAreTakenOver) {
  { ASSERT_TRUE(listen_at("unix:" + path_.string())); }
  ASSERT_TRUE(std::filesystem::exists(path_));
  EXPECT_TRUE(listen_at("unix:" + path_.string()));
}

TEST_F(Paths, InUseAreLeftAlone) {
  const auto first = listen_at("unix:" + path_.string());
  ASSERT_TRUE(first);
  const auto second = listen_at("unix:" + path_.string());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), ErrorKind::kLimit);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(Paths, OfOtherThingsAreLeftAlone) {
  std::ofstream(path_) << "text";
  EXPECT_FALSE(listen_at("unix:" + path_.string()));
  EXPECT_TRUE(std::filesystem::is_regular_file(path_));
  const auto link = directory_ / "link";
  std::filesystem::create_symlink(directory_ / "nowhere", link);
  EXPECT_FALSE(listen_at("unix:" + link.string()));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

}  // namespace
}  // namespace cicada::web
