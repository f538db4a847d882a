// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and its relatives as something to poll: the first one ends the recording, results are still written. The second one ends cicada at
// once, whatever it is doing: a thread of its own waits for them. What comes within kSame of the first is the first: timeout(1) sends its
// signal to its child and to the child's group.
//
// SIGINT, SIGTERM and SIGHUP are blocked in this thread and in all threads it starts later, so create this first.
// SIGHUP is left alone when it is ignored (nohup). SIGPIPE is blocked too: a closed pipe is an error of the write that
// meets it. After `let_through()` the next one ends cicada at once: for the time when results are being written.
#pragma once
#include <signal.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cicada::cli {

class StopSignals {
 public:
  static constexpr auto kSame = std::chrono::milliseconds(100);

  static Result<StopSignals> open();
  // Starts the thread. Until then signals wait.
  void watch() const;
  int fd() const { return state_->arrived.get(); }  // readable when one has arrived
  // The signal's number; nothing if none has arrived.
  std::optional<int> take();
  void let_through();

  static sigset_t blocked();  // everything open() may block

 private:
  struct State {  // shared with the thread, which never ends
    sigset_t awaited{};
    UniqueFd arrived;  // an eventfd
    std::atomic<int> first{0};
  };
  StopSignals() : state_(std::make_shared<State>()) {}
  std::shared_ptr<State> state_;
};

}  // namespace cicada::cli
