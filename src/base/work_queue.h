// SPDX-License-Identifier: Apache-2.0
// Work for a few threads of its own: bounded, and fair between owners.
//
//   submit ──▶ waiting, by owner ──▶ a worker: job.run(attempt)
//                  │ no room                     │ it throws
//                  └──▶ job.give_up ◀────────────┘
//
// Owners take turns by time: next is who has the fewest jobs running, of those who has worked least since the queue was idle; of his jobs
// the lightest, of those the oldest. All that waits has a budget in bytes. When it is used up, the owner with the most loses its last
// job; if that is who asks, it is refused. So nobody is kept out by another, and an owner that is alone has everything.
//
// The end waits for what runs. So a job ends soon after its stop token says so; what may never return (open() of a file system that does not
// answer) is done by a child (base/disposable_child.h).
//
// Threads: any. Workers are started when they are needed.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

#include "base/result.h"

namespace cicada {

class WorkQueue {
  struct State;
  struct Ticket;

 public:
  struct Job;
  using Clock = std::chrono::steady_clock;
  using JobId = uint64_t;  // never used twice; 0: no job
  static constexpr std::chrono::milliseconds kForever = std::chrono::milliseconds::max();
  static constexpr size_t kJobBytes = 256;  // that a waiting job takes beside its `bytes`

  // What a running job says to its queue.
  class Attempt {
   public:
    // Stops when the queue ends.
    std::stop_token stop_token() const;
    // As the queue's.
    JobId submit(Job job);

   private:
    friend struct State;
    explicit Attempt(State& state) : state_(state) {}
    State& state_;
  };

  struct Job {
    uint32_t owner = 0;   // the uid that this is done for
    size_t bytes = 0;     // that it holds while it waits
    uint64_t weight = 0;  // how long it may take, in any unit: the lightest of an owner goes first
    std::function<void(Attempt&)> run{};
    // It was not done, or not to its end; called by any thread that uses the queue. Why: kLimit (no room), or what run() threw.
    std::function<void(const Error&)> give_up{};
  };

  struct Options {
    const char* thread_name;  // 15 characters at most
    unsigned workers = 1;
    unsigned of_one_owner = UINT32_MAX;  // of the workers, at a time
    uint64_t heavy = UINT64_MAX;         // jobs of this weight and more have all workers but one, if there are several
    int nice = 0;                        // added to that of who starts a worker
    size_t max_bytes = SIZE_MAX;         // of what waits
  };

  struct Counts {
    uint64_t done = 0;       // runs that ended
    uint64_t refused = 0;    // for want of room or of threads, at submit() or later
    Clock::duration busy{};  // time during which there was work
  };

  explicit WorkQueue(const Options& options);
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // 0: refused; its give_up is not called.
  JobId submit(Job job);
  // Waits until it neither waits nor runs; its give_up may still be on the way. False: it still does.
  bool wait(JobId job, std::chrono::milliseconds timeout = kForever);
  // The same for all jobs.
  bool wait_idle(std::chrono::milliseconds timeout = kForever);
  // Of the workers there are and will be. Less than before needs CAP_SYS_NICE, without which nothing happens.
  void set_nice(int nice);
  // Refuses everything from now on, forgets what waits, asks what runs to stop, and waits for it. Done by the destructor.
  void stop();
  Counts counts() const;

 private:
  const std::unique_ptr<State> state_;
};

}  // namespace cicada
