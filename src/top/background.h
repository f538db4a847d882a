// SPDX-License-Identifier: Apache-2.0
// Does what may take long, on a thread of its own: a file may be on a file system that does not answer, and the view goes on then.
//
// Threads: one gives jobs and takes what they end with.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "top/app.h"

namespace cicada::top {

class Background {
 public:
  using End = std::function<void(App&)>;  // what is to be done with the result, on the thread that takes it
  using Job = std::function<End()>;
  static Result<std::unique_ptr<Background>> start();
  ~Background();  // waits for what is being done, but not long
  // Instead of the one that was given before and is not begun.
  void run(Job job);
  int fd() const { return state_->ended_fd.get(); }  // readable when a job has ended
  std::optional<End> take();

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable given, idle;
    std::optional<Job> job;
    std::optional<End> end;
    bool leaves = false, busy = false;
    UniqueFd ended_fd;
  };
  explicit Background(std::shared_ptr<State> state) : state_(std::move(state)) {}
  static void work(State& state);
  const std::shared_ptr<State> state_;  // the thread's, too
};

}  // namespace cicada::top
