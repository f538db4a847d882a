// SPDX-License-Identifier: Apache-2.0
#include "base/disposable_child.h"

#include <linux/sched.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/left_behind.h"
#include "base/process_state.h"

namespace cicada {
namespace {

// Not SIGCHLD when it ends, and not among those that a wait() of who embeds us finds.
constexpr int kExitSignal = 0;
constexpr size_t kMaxKept = 6;
constexpr std::chrono::milliseconds kExitTimeout(100), kStopInterval(20);

struct Message {
  Message() {
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    head.msg_control = control;
    head.msg_controllen = sizeof control;
  }
  ChildAnswer answer;
  iovec part{&answer, sizeof answer};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr head{};
};

std::optional<DisposableChildren::Answer> receive(int socket) {
  Message message;
  if (::recvmsg(socket, &message.head, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != sizeof message.answer) return std::nullopt;
  DisposableChildren::Answer answer{message.answer.error, message.answer.number, {}};
  const cmsghdr* attached = CMSG_FIRSTHDR(&message.head);
  if (attached != nullptr && attached->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(attached), sizeof fd);
    answer.fd.reset(fd);
  }
  return answer;
}

// `kept` is sorted. What is not open (-1) has nothing to keep.
void close_all_but(const std::array<int, kMaxKept + 1>& kept, size_t count) {
  unsigned from = 0;
  for (size_t i = 0; i < count; ++i) {
    if (kept[i] < 0) continue;
    const auto keep = static_cast<unsigned>(kept[i]);
    if (keep > from) ::syscall(SYS_close_range, from, keep - 1, 0U);
    from = keep + 1;
  }
  ::syscall(SYS_close_range, from, ~0U, 0U);
}

// Within `timeout` and before `stop`; at its end, too.
bool becomes_readable(int fd, std::chrono::milliseconds timeout, const std::stop_token& stop) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    pollfd polled{fd, POLLIN, 0};
    const auto wait = stop.stop_possible() ? std::min(timeout, kStopInterval) : timeout;
    if (::poll(&polled, 1, static_cast<int>(std::max<int64_t>(wait.count(), 0))) > 0) return true;
    timeout = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (timeout.count() <= 0 || stop.stop_requested()) return false;
  }
}

}  // namespace

void ChildEnd::say(const ChildAnswer& answer) const {
  Message message;
  message.answer = answer;
  if (answer.fd >= 0) {
    cmsghdr* attached = CMSG_FIRSTHDR(&message.head);
    attached->cmsg_level = SOL_SOCKET;
    attached->cmsg_type = SCM_RIGHTS;
    attached->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(attached), &answer.fd, sizeof(int));
  } else {
    message.head.msg_control = nullptr;
    message.head.msg_controllen = 0;
  }
  [[maybe_unused]] const ssize_t sent = ::sendmsg(socket_, &message.head, MSG_NOSIGNAL);
}

bool ChildEnd::hear(uint64_t& request) const {
  ssize_t got;
  do got = ::recv(socket_, &request, sizeof request, 0);
  while (got < 0 && errno == EINTR);
  return got == sizeof request;
}

Result<std::optional<DisposableChildren::Answer>> DisposableChildren::Conversation::hear(const std::stop_token& stop) {
  std::optional<Answer> answer;
  if (silent_) return answer;
  for (int timeouts = 1; !becomes_readable(socket_.get(), timeout_, stop); ++timeouts) {
    if (timeouts < kMostTimeouts && !stop.stop_requested() && is_runnable(pid_)) continue;
    silent_ = true;
    ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0U);
    return answer;
  }
  answer = receive(socket_.get());
  if (!answer) return make_error(ErrorKind::kGone, "a child ended without an answer");
  return answer;
}

Result<std::optional<DisposableChildren::Answer>> DisposableChildren::Conversation::ask(uint64_t request, const std::stop_token& stop) {
  if (silent_) return std::optional<Answer>();
  if (::send(socket_.get(), &request, sizeof request, MSG_NOSIGNAL) != sizeof request)
    return make_error(ErrorKind::kGone, "a child has ended");
  return hear(stop);
}

// Closing what it opened may take as long as opening it.
DisposableChildren::Conversation::~Conversation() {
  if (!pidfd_) return;
  socket_.reset();
  if (silent_ || !becomes_readable(pidfd_.get(), kExitTimeout, {})) {
    ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0U);
    LeftBehind::all().add(owner_, std::move(pidfd_));
    return;
  }
  siginfo_t info{};
  ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.get()), &info, WEXITED | __WALL);
}

Result<DisposableChildren::Conversation> DisposableChildren::start_erased(uint32_t owner, std::initializer_list<int> kept,
                                                                          Function function, void* work) {
  if (!LeftBehind::all().has_room(owner)) return make_error(ErrorKind::kLimit, "too much of user {} does not answer", owner);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno_error(errno, "socketpair");
  UniqueFd our_end(ends[0]);
  const UniqueFd child_end(ends[1]);
  CHECK(kept.size() <= kMaxKept);
  std::array<int, kMaxKept + 1> open{};
  std::copy(kept.begin(), kept.end(), open.begin());
  open[kept.size()] = child_end.get();
  std::sort(open.begin(), open.begin() + static_cast<ptrdiff_t>(kept.size()) + 1);
  int raw_pidfd = -1;
  // A handler is the program's, and a terminal's signals are for it alone.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const long child = ::syscall(SYS_clone, CLONE_PIDFD | kExitSignal, nullptr, &raw_pidfd, nullptr, 0UL);
  const int error = errno;
  if (child != 0) ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) return errno_error(error, "fork");
  if (child == 0) {
    close_all_but(open, kept.size() + 1);
    function(work, ChildEnd(child_end.get()));
    ::_exit(0);
  }
  return Conversation(owner, timeout_, std::move(our_end), static_cast<pid_t>(child), UniqueFd(raw_pidfd));
}

}  // namespace cicada
