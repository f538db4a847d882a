// SPDX-License-Identifier: Apache-2.0
// A process that does nothing but fork others: it was started before anything of strangers' was read and before there were threads, and
// stays so. Neither has anything of our environment but LD_LIBRARY_PATH.
//
//   collector ── user, one end of a socket ──▶ zygote ── fork ──▶ child: LockDown::apply, then `work` on its end of the socket
//                                                              └─▶ helper: keeps its rights, and does `help`
//
// All end when the collector ends. Signals of a terminal are ignored: who started them says when they end.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/channel.h"

namespace cicada::sandbox {

class Zygote {
 public:
  static constexpr int kSocket = 3;  // of the program that is started
  struct Child {
    Channel channel;
    UniqueFd process;  // a pidfd
    pid_t pid = 0;     // its number; may be another's once it has ended
  };

  // `command` is the program with its arguments and is to call run_zygote(). Returns at once. Threads: any.
  static Result<std::unique_ptr<Zygote>> start(const std::vector<std::string>& command);
  // Its children end with it.
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;
  // Fails: kGone (the zygote has ended), kLimit (it has not answered for 5 s), kIo (it cannot fork). Threads: any.
  Result<Child> spawn(uint32_t user);
  // One that is not locked down, since it reads nothing of strangers': it does what may hang.
  Result<Child> spawn_helper();
  pid_t pid() const { return pid_; }

 private:
  Result<Child> spawn(uint32_t user, bool helper);
  Zygote(UniqueFd socket, pid_t pid) : channel_(std::move(socket)), pid_(pid) {}
  std::mutex mutex_;
  std::optional<Channel> channel_;
  uint64_t last_request_ = 0;
  const pid_t pid_;
};

// The zygote's own main loop: returns the exit code when the collector is gone. `work` runs in each child, `help` in each helper.
int run_zygote(void (*work)(Channel channel), void (*help)(Channel channel));

}  // namespace cicada::sandbox
