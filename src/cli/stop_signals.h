// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and its relatives as something to poll: the first one ends the recording, results are still written.
//
// SIGINT, SIGTERM and SIGHUP are blocked in this thread and in all threads it starts later, so create this first.
// SIGHUP is left alone when it is ignored (nohup). SIGPIPE is blocked too: a closed pipe is an error of the write that
// meets it. After `let_through()` the next Ctrl-C ends cicada at once: for the time when results are being written.
#pragma once
#include <signal.h>

#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cicada::cli {

class StopSignals {
 public:
  static Result<StopSignals> open();
  int fd() const { return fd_.get(); }  // readable when one has arrived
  // The signal's number; nothing if none is waiting.
  std::optional<int> take();
  void let_through();

  static sigset_t blocked();  // everything open() may block

 private:
  StopSignals() = default;
  UniqueFd fd_;
};

}  // namespace cicada::cli
