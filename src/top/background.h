// SPDX-License-Identifier: Apache-2.0
// Does what may take long, on a thread of its own, one thing after the other: a file may be on a file system that does not answer, and the view goes on then.
//
// Threads: one gives jobs and takes what they end with.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "base/unique_fd.h"
#include "top/app.h"

namespace cicada::top {

class Background {
 public:
  using End = std::function<void(App&)>;  // what is to be done with the result, on the thread that takes it
  using Job = std::function<End()>;
  // `name`: of the thread, a literal.
  static Result<std::unique_ptr<Background>> start(const char* name);
  ~Background();  // waits for what is being done, but not long
  void run(Job job);
  int fd() const { return state_->ended_fd.get(); }  // readable when a job has ended
  // Of all that have ended since, in their order.
  std::deque<End> take();

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable given, idle;
    std::deque<Job> jobs;
    std::deque<End> ends;
    bool leaves = false, busy = false;
    UniqueFd ended_fd;
  };
  explicit Background(std::shared_ptr<State> state) : state_(std::move(state)) {}
  static void work(State& state, const char* name);
  const std::shared_ptr<State> state_;  // the thread's, too
};

}  // namespace cicada::top
