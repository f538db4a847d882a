// SPDX-License-Identifier: Apache-2.0
#include "sandbox/zygote.h"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>

#include "base/scoped_short_slice.h"
#include "sandbox/lock_down.h"

extern char** environ;

namespace cicada::sandbox {
namespace {

constexpr std::chrono::seconds kSpawnTimeout(5);

// What its children cost is counted for the collector, too. They end when their channels are closed; one that hangs is left to the kernel.
int reap_all() {
  for (int tries = 0; tries < 100; ++tries) {
    pid_t ended;
    while ((ended = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (ended < 0) break;
    ::usleep(1000);
  }
  return 0;
}

// Where memory is short a parser goes before the collector, whatever made it short.
void volunteer_for_oom() {
  const UniqueFd score(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (score) static_cast<void>(::write(score.get(), "1000", 4) == 4);
}

void close_standard_files() {
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) ::dup2(nowhere, fd);
  if (nowhere > 2) ::close(nowhere);
}

}  // namespace

Result<std::unique_ptr<Zygote>> Zygote::start(const std::vector<std::string>& command) {
  auto [ours, theirs] = TRY(Channel::make_pair());
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  const UniqueFd moved(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, Zygote::kSocket + 1));  // dup2 onto itself would leave it to be closed
  ::posix_spawn_file_actions_adddup2(&actions, moved.get(), Zygote::kSocket);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  // Nothing of root's environment but where libraries lie.
  std::vector<char*> environment;
  for (char** each = environ; *each != nullptr; ++each) {
    if (!kLocksDown || std::string_view(*each).starts_with("LD_LIBRARY_PATH=")) environment.push_back(*each);
  }
  environment.push_back(nullptr);
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, words[0], &actions, nullptr, words.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return errno_error(failed, fmt::format("starting {}", command[0]));
  return std::unique_ptr<Zygote>(new Zygote(std::move(ours), pid));
}

Zygote::~Zygote() {
  channel_.reset();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<Zygote::Child> Zygote::spawn(uint32_t user) { return spawn(user, false); }
Result<Zygote::Child> Zygote::spawn_helper() { return spawn(0, true); }

Result<Zygote::Child> Zygote::spawn(uint32_t user, bool helper) {
  auto [ours, theirs] = TRY(Channel::make_pair());
  const std::lock_guard lock(mutex_);
  Message request;
  request.numbers = {user, helper, ++last_request_};
  const auto deadline = Channel::Clock::now() + kSpawnTimeout;
  TRY(channel_->send(request, {theirs.get()}));
  Message answer;
  do answer = TRY(channel_->receive(true, deadline));
  while (answer.numbers[1] != last_request_);  // to somebody who did not wait that long: its child ends, since nobody has its channel
  if (answer.fds.size() != 1) return make_error(ErrorKind::kIo, "no process can be started for files of user {}", user);
  return Child{Channel(std::move(ours)), std::move(answer.fds[0]), static_cast<pid_t>(answer.numbers[0])};
}

int run_zygote(void (*work)(Channel channel), void (*help)(Channel channel)) {
  ::prctl(PR_SET_NAME, "cicada-zygote");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  ::syscall(SYS_close_range, static_cast<unsigned>(Zygote::kSocket + 1), ~0U, 0U);
  ::fcntl(Zygote::kSocket, F_SETFD, FD_CLOEXEC);
  close_standard_files();
  if (::chdir("/") != 0) return 1;
  const auto rules = LockDown::prepare();
  if (!rules) return 1;
  if (kLocksDown) rules->leave_namespaces();
  Channel collector(UniqueFd{Zygote::kSocket});
  for (;;) {
    Result<Message> request = collector.receive(true);
    if (!request || request->fds.size() != 1) return reap_all();
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    int process = -1;
    const long child = ::syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, nullptr, &process, nullptr, 0UL);
    if (child == 0) {
      const bool is_helper = request->numbers[1] != 0;
      ::prctl(PR_SET_NAME, is_helper ? "cicada-helper" : "cicada-parser");
      const ScopedShortSlice prompt;  // stacks wait for its answers
      volunteer_for_oom();
      const int socket = request->fds[0].release();
      if (is_helper) ::close(Zygote::kSocket);
      if (kLocksDown && !is_helper) rules->apply(static_cast<uint32_t>(request->numbers[0]), socket);
      (is_helper ? help : work)(Channel(UniqueFd(socket)));
      ::_exit(0);
    }
    const UniqueFd held(process);
    Message answer;
    answer.numbers = {static_cast<uint64_t>(child), request->numbers[2]};
    const Result<void> sent = held ? collector.send(answer, {held.get()}) : collector.send(answer);
    if (!sent) return reap_all();
  }
}

}  // namespace cicada::sandbox
