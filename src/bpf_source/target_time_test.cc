// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/target_time.h"

#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace cicada::bpf_source {
namespace {

constexpr uint64_t kMs = 1'000'000;

uint64_t own_ns(clockid_t clock = CLOCK_PROCESS_CPUTIME_ID) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void work(uint64_t ns, clockid_t clock = CLOCK_PROCESS_CPUTIME_ID) {
  for (const uint64_t end = own_ns(clock) + ns; own_ns(clock) < end;) continue;
}

SamplingConfig of_this_process() {
  SamplingConfig config;
  config.targets = TargetKind::kProcesses;
  config.pids = {::getpid()};
  return config;
}

TEST(TargetTime, IsWhatTheTargetUsedSinceTheStart) {
  work(20 * kMs);
  TargetTime time(of_this_process());
  const uint64_t before = own_ns();
  work(30 * kMs);
  const uint64_t used = time.used_ns({::getpid()}), most = own_ns() - before;
  EXPECT_GE(used, 30 * kMs);
  EXPECT_LE(used, most + 5 * kMs);  // from before the first look to after the last
}

TEST(TargetTime, PausesDoNotCount) {
  const std::vector<Pid> alive = {::getpid()};
  TargetTime time(of_this_process());
  work(30 * kMs);
  time.pause(true, alive);
  time.pause(true, alive);  // again changes nothing
  const uint64_t paused = time.used_ns(alive);
  EXPECT_GE(paused, 30 * kMs);
  work(200 * kMs);
  EXPECT_EQ(time.used_ns(alive), paused);
  time.pause(false, alive);
  const uint64_t resumed = own_ns();
  work(30 * kMs);
  const uint64_t used = time.used_ns(alive), most = paused + own_ns() - resumed;
  EXPECT_GE(used, paused + 30 * kMs);
  EXPECT_LE(used, most + 20 * kMs) << "the pause counts";
}

// Not what the rest of its process used, before or meanwhile.
TEST(TargetTime, OfAThreadIsItsOwn) {
  work(50 * kMs);
  SamplingConfig config;
  config.targets = TargetKind::kThreads;
  std::atomic<bool> over = false;
  std::atomic<Tid> tid = 0;
  std::jthread idles([&] {
    tid = ::gettid();
    tid.notify_all();
    over.wait(false);
  });
  tid.wait(0);
  config.tids = {tid};
  TargetTime time(config);
  work(50 * kMs);
  EXPECT_LT(time.used_ns({::getpid()}), 20 * kMs);
  over = true;
  over.notify_all();
  config.tids = {::gettid()};
  TargetTime own(config);
  work(30 * kMs, CLOCK_THREAD_CPUTIME_ID);  // the other thread's end is work, too
  std::this_thread::sleep_for(std::chrono::milliseconds(1));  // what a running thread used is written at the tick, what one that leaves used at once
  EXPECT_GE(own.used_ns({::getpid()}), 30 * kMs);
}

TEST(TargetTime, OfSomeCpusOnlyNobodyCanTell) {
  SamplingConfig config = of_this_process();
  config.events.cpus = {0};
  TargetTime time(config);
  work(kMs);
  EXPECT_EQ(time.used_ns({::getpid()}), 0U);
}

}  // namespace
}  // namespace cicada::bpf_source
