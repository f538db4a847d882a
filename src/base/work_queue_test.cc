// SPDX-License-Identifier: Apache-2.0
#include "base/work_queue.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/cpu_clock.h"

namespace cicada {
namespace {

using namespace std::chrono_literals;
using Attempt = WorkQueue::Attempt;

// What happened, in order.
class Log {
 public:
  void add(std::string line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

// Keeps a worker at a job until it is opened.
struct Gate {
  std::latch arrived{1}, open{1};
};

class Blocked {
 public:
  WorkQueue::Job job(uint32_t owner = 0) {
    return {.owner = owner, .run = [gate = gate_](Attempt&) {
              gate->arrived.count_down();
              gate->open.wait();
            }};
  }
  void wait_until_running() { gate_->arrived.wait(); }
  void open() { gate_->open.count_down(); }

 private:
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};

class WorkQueueTest : public testing::Test {
 protected:
  // A job that says its name when it runs, and "-name" when it is given up.
  WorkQueue::Job named(std::string name, uint32_t owner, size_t bytes = 0) {
    return {.owner = owner,
            .bytes = bytes,
            .run = [log = log_, name](Attempt&) { log->add(name); },
            .give_up = [log = log_,
                        name](const Error& why) { log->add((why.kind() == ErrorKind::kLimit ? "-" : "?") + name); }};
  }
  std::vector<std::string> lines() const { return log_->lines(); }

  std::shared_ptr<Log> log_ = std::make_shared<Log>();
  Blocked first_;
};

using Lines = std::vector<std::string>;

TEST_F(WorkQueueTest, OwnersTakeTurns) {
  WorkQueue queue({"test"});
  queue.submit(first_.job(7));
  first_.wait_until_running();
  for (const char* name : {"a1", "a2", "a3", "a4"}) queue.submit(named(name, 1));
  for (const char* name : {"b1", "b2"}) queue.submit(named(name, 2));
  queue.submit(named("c1", 3));
  first_.open();
  EXPECT_TRUE(queue.wait_idle());
  EXPECT_EQ(lines(), (Lines{"a1", "b1", "c1", "a2", "b2", "a3", "a4"}));
  EXPECT_EQ(queue.counts().done, 8U);
}

TEST_F(WorkQueueTest, TheLightestOfAnOwnerGoesFirst) {
  WorkQueue queue({"test"});
  queue.submit(first_.job(7));
  first_.wait_until_running();
  const auto weighing = [&](const char* name, uint64_t weight) {
    WorkQueue::Job job = named(name, 1);
    job.weight = weight;
    return queue.submit(std::move(job));
  };
  weighing("heavy", 9);
  weighing("light", 1);
  weighing("light too", 1);
  weighing("lighter", 0);
  first_.open();
  EXPECT_TRUE(queue.wait_idle());
  EXPECT_EQ(lines(), (Lines{"lighter", "light", "light too", "heavy"}));
}

TEST_F(WorkQueueTest, HeavyOnesNeverHaveAllWorkers) {
  WorkQueue queue({.thread_name = "test", .workers = 2, .heavy = 10});
  WorkQueue::Job heavy = first_.job(1);
  heavy.weight = 10;
  queue.submit(std::move(heavy));
  first_.wait_until_running();
  WorkQueue::Job another = named("heavy", 1);
  another.weight = 20;
  queue.submit(std::move(another));
  EXPECT_TRUE(queue.wait(queue.submit(named("light", 1))));
  EXPECT_TRUE(queue.wait(queue.submit(named("light of another", 2))));
  EXPECT_EQ(lines(), (Lines{"light", "light of another"}));
  first_.open();
  EXPECT_TRUE(queue.wait_idle());
  EXPECT_EQ(lines().back(), "heavy");
}

TEST_F(WorkQueueTest, WhereThereIsOneWorkerHeavyOnesHaveIt) {
  WorkQueue queue({.thread_name = "test", .heavy = 10});
  WorkQueue::Job heavy = named("heavy", 1);
  heavy.weight = 10;
  queue.submit(std::move(heavy));
  EXPECT_TRUE(queue.wait_idle());
  EXPECT_EQ(lines(), Lines{"heavy"});
}

TEST_F(WorkQueueTest, WhoHasMostLosesItsNewestWhenAllBytesAreUsed) {
  WorkQueue queue({.thread_name = "test", .max_bytes = 4 * WorkQueue::kJobBytes});
  queue.submit(first_.job());
  first_.wait_until_running();
  for (const char* name : {"a1", "a2", "a3", "a4"}) EXPECT_NE(queue.submit(named(name, 1)), 0U);
  EXPECT_EQ(queue.submit(named("a5", 1)), 0U) << "its own share is the largest";
  EXPECT_NE(queue.submit(named("b1", 2)), 0U);
  EXPECT_NE(queue.submit(named("b2", 2)), 0U);
  EXPECT_EQ(queue.submit(named("b3", 2)), 0U) << "both have half of it";
  EXPECT_EQ(lines(), (Lines{"-a4", "-a3"}));
  EXPECT_EQ(queue.counts().refused, 4U);
  first_.open();
  EXPECT_TRUE(queue.wait_idle());
  EXPECT_EQ(lines(), (Lines{"-a4", "-a3", "a1", "b1", "a2", "b2"}));
}

TEST_F(WorkQueueTest, BytesOfJobsCountUntilTheyRun) {
  WorkQueue queue({.thread_name = "test", .max_bytes = 1000 + WorkQueue::kJobBytes});
  EXPECT_EQ(queue.submit(named("too large", 1, 1001)), 0U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(queue.submit(named("fits", 1, 1000)), 0U);
    EXPECT_TRUE(queue.wait_idle());
  }
  EXPECT_EQ(queue.counts().refused, 1U);
}

TEST_F(WorkQueueTest, WaitsForOneJob) {
  WorkQueue queue({"test"});
  const auto runs = queue.submit(first_.job());
  first_.wait_until_running();
  const auto waits = queue.submit(named("next", 1));
  EXPECT_FALSE(queue.wait(runs, 0ms));
  EXPECT_FALSE(queue.wait(waits, 0ms));
  first_.open();
  EXPECT_TRUE(queue.wait(waits));
  EXPECT_TRUE(queue.wait(runs, 0ms));
  EXPECT_EQ(lines(), Lines{"next"});
}

TEST_F(WorkQueueTest, StopEndsWhatRunsAndForgetsTheRest) {
  WorkQueue queue({.thread_name = "test", .workers = 2});
  std::latch running(2);
  for (int i = 0; i < 2; ++i) {
    queue.submit({.run = [&](Attempt& attempt) {
      running.count_down();
      while (!attempt.stop_token().stop_requested()) std::this_thread::yield();
      log_->add("stopped");
    }});
  }
  running.wait();
  queue.submit(named("never", 1));
  queue.stop();
  EXPECT_EQ(lines(), (Lines{"stopped", "stopped"}));
  EXPECT_EQ(queue.submit(named("after", 1)), 0U);
  EXPECT_TRUE(queue.wait_idle(0ms));
}

TEST_F(WorkQueueTest, JobThatThrowsIsGivenUp) {
  WorkQueue queue({"test"});
  auto job = named("throws", 1);
  job.run = [](Attempt&) { throw std::runtime_error("no memory"); };
  queue.submit(std::move(job));
  queue.submit(named("next", 1));
  EXPECT_TRUE(queue.wait_idle());
  EXPECT_EQ(lines(), (Lines{"?throws", "next"}));
}

TEST_F(WorkQueueTest, WorkersHaveNameAndNice) {
  const int before = ::getpriority(PRIO_PROCESS, 0);
  WorkQueue queue({.thread_name = "a name", .nice = 3});
  queue.submit({.run = [&](Attempt&) {
    char name[16] = {};
    ::prctl(PR_GET_NAME, name);
    log_->add(name);
    log_->add(std::to_string(::getpriority(PRIO_PROCESS, 0) - before));
  }});
  EXPECT_TRUE(queue.wait_idle());
  queue.set_nice(5);
  queue.submit({.run = [&](Attempt&) { log_->add(std::to_string(::getpriority(PRIO_PROCESS, 0) - before)); }});
  EXPECT_TRUE(queue.wait_idle());
  EXPECT_EQ(lines(), (Lines{"a name", "3", "5"}));
}

TEST_F(WorkQueueTest, WhoWorksMuchComesLater) {
  WorkQueue queue({"test"});
  queue.submit(first_.job(7));
  first_.wait_until_running();
  for (const char* name : {"a1", "a2", "a3"}) {
    queue.submit({.owner = 1, .run = [log = log_, name](Attempt&) {
                    timespec used{};
                    do ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
                    while (used.tv_nsec % 50'000'000 < 40'000'000);
                    log->add(name);
                  }});
  }
  for (const char* name : {"b1", "b2", "b3"}) queue.submit(named(name, 2));
  first_.open();
  EXPECT_TRUE(queue.wait_idle());
  EXPECT_EQ(lines(), (Lines{"a1", "b1", "b2", "b3", "a2", "a3"}));
}

// A parser's time is its file's owner's.
TEST_F(WorkQueueTest, WhoLetsOthersWorkMuchComesLater) {
  WorkQueue queue({"test"});
  queue.submit(first_.job(7));
  first_.wait_until_running();
  for (const char* name : {"a1", "a2", "a3"}) {
    queue.submit({.owner = 1, .run = [log = log_, name](Attempt&) {
                    delegated_cpu_time() += std::chrono::milliseconds(100);
                    log->add(name);
                  }});
  }
  for (const char* name : {"b1", "b2", "b3"}) queue.submit(named(name, 2));
  first_.open();
  EXPECT_TRUE(queue.wait_idle());
  EXPECT_EQ(lines(), (Lines{"a1", "b1", "b2", "b3", "a2", "a3"}));
}

// Of two workers one is left to others.
TEST_F(WorkQueueTest, WhoHasAJobRunningComesLater) {
  WorkQueue queue({.thread_name = "test", .workers = 2});
  Blocked second;
  queue.submit(first_.job(1));
  queue.submit(second.job(2));
  first_.wait_until_running();
  second.wait_until_running();
  Blocked third;
  queue.submit(third.job(1));
  queue.submit(named("a", 1));
  queue.submit(named("b", 2));
  second.open();  // 1 has one running still
  while (lines().empty()) std::this_thread::yield();
  EXPECT_EQ(lines()[0], "b");
  third.open();
  first_.open();
  EXPECT_TRUE(queue.wait_idle());
}

// What a job submits is done after it, and waited for.
TEST_F(WorkQueueTest, AnOwnerHasNoMoreWorkersThanItMay) {
  WorkQueue queue({.thread_name = "test", .workers = 2, .of_one_owner = 1});
  Blocked first, second, other;
  queue.submit(first.job(1));
  first.wait_until_running();
  const auto waits = queue.submit(named("second", 1));
  queue.submit(second.job(1));
  queue.submit(other.job(2));
  other.wait_until_running();
  other.open();
  EXPECT_FALSE(queue.wait(waits, 20ms)) << "a worker is free, but not for who has one";
  EXPECT_EQ(lines(), Lines{});
  first.open();
  second.wait_until_running();
  second.open();
}

TEST_F(WorkQueueTest, JobsMaySubmit) {
  WorkQueue queue({"test"});
  queue.submit({.run = [this](Attempt& attempt) {
    attempt.submit(named("then", 0));
    log_->add("first");
  }});
  EXPECT_TRUE(queue.wait_idle());
  EXPECT_EQ(lines(), (Lines{"first", "then"}));
}

TEST_F(WorkQueueTest, TellsHowLongItWasBusy) {
  WorkQueue queue({"test"});
  EXPECT_EQ(queue.counts().busy, 0s);
  queue.submit(first_.job());
  while (queue.counts().busy == 0s) std::this_thread::yield();
  first_.open();
  EXPECT_TRUE(queue.wait_idle());
  const auto busy = queue.counts().busy;
  EXPECT_GT(busy, 0s);
  EXPECT_EQ(queue.counts().busy, busy);
}

TEST_F(WorkQueueTest, ManyThreadsMaySubmit) {
  WorkQueue queue({.thread_name = "test", .workers = 3});
  std::atomic<int> runs = 0;
  {
    std::vector<std::jthread> submitters;
    for (uint32_t owner = 0; owner < 4; ++owner) {
      submitters.emplace_back([&, owner] {
        for (int i = 0; i < 500; ++i) queue.submit({.owner = owner, .run = [&](Attempt&) { ++runs; }});
      });
    }
  }
  EXPECT_TRUE(queue.wait_idle());
  EXPECT_EQ(runs, 2000);
}

}  // namespace
}  // namespace cicada
