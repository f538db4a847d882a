// SPDX-License-Identifier: Apache-2.0
// A command that is held before its first instruction until sampling runs.
//
//   fork ──▶ child gives our memory back, says so, waits on a pipe ──▶ release() ──▶ child execs ──▶ wait
//
// The child shares cicada's terminal, process group and standard streams, so its output is untouched and Ctrl-C reaches
// both; or it gets a terminal of its own, and a session. If cicada dies while it is held, the command never runs. Fork it before any thread is started. Owns the child:
// a command that was never released is ended by the destructor, one that runs is left alone.
#pragma once
#include <sys/resource.h>

#include <optional>
#include <string>
#include <vector>

#include "base/process_key.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "cli/invoking_user.h"

namespace cicada::cli {

class LaunchedCommand {
 public:
  // Exit codes of env(1) and of shells.
  static constexpr int kCannotRun = 126, kNotFound = 127, kSignalBase = 128;

  // `argv[0]` is looked up in PATH now, as `user`.
  // Fails: kNotFound, kPermission (found, but no executable file), or the system's error. exit_code_of() gives the
  // code. `more_environment`: "NAME=value", for the command only. `terminal`: its own one, borrowed;
  // -1: cicada's.
  static Result<LaunchedCommand> hold(std::vector<std::string> argv, const InvokingUser& user,
                                      const std::vector<std::string>& more_environment = {}, int terminal = -1);
  LaunchedCommand(LaunchedCommand&& other) noexcept;
  LaunchedCommand& operator=(LaunchedCommand&&) = delete;
  ~LaunchedCommand();

  Pid pid() const { return pid_; }
  // Lets it run; returns when its program has replaced the held process. Call once.
  // Fails as hold() does, for what only exec can tell ("bad interpreter").
  Result<void> release();
  // Readable when the command has ended: for poll().
  int exit_fd() const { return pidfd_.get(); }
  // The exit code as a shell gives it (128 + signal), once it has ended.
  std::optional<int> find_exit_code();
  // The same, however long it takes; continues when interrupted by signals.
  int wait();
  // Passes a signal on that only cicada got.
  void send(int signal) const;
  // Waits for it after `signal` ended the recording; without one its time is over, and it is ended: then the code says nothing about it.
  int end(std::optional<int> signal);
  // Its own and its children's since release(), once it has ended; the peak memory is the kernel's, at least what a held process has.
  const rusage& usage() const { return usage_; }

  static int exit_code_of(const Error& error) { return error.kind() == ErrorKind::kNotFound ? kNotFound : kCannotRun; }

 private:
  LaunchedCommand() = default;
  void reap(int options);
  std::string name_;
  Pid pid_ = -1;      // -1: moved from or reaped
  UniqueFd release_;  // write end: one byte lets the child go
  UniqueFd failure_;  // read end: errno of a failed exec, or end of file
  UniqueFd pidfd_;
  std::optional<int> exit_code_;
  bool own_terminal_ = false;
  rusage held_usage_{}, usage_{};
};

}  // namespace cicada::cli
