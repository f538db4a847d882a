// SPDX-License-Identifier: Apache-2.0
// A client of a few lines talks to a server with a content made up here. It gives up after kPatience, which no test measures.
#include "web/http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "sandbox/read_only.h"

namespace cicada::web {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(60);
constexpr size_t kBig = 24 << 20;  // more than the kernel holds for a client that does not read

bool comes_true(const std::function<bool()>& what) {
  const auto end = Clock::now() + kPatience;
  while (!what()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

struct Reply {
  int status = 0;  // 0: closed without an answer
  std::string head, body;
};

class Client {
 public:
  explicit Client(const std::string& where) {
    const bool is_unix = where.starts_with("unix:");
    sockaddr_un path{};
    path.sun_family = AF_UNIX;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (is_unix) std::memcpy(path.sun_path, where.data() + 5, where.size() - 5);
    else address.sin_port = htons(static_cast<uint16_t>(std::stoi(where.substr(where.rfind(':') + 1))));
    fd_ = UniqueFd(::socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval patience{kPatience.count(), 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    connected_ = is_unix ? ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&path), sizeof path) == 0 : ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  bool connected() const { return connected_; }
  bool send(std::string_view text) const { return ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()); }
  void end_sending() const { ::shutdown(fd_.get(), SHUT_WR); }
  // False: closed.
  bool receive() {
    char block[65536];
    const ssize_t got = ::recv(fd_.get(), block, sizeof block, 0);
    if (got > 0) bytes_.append(block, static_cast<size_t>(got));
    return got > 0;
  }
  // What came up to and with `text`; or all of it, and then the connection was closed.
  std::string receive_until(std::string_view text) {
    while (bytes_.find(text) == std::string::npos)
      if (!receive()) return std::exchange(bytes_, "");
    std::string out = bytes_.substr(0, bytes_.find(text) + text.size());
    bytes_.erase(0, out.size());
    return out;
  }
  std::string receive_all() {
    while (receive()) {
    }
    return std::exchange(bytes_, "");
  }
  Reply receive_reply(bool has_body = true) {
    Reply reply;
    reply.head = receive_until("\r\n\r\n");
    if (!reply.head.starts_with("HTTP/1.1 ")) return reply;
    reply.status = std::stoi(reply.head.substr(9, 3));
    const size_t at = reply.head.find("Content-Length: ");
    const size_t size = at == std::string::npos || !has_body ? 0 : std::stoul(reply.head.substr(at + 16));
    while (bytes_.size() < size && receive()) {
    }
    reply.body = bytes_.substr(0, size);
    bytes_.erase(0, size);
    return reply;
  }

 private:
  UniqueFd fd_;
  bool connected_ = false;
  std::string bytes_;
};

class MadeUp : public Content {
 public:
  Answer get(const std::string& path, const Query& query, const std::function<bool()>& gone) override {
    ++gets;
    if (path.empty()) return {.type = "text/html", .body = "<p>page"};
    if (path == "echo") return {.body = query.contains("q") ? query.at("q") : "nothing"};
    if (path == "file") return {.type = "application/gzip", .body = "bytes", .file_name = "a \"b\"\r\n.gz"};
    if (path == "big") return {.body = std::string(kBig, 'x')};
    if (path == "throws") throw std::bad_alloc();  // NOLINT(style): what a library may do
    if (path == "long") {
      ++long_ones;
      while (!gone()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++gone_ones;
      return {.body = "late"};
    }
    return {.status = 404, .body = "no such thing"};
  }
  Answer post(const std::string& path, const Query&) override {
    ++posts;
    return {.body = "did " + path};
  }
  // Numbers up to `newest`, of `event_size` bytes.
  Result<std::optional<Event>> next(const Query& query, const std::string& last, std::chrono::milliseconds wait) override {
    if (query.contains("none")) return make_error(ErrorKind::kNotFound, "no such stream");
    const int seen = last.empty() ? 0 : std::stoi(last);
    std::unique_lock lock(mutex_);
    has_more_.wait_for(lock, wait, [&] { return seen < newest_; });
    if (seen >= newest_) return std::optional<Event>();
    return std::optional(Event{std::to_string(seen + 1), "event " + std::to_string(seen + 1) + std::string(event_size, 'x')});
  }
  void add_events(int many) {
    const std::lock_guard lock(mutex_);
    newest_ += many;
    has_more_.notify_all();
  }
  std::atomic<int> gets = 0, posts = 0, long_ones = 0, gone_ones = 0;
  std::atomic<size_t> event_size = 0;

 private:
  std::mutex mutex_;
  std::condition_variable has_more_;
  int newest_ = 0;
};

size_t open_descriptors() {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator()));
}

class Http : public ::testing::Test {
 protected:
  void start(HttpOptions options = {.token = "t0ken"}, const std::string& where = "0") {
    auto listener = listen_at(where);
    ASSERT_TRUE(listener) << listener.error().message();
    where_ = listener->where;
    auto server = HttpServer::start(*std::move(listener), std::move(options), content_);
    ASSERT_TRUE(server) << server.error().message();
    server_ = *std::move(server);
  }
  static std::string request(const std::string& line, const std::string& headers = "Host: localhost\r\n") { return line + " HTTP/1.1\r\n" + headers + "\r\n"; }
  Reply ask(const std::string& line, const std::string& headers = "Host: localhost\r\n") const {
    Client client(where_);
    client.send(request(line, headers));
    return client.receive_reply(!line.starts_with("HEAD"));
  }
  std::unique_ptr<Client> follow(const std::string& headers = "Host: localhost\r\n") const {
    auto client = std::make_unique<Client>(where_);
    client->send(request("GET /t0ken/events", headers));
    return client;
  }
  bool lives() const { return ask("GET /t0ken/echo?q=yes").body == "yes"; }

  MadeUp content_;
  std::string where_;
  std::unique_ptr<HttpServer> server_;  // first to go
};

TEST_F(Http, AnswersBehindTheToken) {
  start();
  EXPECT_EQ(ask("GET /t0ken/").body, "<p>page");
  EXPECT_EQ(ask("GET /t0ken/echo?q=a%20b").body, "a b");
  EXPECT_EQ(ask("GET /t0ken/nowhere").status, 404);
  EXPECT_EQ(ask("GET /t0ken/throws").status, 500);
  const Reply moved = ask("GET /t0ken?x=1");
  EXPECT_EQ(moved.status, 308);
  EXPECT_THAT(moved.head, HasSubstr("Location: /t0ken/?x=1\r\n"));
}

TEST_F(Http, WithoutTheTokenTellsNothing) {
  start();
  for (const char* path : {"/", "/echo", "/events", "/t0ke/", "/t0kenx/", "/T0KEN/", "//t0ken/", "/x/t0ken/"}) {
    const Reply reply = ask(std::string("GET ") + path);
    EXPECT_EQ(reply.status, 404) << path;
    EXPECT_EQ(reply.body, "not here: open the whole address that cicada printed\n") << path;
  }
  EXPECT_EQ(content_.gets, 0);
}

TEST_F(Http, NeedsNoTokenIfThereIsNone) {
  start({.token = ""});
  EXPECT_EQ(ask("GET /").body, "<p>page");
  EXPECT_EQ(ask("GET /echo?q=yes").body, "yes");
}

TEST_F(Http, SendsTheHeadersThatKeepPagesApart) {
  start({.token = "t0ken", .policy = "default-src 'self'"});
  for (const char* line : {"GET /t0ken/", "GET /", "POST /t0ken/x", "PUT /t0ken/", "HEAD /t0ken/", "GET /t0ken/throws", "nonsense"}) {
    const Reply reply = ask(line);
    for (const char* header : {"Content-Security-Policy: default-src 'self'", "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer", "Cache-Control: no-store",
                               "Cross-Origin-Resource-Policy: same-origin", "X-Frame-Options: DENY"})
      EXPECT_THAT(reply.head, HasSubstr(std::string(header) + "\r\n")) << line;
    for (const char* header : {"Server:", "Access-Control", "httplib", "EXCEPTION", "Keep-Alive", "Accept-Ranges"}) EXPECT_THAT(reply.head, Not(HasSubstr(header))) << line;
  }
}

TEST_F(Http, HeadHasNoBody) {
  start();
  Client client(where_);
  client.send(request("HEAD /t0ken/", "Host: localhost\r\nConnection: close\r\n"));
  const std::string all = client.receive_all();
  EXPECT_THAT(all, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(all, HasSubstr("Content-Length: 7\r\n"));
  EXPECT_TRUE(all.ends_with("\r\n\r\n"));
  EXPECT_EQ(ask("HEAD /t0ken/events").status, 200);
}

TEST_F(Http, GivesFilesHarmlessNames) {
  start();
  EXPECT_THAT(ask("GET /t0ken/file").head, HasSubstr("Content-Disposition: attachment; filename=\"a__b___.gz\"\r\n"));
}

TEST_F(Http, KeepsConnectionsFor100Requests) {
  start();
  Client client(where_);
  for (int i = 0; i < 99; ++i) {
    client.send(request("GET /t0ken/echo?q=" + std::to_string(i)));
    ASSERT_EQ(client.receive_reply().body, std::to_string(i));
  }
  client.send(request("GET /t0ken/echo?q=x"));
  EXPECT_THAT(client.receive_all(), HasSubstr("Connection: close\r\n"));
  Client two(where_);
  two.send(request("GET /t0ken/echo?q=1") + request("GET /t0ken/echo?q=2"));
  EXPECT_EQ(two.receive_reply().body, "1");
  EXPECT_EQ(two.receive_reply().body, "2");
}

TEST_F(Http, BelievesNoForeignName) {
  start({.token = "t0ken", .hosts = {"box.local"}});
  for (const char* host : {"localhost", "localhost:4747", "LOCALHOST", "127.0.0.1:1", "10.1.2.3", "[::1]", "[::1]:80", "box.local", "Box.Local:8080"})
    EXPECT_EQ(ask("GET /t0ken/", std::string("Host: ") + host + "\r\n").status, 200) << host;
  for (const char* host : {"evil.example", "evil.example:4747", "localhost.evil.example", "127.0.0.1.evil.example", "localhost:x", "[::1", "localhost:", "[evil]", "a@localhost", "1"})
    EXPECT_EQ(ask("GET /t0ken/", std::string("Host: ") + host + "\r\n").status, 421) << host;
  EXPECT_EQ(ask("GET /t0ken/", "").status, 400);
  EXPECT_EQ(ask("GET /t0ken/", "Host: localhost\r\nHost: evil.example\r\n").status, 400);
}

TEST_F(Http, AnswersNoForeignPage) {
  start();
  const std::string host = "Host: localhost:1\r\n";
  for (const auto& [line, headers, status] : std::initializer_list<std::tuple<const char*, const char*, int>>{
           {"GET /t0ken/echo", "Origin: http://localhost:1\r\n", 200}, {"GET /t0ken/echo", "Origin: http://localhost:2\r\n", 403}, {"GET /t0ken/echo", "Origin: http://evil.example\r\n", 403},
           {"GET /t0ken/echo", "Origin: null\r\n", 403}, {"GET /t0ken/echo", "Origin: https://localhost:1\r\n", 403}, {"GET /t0ken/echo", "Sec-Fetch-Site: same-origin\r\n", 200},
           {"GET /t0ken/echo", "Sec-Fetch-Site: none\r\n", 200}, {"GET /t0ken/echo", "Sec-Fetch-Site: same-site\r\n", 403}, {"GET /t0ken/echo", "Sec-Fetch-Site: cross-site\r\n", 403},
           {"GET /t0ken/echo", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n", 403}, {"GET /t0ken/", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n", 200},
           {"GET /t0ken", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n", 308}, {"GET /t0ken/", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n", 403},
           {"GET /t0ken/events", "Sec-Fetch-Site: cross-site\r\n", 403}})
    EXPECT_EQ(ask(line, host + headers).status, status) << line << " " << headers;
}

TEST_F(Http, ControlsAreForItsOwnPageAndForPrograms) {
  start();
  const std::string host = "Host: localhost:1\r\nContent-Length: 0\r\n";
  EXPECT_EQ(ask("POST /t0ken/stop", host).body, "did stop");
  EXPECT_EQ(ask("POST /t0ken/stop", host + "Origin: http://localhost:1\r\n").status, 200);
  EXPECT_EQ(ask("POST /t0ken/stop", host + "Sec-Fetch-Site: same-origin\r\n").status, 200);
  EXPECT_EQ(content_.posts, 3);
  for (const char* headers : {"Sec-Fetch-Site: none\r\n", "Sec-Fetch-Mode: cors\r\n", "Origin: http://evil.example\r\n", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"})
    EXPECT_EQ(ask("POST /t0ken/stop", host + headers).status, 403) << headers;
  EXPECT_EQ(ask("POST /wrong/stop", host).status, 404);
  EXPECT_EQ(content_.posts, 3);
  for (const char* method : {"PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"}) EXPECT_EQ(ask(std::string(method) + " /t0ken/stop").status, 405) << method;
}

TEST_F(Http, WithoutControlsOnlyReads) {
  start({.token = "t0ken", .controls = false});
  const Reply reply = ask("POST /t0ken/stop", "Host: localhost\r\nContent-Length: 0\r\n");
  EXPECT_EQ(reply.status, 405);
  EXPECT_THAT(reply.head, HasSubstr("Allow: GET, HEAD\r\n"));
  EXPECT_EQ(content_.posts, 0);
}

TEST_F(Http, TakesSmallBodiesOnly) {
  start({.token = "t0ken", .read_timeout = std::chrono::milliseconds(1000)});
  const std::string small = request("POST /t0ken/x", "Host: localhost\r\nContent-Length: 4096\r\n") + std::string(4096, 'b');
  Client client(where_);
  client.send(small);
  EXPECT_EQ(client.receive_reply().status, 200);
  client.send(request("GET /t0ken/echo?q=next"));
  EXPECT_EQ(client.receive_reply().body, "next");
  EXPECT_EQ(ask("POST /t0ken/x", "Host: localhost\r\nContent-Length: 4097\r\n").status, 413);
  EXPECT_EQ(ask("POST /t0ken/x", "Host: localhost\r\nContent-Length: 99999999999999999999\r\n").status, 411);
  EXPECT_EQ(ask("POST /t0ken/x", "Host: localhost\r\nContent-Length: -1\r\n").status, 411);
  EXPECT_EQ(ask("POST /t0ken/x", "Host: localhost\r\nTransfer-Encoding: chunked\r\n").status, 411);
  EXPECT_EQ(ask("POST /t0ken/x", "Host: localhost\r\nContent-Length: 5\r\n").status, 408);  // it never comes
  EXPECT_EQ(content_.posts, 1);
  Client large(where_);
  large.send(request("POST /t0ken/x", "Host: localhost\r\nContent-Length: 500000\r\n") + std::string(100'000, 'b'));
  EXPECT_THAT(large.receive_all(), AllOf(StartsWith("HTTP/1.1 413"), HasSubstr("Connection: close")));
}

TEST_F(Http, StreamsEventsFromTheLastOneSeen) {
  start();
  content_.add_events(3);
  auto fresh = follow();
  EXPECT_THAT(fresh->receive_until("\r\n\r\n"), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Content-Type: text/event-stream\r\n")));
  EXPECT_THAT(fresh->receive_until("event 3\n\n"), AllOf(HasSubstr("id: 1\ndata: event 1\n\n"), HasSubstr("id: 2\ndata: event 2\n\n")));
  auto again = follow("Host: localhost\r\nLast-Event-ID: 2\r\n");
  EXPECT_THAT(again->receive_until("event 3\n\n"), Not(HasSubstr("event 2")));
  content_.add_events(1);
  EXPECT_THAT(again->receive_until("event 4\n\n"), HasSubstr("id: 4\n"));
  EXPECT_THAT(fresh->receive_until("event 4\n\n"), HasSubstr("id: 4\n"));
  EXPECT_EQ(ask("GET /t0ken/events?none=1").status, 404);
}

TEST_F(Http, SendsCommentsWhenThereIsNothingElse) {
  start({.token = "t0ken", .silence = std::chrono::milliseconds(1)});
  auto quiet = follow();
  EXPECT_THAT(quiet->receive_until(": \n\n"), StartsWith("HTTP/1.1 200"));
  content_.add_events(1);
  EXPECT_THAT(quiet->receive_until("event 1\n\n"), HasSubstr("id: 1\n"));
}

TEST_F(Http, RefusesTheSeventeenthStreamAndServesOn) {
  start();
  std::vector<std::unique_ptr<Client>> followers;
  for (size_t i = 0; i < HttpServer::kMaxStreams; ++i) {
    followers.push_back(follow());
    ASSERT_THAT(followers.back()->receive_until("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  }
  const Reply refused = follow()->receive_reply();
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.head, HasSubstr("Retry-After: "));
  EXPECT_TRUE(lives());
  followers.pop_back();  // its place is free again
  EXPECT_TRUE(comes_true([&] { return follow()->receive_until("\r\n\r\n").starts_with("HTTP/1.1 200"); }));
}

TEST_F(Http, DropsWhoReadsNothing) {
  start({.token = "t0ken", .write_timeout = std::chrono::milliseconds(300)});
  std::vector<std::unique_ptr<Client>> stuck;
  for (size_t i = 0; i < HttpServer::kMaxThreads; ++i) {
    stuck.push_back(std::make_unique<Client>(where_));
    stuck.back()->send(request("GET /t0ken/big"));
  }
  ASSERT_TRUE(comes_true([&] { return content_.gets == static_cast<int>(HttpServer::kMaxThreads); }));
  EXPECT_TRUE(lives());  // as soon as the first is dropped
  size_t cut = 0;
  for (const auto& client : stuck) cut += client->receive_reply().body.size() < kBig;
  EXPECT_GE(cut, 1U);
}

TEST_F(Http, DropsStreamsThatNobodyReads) {
  start({.token = "t0ken", .write_timeout = std::chrono::milliseconds(2000)});
  auto reader = follow();
  reader->receive_until("\r\n\r\n");
  content_.event_size = 1 << 20;
  std::vector<std::unique_ptr<Client>> stuck;
  for (size_t i = 1; i < HttpServer::kMaxStreams; ++i) stuck.push_back(follow());
  content_.add_events(40);
  for (int i = 1; i <= 40; ++i) ASSERT_THAT(reader->receive_until("\n\n"), HasSubstr("id: " + std::to_string(i) + "\n"));
  EXPECT_TRUE(comes_true([&] { return follow()->receive_until("\r\n\r\n").starts_with("HTTP/1.1 200"); }));
  content_.add_events(1);
  EXPECT_THAT(reader->receive_until("\n\n"), HasSubstr("id: 41\n"));
}

TEST_F(Http, TellsWorkWhenItsClientIsGone) {
  start();
  {
    Client impatient(where_);
    impatient.send(request("GET /t0ken/long"));
    ASSERT_TRUE(comes_true([&] { return content_.long_ones == 1; }));
    EXPECT_EQ(content_.gone_ones, 0);
  }
  EXPECT_TRUE(comes_true([&] { return content_.gone_ones == 1; }));
}

TEST_F(Http, SurvivesWhatIsNoRequest) {
  start({.token = "t0ken", .read_timeout = kPatience});
  const std::string nul(1, '\0'), host = "Host: localhost\r\n";
  for (const auto& [bytes, statuses] : std::initializer_list<std::pair<std::string, std::vector<int>>>{
           {"", {0}}, {"\r\n\r\n", {400}}, {"GET\r\n\r\n", {400}}, {"GET /t0ken/\r\n\r\n", {400}}, {"GET /t0ken/ HTTP/9.9\r\n" + host + "\r\n", {400}},
           {"GET  /t0ken/ HTTP/1.1\r\n" + host + "\r\n", {400}}, {"get /t0ken/ HTTP/1.1\r\n" + host + "\r\n", {400}}, {"GET /t0ken/ HTTP/1.1\n" + host + "\r\n", {400}},
           {"GET /t0ken/" + nul + " HTTP/1.1\r\n" + host + "\r\n", {400}}, {"GET /t0ken/%00 HTTP/1.1\r\n" + host + "\r\n", {400}}, {"GET /t0ken/%0d%0aX:y HTTP/1.1\r\n" + host + "\r\n", {400}},
           {"GET /t0ken/ HTTP/1.1\r\nHost: local" + nul + "host\r\n\r\n", {400}}, {"GET /t0ken/ HTTP/1.1\r\nno colon\r\n" + host + "\r\n", {400}},
           {"GET /t0ken/ HTTP/1.1\r\n" + host + " folded: x\r\n\r\n", {400}}, {"GET /t0ken/ HTTP/1.1\r\n" + host + "X : y\r\n\r\n", {400}}, {"GET /t0ken/ HTTP/1.1\r\n" + host + ": y\r\n\r\n", {400}},
           {"GET http://localhost/t0ken/ HTTP/1.1\r\n" + host + "\r\n", {400}}, {"GET * HTTP/1.1\r\n" + host + "\r\n", {400}}, {"GET ?t0ken HTTP/1.1\r\n" + host + "\r\n", {400}},
           {"GET /" + std::string(5000, 'a') + " HTTP/1.1\r\n" + host + "\r\n", {414}}, {"GET /" + std::string(1 << 20, 'a'), {431}}, {std::string(100'000, '\0'), {431}},
           {"GET /t0ken/ HTTP/1.1\r\nX: " + std::string(9000, 'a') + "\r\n\r\n", {431}}, {"GET /t0ken/ HTTP/1.1\r\nX: " + std::string(1 << 20, 'a'), {431}},
           {"GET /t0ken/ HTTP/1.1\r\n" + host + "Range: bytes=99999999999999999999999-\r\n\r\n", {200}},
           {"GET /t0ken/ HTTP/1.1\r\n" + host + "RANGE: bytes=0-1,0-1,0-1\r\n\r\n", {200}}, {"GET /t0ken/ HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", {400}},
           {"GET /t0ken/ HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\n", {408}}, {"GET /t0ken/ HTTP/1.1\r\n" + host, {0}}, {"G", {0}}, {"\x16\x03\x01\x02\x01\x01\xfc", {0}}, {"\r\n", {0}},
           {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400}}}) {
    Client client(where_);
    client.send(bytes);  // may be closed before all is sent
    client.end_sending();
    EXPECT_THAT(statuses, ::testing::Contains(client.receive_reply().status)) << bytes.substr(0, 60);
    EXPECT_TRUE(lives()) << bytes.substr(0, 60);
  }
  std::string many = "GET /t0ken/ HTTP/1.1\r\n" + host;
  for (int i = 0; i < 200; ++i) many += "X" + std::to_string(i) + ": y\r\n";
  Client client(where_);
  client.send(many + "\r\n");
  EXPECT_EQ(client.receive_reply().status, 431);
  for (const char* half : {"", "GET /t0ken/ HT"}) {
    Client leaves(where_);
    leaves.send(half);
    leaves.end_sending();
    EXPECT_EQ(leaves.receive_all(), "");
  }
}

TEST_F(Http, LosesPatienceWithRequestsThatComeLittleByLittle) {
  start({.token = "t0ken", .read_timeout = std::chrono::milliseconds(300)});
  Client slow(where_);
  const std::string text = request("GET /t0ken/", "Host: localhost\r\nX: " + std::string(8000, 'x') + "\r\n");
  size_t sent = 0;
  while (sent < text.size() && slow.send(text.substr(sent, 1))) {
    ++sent;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LT(sent, text.size());
  EXPECT_TRUE(lives());
}

TEST_F(Http, GoesOnInAFloodOfConnections) {
  constexpr int kFlood = 2'000, kAtOnce = 200;
  start({.token = "t0ken", .read_timeout = std::chrono::milliseconds(500)});
  auto follower = follow();
  ASSERT_THAT(follower->receive_until("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  const size_t before = open_descriptors();
  size_t most = 0;
  std::deque<std::unique_ptr<Client>> flood;
  for (int i = 0; i < kFlood; ++i) {
    flood.push_back(std::make_unique<Client>(where_));
    if (flood.size() > kAtOnce) flood.pop_front();
    if (i % 100 != 0) continue;
    content_.add_events(1);
    const std::string number = std::to_string(i / 100 + 1);
    ASSERT_THAT(follower->receive_until("\n\n"), HasSubstr("id: " + number + "\n"));
    most = std::max(most, open_descriptors());
  }
  EXPECT_LE(most, before + kAtOnce + HttpServer::kMaxConnections + 64);  // 64: those that are being refused
  flood.clear();
  EXPECT_TRUE(comes_true([&] { return lives(); }));
  EXPECT_TRUE(comes_true([&] { return open_descriptors() <= before; }));
}

TEST_F(Http, TellsWhoComesTooLate) {
  start({.token = "t0ken", .read_timeout = std::chrono::seconds(30)});
  std::vector<std::unique_ptr<Client>> open;
  for (size_t i = 0; i < HttpServer::kMaxConnections; ++i) open.push_back(std::make_unique<Client>(where_));
  EXPECT_THAT(Client(where_).receive_all(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("too many connections")));
  open.pop_back();
  EXPECT_TRUE(comes_true([&] { return lives(); }));
}

TEST_F(Http, StopsAtOnceWhateverIsOpen) {
  start({.token = "t0ken", .read_timeout = kPatience, .write_timeout = kPatience});
  std::vector<std::unique_ptr<Client>> open;
  for (int i = 0; i < 8; ++i) {
    open.push_back(follow());
    open.back()->receive_until("\r\n\r\n");
  }
  for (const char* text : {"GET /t0ken/big HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /t0ken/long HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /t0k", "",
                           "POST /t0ken/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"}) {
    open.push_back(std::make_unique<Client>(where_));
    open.back()->send(text);
  }
  ASSERT_TRUE(comes_true([&] { return content_.gets == 2; }));
  const auto before = Clock::now();
  server_.reset();
  EXPECT_LT(Clock::now() - before, kPatience / 4);  // not the timeouts
  RecordProperty("stopped_after_ms", static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - before).count()));
  EXPECT_FALSE(Client(where_).connected());
}

TEST_F(Http, StopsWithoutAnyClient) {
  start();
  server_.reset();
}

TEST_F(Http, ServesAUnixSocketWithoutAHost) {
  const std::string path = std::filesystem::temp_directory_path() / ("cicada-http-" + std::to_string(::getpid()));
  start({.token = "t0ken"}, "unix:" + path);
  EXPECT_EQ(ask("GET /t0ken/", "").body, "<p>page");
  EXPECT_EQ(ask("GET /t0ken/", "Host: evil.example\r\n").status, 421);
  std::filesystem::remove(path);
}

TEST_F(Http, LeavesSignalsAsTheyWere) {
  struct sigaction before {}, after {};
  ::sigaction(SIGPIPE, nullptr, &before);
  start();
  ::sigaction(SIGPIPE, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
  EXPECT_TRUE(lives());
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == std::to_string(::getpid())) continue;
    std::ifstream status(thread.path() / "status");
    std::string line, name;
    while (std::getline(status, line)) {
      if (line.starts_with("Name:")) name = line;
      if (!line.starts_with("SigBlk:") || name.find("cicada-") == std::string::npos) continue;
      EXPECT_THAT(line, HasSubstr("fffffffe7ffbfeff")) << name;  // all that can be blocked
    }
  }
}

// The server of `cicada serve` has given up its rights before it answers.
TEST_F(Http, ServesFromAProcessThatOnlyReads) {
  if (!sandbox::kLocksDown) GTEST_SKIP() << "nothing is locked down under sanitizers";
  auto listener = listen_at("0");
  ASSERT_TRUE(listener);
  where_ = listener->where;
  int told[2];
  ASSERT_EQ(::pipe2(told, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string could;
    const auto locked = sandbox::become_read_only(uint64_t{1} << 30, sandbox::Network::kAccepts);
    if (!locked) could = locked.error().message();
    auto server = HttpServer::start(*std::move(listener), {.token = "t0ken"}, content_);
    if (!server) could += server.error().message();
    if (Client(where_).connected()) could += "connect ";
    if (UniqueFd(::socket(AF_INET, SOCK_STREAM, 0))) could += "socket ";
    if (UniqueFd(::socket(AF_UNIX, SOCK_STREAM, 0))) could += "unix-socket ";
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (::bind(0, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 || errno != EPERM) could += "bind ";
    if (::listen(0, 1) == 0 || errno != EPERM) could += "listen ";
    if (::sendto(told[1], "x", 1, 0, reinterpret_cast<sockaddr*>(&address), sizeof address) >= 0 || errno != EPERM) could += "send-to ";
    msghdr fast{};  // connects in sending
    fast.msg_name = &address;
    fast.msg_namelen = sizeof address;
    if (::sendmsg(told[1], &fast, MSG_FASTOPEN) >= 0 || errno != EPERM) could += "fast-open ";
    if (UniqueFd(::open("/dev/null", O_WRONLY))) could += "write ";
    if (!UniqueFd(::open("/dev/null", O_RDONLY))) could += "not-read ";
    if (!sandbox::open_no_more() || UniqueFd(::open("/dev/null", O_RDONLY))) could += "read ";
    std::thread([&] { if (UniqueFd(::open("/dev/null", O_RDONLY))) could += "read-in-thread "; }).join();
    const pid_t forked = ::fork();
    if (forked == 0) ::_exit(0);
    if (forked > 0) could += "fork ";
    could += "whole";
    static_cast<void>(::write(told[1], could.data(), could.size()) > 0);
    for (;;) ::pause();
  }
  ::close(told[1]);
  listener->fd.reset();
  char text[512];
  const ssize_t got = ::read(told[0], text, sizeof text);
  EXPECT_EQ(std::string(text, got > 0 ? static_cast<size_t>(got) : 0), "whole");
  EXPECT_EQ(ask("GET /t0ken/").body, "<p>page");
  EXPECT_TRUE(lives());
  EXPECT_EQ(ask("GET /t0ken/big").body.size(), kBig);
  auto follower = follow();
  EXPECT_THAT(follower->receive_until("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  ::close(told[0]);
}

}  // namespace
}  // namespace cicada::web
