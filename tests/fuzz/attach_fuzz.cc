// SPDX-License-Identifier: Apache-2.0
// module: attach
// What a viewer may say to a recorder: the input is one connection's bytes, after "follow" if the first one is odd. Whatever they are, the next viewer is shown the recording.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "attach/viewer_server.h"
#include "base/check.h"
#include "profile/profile.h"
#include "sink/recording/recording_reader.h"

namespace {

using namespace cicada;
using namespace cicada::attach;

UniqueFd connect_to(const std::string& path) {
  auto socket = connect_to_recorder(path, ::geteuid());
  CHECK(socket);
  return std::move(*socket);
}

void say(const UniqueFd& socket, std::string_view text) { static_cast<void>(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL)); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static std::string path;
  static const auto server = [] {
    const std::string folder = "/tmp/cicada-attach-fuzz." + std::to_string(::getpid());
    CHECK(::mkdir(folder.c_str(), 0700) == 0);
    auto socket = ViewerSocket::open_in(folder, ::geteuid(), ::getegid());
    CHECK(socket);
    path = (*socket)->path();
    auto started = ViewerServer::start(std::move(*socket), ::geteuid(), [] { return std::make_shared<const profile::ProfileSnapshot>(profile::Profile()); },
                                       {.take = [](std::string_view line) { return line == kPause || line.starts_with(kRecord); }, .moment = [] { return sink::Moment{.title = "fuzz"}; }});
    CHECK(started);
    return std::move(*started);
  }();
  {
    const UniqueFd viewer = connect_to(path);
    if (size != 0 && (data[0] & 1) != 0) say(viewer, fmt::format("{}\n", kFollow));
    if (size != 0) say(viewer, {reinterpret_cast<const char*>(data) + 1, size - 1});
    ::shutdown(viewer.get(), SHUT_WR);
  }
  const UniqueFd next = connect_to(path);
  say(next, fmt::format("{}\n", kOnce));
  std::string all;
  char block[4096];
  for (ssize_t got; (got = ::recv(next.get(), block, sizeof block, 0)) > 0 || (got < 0 && errno == EINTR);)  // libFuzzer has an alarm clock
    if (got > 0) all.append(block, static_cast<size_t>(got));
  const auto recording = sink::read_recording({reinterpret_cast<const uint8_t*>(all.data()), all.size()}, "fuzz");
  CHECK(recording && recording->complete);
  return 0;
}
