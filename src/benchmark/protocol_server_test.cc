// SPDX-License-Identifier: Apache-2.0
#include "benchmark/protocol_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "base/monotonic_clock.h"

namespace cicada::benchmark {
namespace {

std::string u32(uint32_t v) { return {reinterpret_cast<const char*>(&v), 4}; }
std::string u64(uint64_t v) { return {reinterpret_cast<const char*>(&v), 8}; }

class Client {
 public:
  explicit Client(const FifoPlaces& places)
      : control_(::open((places.directory + "/" + places.control).c_str(), O_RDWR)), answer_(::open((places.directory + "/" + places.answer).c_str(), O_RDWR | O_NONBLOCK)) {}
  void send(std::string_view bytes) const { ASSERT_EQ(::write(control_.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size())); }
  std::string ask(const std::string& body) const {
    send(u32(static_cast<uint32_t>(body.size())));
    send(body);
    return answer();
  }
  std::string answer() const {
    pollfd polled{answer_.get(), POLLIN, 0};
    if (::poll(&polled, 1, 300'000) <= 0) return "nothing";
    uint32_t length = 0;
    if (::read(answer_.get(), &length, 4) != 4 || length > 100) return "no length";
    std::string body(length, '\0');
    return ::read(answer_.get(), body.data(), length) == static_cast<ssize_t>(length) ? u32(length) + body : "no body";
  }

 private:
  UniqueFd control_, answer_;
};

class ProtocolServerTest : public testing::Test {
 protected:
  static constexpr Pid kStranger = 99;
  void SetUp() override {
    char name[] = "/tmp/cicada-server-XXXXXX";
    places_.directory = ::mkdtemp(name);
    places_.lock = places_.directory + "/lock";
    auto fifos = FifoPair::create(::geteuid(), ::getegid(), places_);
    ASSERT_TRUE(fifos);
    fifos_.emplace(std::move(*fifos));
    ServerHost host;
    host.gate = [this](bool open) { open_ = open; };
    host.writer = [this] { return ++written_; };
    host.identify = [](Pid pid) { return pid == kStranger ? ProcessId{} : ProcessId{pid + 1000, 0}; };
    auto server = ProtocolServer::start(*fifos_, std::move(host));
    ASSERT_TRUE(server);
    server_ = std::move(*server);
  }
  void TearDown() override {
    server_.reset();
    fifos_.reset();
    std::filesystem::remove_all(places_.directory);
  }
  FifoPlaces places_;
  std::optional<FifoPair> fifos_;
  std::unique_ptr<ProtocolServer> server_;
  std::atomic<bool> open_ = true;
  std::atomic<uint64_t> written_ = 0;
};

TEST_F(ProtocolServerTest, FlipsTheGateBeforeItAnswers) {
  const Client client(places_);
  EXPECT_EQ(client.ask(u32(8) + u64(2)), kAckBytes);
  EXPECT_FALSE(open_);
  EXPECT_EQ(client.ask(u32(9)), kWalltimeBytes);
  EXPECT_EQ(client.ask(u32(1)), kAckBytes);
  EXPECT_TRUE(open_);
  EXPECT_EQ(client.ask(u32(1)), kAckBytes);
  EXPECT_EQ(client.ask(u32(2)), kAckBytes);
  EXPECT_TRUE(open_);
  EXPECT_EQ(client.ask(u32(2)), kAckBytes);
  EXPECT_FALSE(open_);
  EXPECT_EQ(client.ask(u32(2)), kAckBytes);  // without a Start
  EXPECT_EQ(client.ask(u32(0) + u32(7) + u64(3) + "a::b"), kErrBytes);  // longer than its string
}

TEST_F(ProtocolServerTest, WritesDownWhatClientsSay) {
  {
    const Client client(places_);
    EXPECT_EQ(client.ask(u32(5) + u64(4) + "name" + u64(3) + "1.2"), kAckBytes);
    EXPECT_EQ(client.ask(u32(1)), kAckBytes);
    EXPECT_EQ(client.ask(u32(7) + u32(7) + u32(2) + u64(55)), kAckBytes);
    EXPECT_EQ(client.ask(u32(2)), kAckBytes);
    EXPECT_EQ(client.ask(u32(0) + u32(7) + u64(4) + "a::b"), kAckBytes);
  }
  server_->stop();
  EXPECT_EQ(server_->integration(), "name 1.2");
  ASSERT_GE(server_->announcements().size(), 4U);
  EXPECT_EQ(server_->announcements()[1].time_ns, 55U);
  EXPECT_EQ(server_->announcements()[3].uri, "a::b");
  EXPECT_EQ(server_->announcements()[3].process.pid, 1007);
  EXPECT_EQ(server_->counts().errors, 0U);
}

// Of two messages that were read at once the last one who wrote is the second one's.
TEST_F(ProtocolServerTest, SaysWhoseAMessageIsWhereItKnows) {
  {
    const Client client(places_);
    EXPECT_EQ(client.ask(u32(1)), kAckBytes);
    client.send(u32(4) + u32(2) + u32(4) + u32(1));
    EXPECT_EQ(client.answer() + client.answer(), std::string(kAckBytes) + std::string(kAckBytes));
    EXPECT_EQ(client.ask(u32(2)), kAckBytes);
  }
  server_->stop();
  std::vector<uint64_t> writers;
  for (const Announcement& said : server_->announcements())
    if (said.kind != Announcement::Kind::kNobody) writers.push_back(said.writer);
  EXPECT_THAT(writers, testing::ElementsAre(1, 0, 3, 4));
}

// The client of another runner's command, which is of the same user.
TEST_F(ProtocolServerTest, RefusesWhoIsNoneOfTheCommands) {
  {
    const Client client(places_);
    EXPECT_EQ(client.ask(u32(1)), kAckBytes);
    EXPECT_EQ(client.ask(u32(2)), kAckBytes);
    EXPECT_EQ(client.ask(u32(0) + u32(static_cast<uint32_t>(kStranger)) + u64(4) + "a::b"), kErrBytes);
  }
  server_->stop();
  for (const Announcement& said : server_->announcements()) EXPECT_NE(said.kind, Announcement::Kind::kCurrent);
  ASSERT_EQ(server_->warnings().size(), 1U);
  EXPECT_THAT(server_->warnings()[0], testing::HasSubstr("none of the command's"));
}

TEST_F(ProtocolServerTest, RefusesWhatItDoesNotSpeak) {
  const Client client(places_);
  EXPECT_EQ(client.ask(u32(8) + u64(3)), kErrBytes);
  EXPECT_EQ(client.ask(u32(8) + u64(0)), kErrBytes);
  EXPECT_EQ(client.ask(u32(3)), kErrBytes);
  EXPECT_EQ(client.ask(u32(11)), kErrBytes);
  EXPECT_EQ(client.ask(u32(1)), kAckBytes);
  server_->stop();
  EXPECT_EQ(server_->counts().errors, 4U);
}

// A second refusal would be taken for the answer to the client's next message.
TEST_F(ProtocolServerTest, RefusesAnUnknownKindOnceHoweverItsBytesCome) {
  const Client client(places_);
  for (const std::string& body : {u32(10) + u32(0), u32(11), u32(11) + "x", u32(11) + u32(3), u32(99) + "ten", u32(77) + u64(1) + u32(1)}) {
    for (const useconds_t between : {0U, 2000U, 20'000U}) {
      client.send(u32(static_cast<uint32_t>(body.size())));
      ::usleep(between);  // the server reads
      client.send(body);
      EXPECT_EQ(client.answer(), kErrBytes) << body.size() << " bytes, " << between << " us apart";
      EXPECT_EQ(client.ask(u32(9)), kWalltimeBytes) << body.size() << " bytes, " << between << " us apart";
    }
  }
}

TEST_F(ProtocolServerTest, AnswersBothOfTwoClientsWhoseWritesMix) {
  const Client a(places_), b(places_);
  a.send(u32(4));
  b.send(u32(4));
  a.send(u32(1));
  b.send(u32(2));
  EXPECT_EQ(a.answer(), kAckBytes);
  EXPECT_EQ(b.answer(), kAckBytes);
}

TEST_F(ProtocolServerTest, RefusesMoreWindowsThanAnybodyOpens) {
  const Client client(places_);
  for (int i = 0; i < 256; ++i) ASSERT_EQ(client.ask(u32(1)), kAckBytes) << i;
  EXPECT_EQ(client.ask(u32(1)), kErrBytes);
  EXPECT_EQ(client.ask(u32(2)), kAckBytes);
  EXPECT_EQ(client.ask(u32(1)), kAckBytes);
}

TEST_F(ProtocolServerTest, SkipsAbsurdLengthsAndGoesOn) {
  const Client client(places_);
  for (const uint32_t length : {0xffffffffU, 0x7fffffffU, (1U << 20) + 1}) {
    client.send(u32(length));
    EXPECT_EQ(client.answer(), kErrBytes) << length;
    EXPECT_EQ(client.ask(u32(9)), kWalltimeBytes) << length;
  }
}

TEST_F(ProtocolServerTest, AnswersTheNextClientOfOneThatDiedWithinAMessage) {
  {
    const Client client(places_);
    EXPECT_EQ(client.ask(u32(1)), kAckBytes);
    client.send(u32(500));
    client.send("half of a body");
  }
  const Client next(places_);
  EXPECT_EQ(next.ask(u32(8) + u64(2)), kAckBytes);
  EXPECT_EQ(next.ask(u32(9)), kWalltimeBytes);
}

TEST_F(ProtocolServerTest, AnswersAPingOfAnOldClient) {
  const Client client(places_);
  EXPECT_EQ(client.ask(u32(4)), kAckBytes);
}

// A dead client's answer must not be taken for the next one's.
TEST_F(ProtocolServerTest, ServesAThousandClientsOfWhichSomeDie) {
  const auto unread = [&] {
    int bytes = 0;
    return ::ioctl(fifos_->answer(), FIONREAD, &bytes) == 0 ? bytes : -1;
  };
  for (int i = 0; i < 1000; ++i) {
    for (int waited = 0; unread() != 0 && waited < 300'000; ++waited) ::usleep(1000);
    const Client client(places_);
    if (i % 5 == 0) {
      client.send(u32(4));  // and dies
    } else if (i % 5 == 1) {
      client.send(u32(4) + u32(9));  // and does not wait for the answer
      pollfd answered{fifos_->answer(), POLLIN, 0};
      ASSERT_EQ(::poll(&answered, 1, 300'000), 1);
    } else {
      ASSERT_EQ(client.ask(u32(8) + u64(2)), kAckBytes) << i;
      ASSERT_EQ(client.ask(u32(9)), kWalltimeBytes) << i;
    }
  }
  server_->stop();
  EXPECT_GE(server_->counts().unread, 200U);
}

}  // namespace
}  // namespace cicada::benchmark
