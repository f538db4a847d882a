// SPDX-License-Identifier: Apache-2.0
#include "cli/launch/launched_command.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/descriptor_limit.h"
#include "cli/launch/inherited_memory.h"
#include "cli/launch/startup_images.h"
#include "cli/stop_signals.h"

namespace cicada::cli {
namespace {

// How long a command that was asked to end (-d is over) may take before it is killed.
constexpr auto kTimeout = std::chrono::seconds(5);
constexpr unsigned kCloseOnExec = 1U << 2;  // CLOSE_RANGE_CLOEXEC

// What execvp would find, so that a typing error is reported before anything is recorded. Permission of another user is
// left to exec.
Result<std::string> find_program(const std::string& name) {
  if (name.empty()) return make_error(ErrorKind::kNotFound, "'': the command's name is empty");
  std::vector<std::string> candidates;
  if (name.find('/') != std::string::npos) {
    candidates.push_back(name);
  } else {
    const char* variable = std::getenv("PATH");
    const std::string path = variable != nullptr ? variable : "/bin:/usr/bin";
    for (size_t begin = 0; begin <= path.size();) {
      const size_t end = std::min(path.find(':', begin), path.size());
      candidates.push_back(fmt::format("{}/{}", begin == end ? "." : path.substr(begin, end - begin), name));
      begin = end + 1;
    }
  }
  std::optional<Error> refused;
  for (const std::string& candidate : candidates) {
    struct stat status = {};
    if (::stat(candidate.c_str(), &status) != 0) continue;
    if (S_ISREG(status.st_mode) && (status.st_mode & 0111) != 0) return candidate;
    refused = make_error(ErrorKind::kPermission, "{}: {}", candidate,
                         S_ISDIR(status.st_mode) ? "is a directory, not a command"
                                                 : "is not executable; `chmod +x` it or name its interpreter");
  }
  if (refused) return *refused;
  if (name.find('/') != std::string::npos) return make_error(ErrorKind::kNotFound, "{}: no such file", name);
  return make_error(ErrorKind::kNotFound, "{}: command not found in PATH", name);
}

timeval operator-(timeval a, timeval b) {
  timeval left{};
  timersub(&a, &b, &left);
  return left;
}

// Since `before`. The peak stays what it is.
rusage usage_since(rusage usage, const rusage& before) {
  usage.ru_utime = usage.ru_utime - before.ru_utime;
  usage.ru_stime = usage.ru_stime - before.ru_stime;
  usage.ru_minflt -= before.ru_minflt;
  usage.ru_majflt -= before.ru_majflt;
  usage.ru_nvcsw -= before.ru_nvcsw;
  usage.ru_nivcsw -= before.ru_nivcsw;
  return usage;
}

// Without it the command's output would have nowhere to go.
void take_terminal(int terminal) {
  if (::setsid() < 0 || ::ioctl(terminal, TIOCSCTTY, 0) != 0) ::_exit(LaunchedCommand::kCannotRun);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::dup2(terminal, fd) < 0) ::_exit(LaunchedCommand::kCannotRun);
}

// In the child: only async-signal-safe calls from here on, memory was prepared before the fork.
[[noreturn]] void run_child(int release_fd, int failure_fd, const InvokingUser& user, const ExecBlock& exec, int terminal) {
  const bool other_user = user.through_sudo();
  const uid_t uid = user.uid();
  const gid_t gid = user.gid();
  if (terminal >= 0) take_terminal(terminal);
  give_back_inherited_memory(exec);
  rusage own{};  // so much is ours, not the command's
  ::getrusage(RUSAGE_SELF, &own);
  ++own.ru_nvcsw;  // the wait that follows
  if (::write(failure_fd, &own, sizeof own) != sizeof own) ::_exit(LaunchedCommand::kCannotRun);
  char byte = 0;
  while (::read(release_fd, &byte, 1) < 0 && errno == EINTR) continue;
  if (byte != 1) ::_exit(LaunchedCommand::kCannotRun);  // cicada has gone
  // Dispositions are not ours to reset: under nohup, SIGHUP stays ignored. What StopSignals blocked is.
  sigset_t ours = StopSignals::blocked();
  ::sigprocmask(SIG_UNBLOCK, &ours, nullptr);
  // Of descriptors the command gets the three that it knows of, and as many more as it could have without us.
  restore_descriptor_limit();
  ::syscall(SYS_close_range, 3U, ~0U, kCloseOnExec);
  if (!other_user || (::setgroups(exec.groups().size(), exec.groups().data()) == 0 && ::setgid(gid) == 0 && ::setuid(uid) == 0)) {
    ::execve(exec.program(), exec.argv(), exec.environment());
    if (errno == ENOEXEC) ::execve("/bin/sh", exec.shell_argv(), exec.environment());  // a script without #!: as shells and execvp do
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(failure_fd, &error, sizeof error);
  ::_exit(error == ENOENT ? LaunchedCommand::kNotFound : LaunchedCommand::kCannotRun);
}

}  // namespace

Result<LaunchedCommand> LaunchedCommand::hold(std::vector<std::string> argv, const InvokingUser& user,
                                              const std::vector<std::string>& more_environment, int terminal) {
  CHECK(!argv.empty());
  LaunchedCommand command;
  command.name_ = argv[0];
  command.own_terminal_ = terminal >= 0;
  const std::string program = TRY(find_program(argv[0]));
  std::vector<std::string> variables = user.environment();
  variables.insert(variables.end(), more_environment.begin(), more_environment.end());
  const std::vector<StartupImage> images = find_startup_images(program, variables);
  const ExecBlock exec(program, argv, variables, user.groups());
  int release[2], failure[2];
  if (::pipe2(release, O_CLOEXEC) != 0) return errno_error(errno, fmt::format("{}: pipe", argv[0]));
  const UniqueFd release_read(release[0]);
  command.release_.reset(release[1]);
  if (::pipe2(failure, O_CLOEXEC) != 0) return errno_error(errno, fmt::format("{}: pipe", argv[0]));
  command.failure_.reset(failure[0]);
  UniqueFd failure_write(failure[1]);
  const pid_t child = ::fork();
  if (child < 0) return errno_error(errno, fmt::format("{}: fork", argv[0]));
  if (child == 0) {
    command.release_.reset();  // else the child would hold its own pipe open and never see cicada die
    map_startup_images(images);
    run_child(release_read.get(), failure_write.get(), user, exec, terminal);
  }
  failure_write.reset();  // so that its end is seen
  command.pid_ = child;
  command.pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!command.pidfd_) return errno_error(errno, fmt::format("{}: pidfd_open", argv[0]));
  ssize_t size = 0;
  while ((size = ::read(command.failure_.get(), &command.held_usage_, sizeof(rusage))) < 0 && errno == EINTR) continue;
  if (size != sizeof(rusage)) return make_error(ErrorKind::kGone, "{}: ended while it was held", argv[0]);
  return command;
}

LaunchedCommand::LaunchedCommand(LaunchedCommand&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, -1)),
      release_(std::move(other.release_)),
      failure_(std::move(other.failure_)),
      pidfd_(std::move(other.pidfd_)),
      exit_code_(other.exit_code_),
      own_terminal_(other.own_terminal_),
      held_usage_(other.held_usage_),
      usage_(other.usage_) {}

LaunchedCommand::~LaunchedCommand() {
  if (pid_ < 0 || !release_) return;
  release_.reset();  // the child reads end of file and leaves
  wait();
}

Result<void> LaunchedCommand::release() {
  const char go = 1;
  if (::write(release_.get(), &go, 1) != 1) return errno_error(errno, fmt::format("{}: release", name_));
  release_.reset();
  int error = 0;
  ssize_t size = 0;
  while ((size = ::read(failure_.get(), &error, sizeof error)) < 0 && errno == EINTR) continue;
  failure_.reset();
  if (size != sizeof error) return {};  // end of file: exec closed it
  wait();
  if (error == ENOENT)
    return make_error(ErrorKind::kNotFound, "{}: its interpreter (first line, or ELF loader) does not exist", name_);
  return errno_error(error, fmt::format("{}: cannot run", name_));
}

std::optional<int> LaunchedCommand::find_exit_code() {
  if (!exit_code_) reap(WNOHANG);
  return exit_code_;
}

int LaunchedCommand::wait() {
  while (!exit_code_) reap(0);
  return *exit_code_;
}

void LaunchedCommand::reap(int options) {
  int status = 0;
  const pid_t reaped = ::wait4(pid_, &status, options, &usage_);
  if (reaped == 0 || (reaped < 0 && errno == EINTR)) return;
  if (reaped > 0) usage_ = usage_since(usage_, held_usage_);
  exit_code_ = reaped < 0 ? kCannotRun : WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

int LaunchedCommand::end(std::optional<int> signal) {
  if (find_exit_code()) return *exit_code_;
  if (signal) {
    if (*signal != SIGINT || own_terminal_) send(*signal);  // a terminal of both gave Ctrl-C to both
    return wait();
  }
  send(SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + kTimeout;
  while (!find_exit_code() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (!find_exit_code()) send(SIGKILL);
  wait();
  return 0;
}

void LaunchedCommand::send(int signal) const {
  if (pid_ > 0 && !exit_code_) ::kill(pid_, signal);
}

}  // namespace cicada::cli
