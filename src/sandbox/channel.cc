// SPDX-License-Identifier: Apache-2.0
#include "sandbox/channel.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cicada::sandbox {
namespace {

constexpr std::chrono::milliseconds kLook(20);

struct Head {
  uint32_t kind;
  uint32_t text_bytes;
  uint64_t numbers[5];
};

bool is_gone(int error) { return error == EPIPE || error == ECONNRESET || error == ENOTCONN; }

}  // namespace

Result<std::pair<UniqueFd, UniqueFd>> Channel::make_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno_error(errno, "socketpair");
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

Result<void> Channel::send_now(const Message& message, std::initializer_list<int> fds) { return send(message, fds, MSG_DONTWAIT); }

Result<void> Channel::send(const Message& message, std::initializer_list<int> fds, int flags) {
  CHECK(fds.size() <= Message::kMaxFds);
  Head head{message.kind, static_cast<uint32_t>(std::min(message.text.size(), Message::kMaxText)), {}};
  std::copy(message.numbers.begin(), message.numbers.end(), head.numbers);
  iovec parts[2] = {{&head, sizeof head}, {const_cast<char*>(message.text.data()), head.text_bytes}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * Message::kMaxFds)]{};
  msghdr packet{};
  packet.msg_iov = parts;
  packet.msg_iovlen = 2;
  if (fds.size() != 0) {
    packet.msg_control = control;
    packet.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* rights = CMSG_FIRSTHDR(&packet);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(rights), fds.begin(), sizeof(int) * fds.size());
  }
  for (;;) {
    if (::sendmsg(socket_.get(), &packet, MSG_NOSIGNAL | flags) >= 0) return {};
    if (errno == EINTR) continue;
    if (is_gone(errno)) return make_error(ErrorKind::kGone, "nobody is at the other end");
    if (errno == EAGAIN) return make_error(ErrorKind::kLimit, "the other end does not read");
    return errno_error(errno, "sendmsg");
  }
}

Result<Message> Channel::receive(bool may_bring_fds, Clock::time_point deadline, const std::function<bool()>& stop) {
  for (pollfd polled{socket_.get(), POLLIN, 0}; stop || deadline != Clock::time_point::max();) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0 || (stop && stop())) return make_error(ErrorKind::kLimit, "no answer in time");
    if (::poll(&polled, 1, static_cast<int>(std::min<std::chrono::milliseconds>(left, kLook).count())) > 0) break;
  }
  Head head{};
  Message message;
  message.text.resize(Message::kMaxText);
  iovec parts[2] = {{&head, sizeof head}, {message.text.data(), message.text.size()}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * Message::kMaxFds)];
  msghdr packet{};
  packet.msg_iov = parts;
  packet.msg_iovlen = 2;
  if (may_bring_fds) {
    packet.msg_control = control;
    packet.msg_controllen = sizeof control;
  }
  ssize_t got;
  while ((got = ::recvmsg(socket_.get(), &packet, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  if (got == 0 || (got < 0 && is_gone(errno))) return make_error(ErrorKind::kGone, "the other end is closed");
  if (got < 0) return errno_error(errno, "recvmsg");
  for (cmsghdr* each = CMSG_FIRSTHDR(&packet); may_bring_fds && each != nullptr; each = CMSG_NXTHDR(&packet, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    for (size_t i = 0; i < (each->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(each) + i * sizeof(int), sizeof fd);
      message.fds.emplace_back(fd);
    }
  }
  if (static_cast<size_t>(got) < sizeof head || head.text_bytes != static_cast<size_t>(got) - sizeof head || (packet.msg_flags & MSG_TRUNC) != 0)
    return make_error(ErrorKind::kCorrupt, "not a message");
  message.kind = head.kind;
  std::copy(std::begin(head.numbers), std::end(head.numbers), message.numbers.begin());
  message.text.resize(head.text_bytes);
  return message;
}

Result<UniqueFd> memory_file(const void* bytes, size_t size) {
  UniqueFd file(::memfd_create("cicada-job", MFD_CLOEXEC));
  if (!file) return errno_error(errno, "memfd_create");
  TRY(write_file(file.get(), bytes, size));
  return file;
}

Result<void> write_file(int fd, const void* bytes, size_t size) {
  for (size_t at = 0; at < size;) {
    const ssize_t wrote = ::pwrite(fd, static_cast<const char*>(bytes) + at, size - at, static_cast<off_t>(at));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return errno_error(errno, "writing a file in memory");
    at += static_cast<size_t>(wrote);
  }
  return {};
}

Result<void> read_file(int fd, void* to, size_t size) {
  for (size_t at = 0; at < size;) {
    const ssize_t got = ::pread(fd, static_cast<char*>(to) + at, size - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(errno, "reading a file in memory");
    if (got == 0) return make_error(ErrorKind::kCorrupt, "{} bytes of {}", at, size);
    at += static_cast<size_t>(got);
  }
  return {};
}

}  // namespace cicada::sandbox
