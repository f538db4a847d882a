// SPDX-License-Identifier: Apache-2.0
// module: web
// What a client may send to the server of pages: the input is one connection's bytes. Whatever they are, the server answers or closes, and answers the next one.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/check.h"
#include "web/http_server.h"

namespace {

using namespace cicada;

class Page final : public web::Content {
 public:
  web::Answer get(const std::string& path, const web::Query&, const std::function<bool()>&) override { return {.status = path.empty() ? 200 : 404, .body = "page"}; }
  web::Answer post(const std::string&, const web::Query&) override { return {.body = "done"}; }
  Result<std::optional<web::Event>> next(const web::Query&, const std::string&, std::chrono::milliseconds) override { return make_error(ErrorKind::kGone, "no more"); }
};

std::string answer_to(const std::string& path, const void* bytes, size_t size) {
  const UniqueFd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  CHECK(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  static_cast<void>(::send(client.get(), bytes, size, MSG_NOSIGNAL));
  ::shutdown(client.get(), SHUT_WR);
  std::string all;
  char block[4096];
  for (ssize_t got; (got = ::recv(client.get(), block, sizeof block, 0)) > 0 || (got < 0 && errno == EINTR);)  // libFuzzer has an alarm clock
    if (got > 0) all.append(block, static_cast<size_t>(got));
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string path = "/tmp/cicada-http-fuzz." + std::to_string(::getpid());
  static Page page;
  static const auto server = [] {
    auto started = web::HttpServer::start(*web::listen_at("unix:" + path), {.token = "token"}, page);
    CHECK(started);
    return std::move(*started);
  }();
  answer_to(path, data, size);
  constexpr std::string_view kGood = "GET /token/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  CHECK(answer_to(path, kGood.data(), kGood.size()).starts_with("HTTP/1.1 200 "));
  return 0;
}
