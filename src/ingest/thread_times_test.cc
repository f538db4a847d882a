// SPDX-License-Identifier: Apache-2.0
#include "ingest/thread_times.h"

#include <gtest/gtest.h>

#include "ingest/metadata_reader.h"
#include "ingest/thread_table.h"
#include "process/metadata/metadata_cache.h"
#include "profile/compaction.h"

namespace cicada::ingest {
namespace {

constexpr uint64_t kBegin = 1'000'000'000'000, kSecond = 1'000'000'000;

// Threads of process 5, whose start is the same for all.
class ThreadTimesTest : public ::testing::Test {
 protected:
  profile::ThreadId sampled(Tid tid) {
    sample_record sample{};
    sample.pid = 5;
    sample.tid = tid;
    sample.start_ticks_low = 7;
    return threads.find_or_add(sample);
  }
  static thread_time ran(Tid tid, uint64_t start_ns, uint64_t ran_ns, bool lives) {
    return {.kind = RECORD_THREAD_TIME, .pid = 5, .tid = tid, .start_ticks_low = 7, .start_in_tick = 0, .lives = static_cast<uint16_t>(lives), .padding = 0, .start_ns = start_ns, .ran_ns = ran_ns};
  }
  void looked_at(Tid tid, uint64_t start_ns, uint64_t ran_ns) { times.take(ran(tid, start_ns, ran_ns, true), now); }
  void ended(Tid tid, uint64_t start_ns, uint64_t ran_ns) { times.take(ran(tid, start_ns, ran_ns, false), now); }
  std::optional<uint64_t> cpu_ns(profile::ThreadId id) const { return profile.threads()[id.value].cpu_ns; }

  uint64_t now = 0;
  profile::Profile profile;
  std::shared_ptr<process::ProcessMetadataCache> metadata = std::make_shared<process::ProcessMetadataCache>(process::ProcessMetadataCache::Options{.proc = "/nowhere"});
  MetadataReader reader{metadata, false};
  ThreadTable threads{profile, reader};
  ThreadTimes times{threads};
};

TEST_F(ThreadTimesTest, AreWhatThreadsRanBetweenBeginAndEnd) {
  const auto lives = sampled(5), ends = sampled(6), begins = sampled(7), comes_and_goes = sampled(8), idles = sampled(9);
  times.begin(kBegin, now);
  for (const Tid tid : {5, 6}) looked_at(tid, 10, 1000);
  looked_at(9, 10, 500);
  ended(6, 10, 1300);
  ended(8, kBegin + 1, 40);
  times.end();
  looked_at(5, 10, 1020);
  looked_at(7, kBegin + 2, 3);
  looked_at(9, 10, 500);
  times.settle_all();
  EXPECT_EQ(cpu_ns(lives), 20U);
  EXPECT_EQ(cpu_ns(ends), 300U);
  EXPECT_EQ(cpu_ns(begins), 3U);
  EXPECT_EQ(cpu_ns(comes_and_goes), 40U);
  EXPECT_EQ(cpu_ns(idles), 0U) << "known, and nothing";
  EXPECT_TRUE(threads.has_cpu_times());
}

TEST_F(ThreadTimesTest, WhatIsRunAfterTheEndDoesNotCount) {
  const auto id = sampled(5), later = sampled(6);
  times.begin(kBegin, now);
  looked_at(5, 10, 1000);
  times.end();
  looked_at(5, 10, 1020);
  looked_at(6, kBegin + 1, 8);
  ended(5, 10, 5000);
  ended(6, kBegin + 1, 70);
  times.settle_all();
  EXPECT_EQ(cpu_ns(id), 20U);
  EXPECT_EQ(cpu_ns(later), 8U);
}

// Nobody tells of a kernel thread where only processes are asked for, or of a waker that is somebody else's.
TEST_F(ThreadTimesTest, AreNotExpectedOfStrangers) {
  sample_record sample{};
  sample.pid = sample.tid = 9;
  threads.find_or_add(sample);
  EXPECT_TRUE(threads.has_cpu_times());
}

TEST_F(ThreadTimesTest, WhoLivedBeforeAndWasNotSeenIsNotKnown) {
  const auto id = sampled(5);
  times.begin(kBegin, now);
  ended(5, 10, kSecond / 1000);
  times.settle_all();
  EXPECT_EQ(cpu_ns(id), std::nullopt);
}

// exec by another thread than the first: it gets the first one's id and start, and has run longer than there was time, or less than the first one had.
TEST_F(ThreadTimesTest, WhoTookAnotherThreadsPlaceIsNotKnown) {
  const auto more = sampled(5), less = sampled(6);
  times.begin(kBegin, now);
  looked_at(5, 10, 1000);
  looked_at(6, 10, 3600 * kSecond);
  times.end();
  now = 2 * kSecond;
  looked_at(5, 10, 3600 * kSecond);
  looked_at(6, 10, 1000);
  times.settle_all();
  EXPECT_EQ(cpu_ns(more), std::nullopt);
  EXPECT_EQ(cpu_ns(less), std::nullopt);
}

// The record of the earlier thread's end comes late.
TEST_F(ThreadTimesTest, AnEarlierThreadsEndSaysNothingOfTheLaterOne) {
  const auto id = sampled(5);
  times.begin(kBegin, now);
  times.end();
  looked_at(5, kBegin + 5, 30);
  ended(5, kBegin + 1, 4);
  ended(5, kBegin + 5, 90);
  times.settle_all();
  EXPECT_EQ(cpu_ns(id), 34U);
}

TEST_F(ThreadTimesTest, AnIdThatIsUsedAgainIsAnotherThread) {
  const auto id = sampled(5);
  times.begin(kBegin, now);
  looked_at(5, 10, 1000);
  ended(5, kBegin + 1, 30);  // the end of the first one was lost
  ended(5, kBegin + 2, 4);
  times.settle_all();
  EXPECT_EQ(cpu_ns(id), 34U);
}

TEST_F(ThreadTimesTest, WhoHasEndedWaitsForItsSamples) {
  times.begin(kBegin, now);
  ended(5, kBegin + 1, 30);
  now = 5 * kSecond;
  ended(6, kBegin + 1, 30);
  times.settle(9 * kSecond);
  const auto id = sampled(5);
  times.settle(11 * kSecond);
  EXPECT_EQ(cpu_ns(id), 30U);
  EXPECT_TRUE(threads.has_cpu_times());
  const auto second = sampled(6);
  EXPECT_EQ(cpu_ns(second), std::nullopt);
  EXPECT_FALSE(threads.has_cpu_times());
  times.settle(16 * kSecond);
  EXPECT_EQ(cpu_ns(second), 30U);
  EXPECT_EQ(profile.threads().size(), 2U);
}

TEST_F(ThreadTimesTest, StayWithTheThreadInACompactedProfile) {
  const auto id = sampled(5);
  profile.header.events.resize(1);
  profile.append_sample({.thread = id});
  times.begin(kBegin, now);
  ended(5, kBegin + 1, 30);
  times.settle(now + 11 * kSecond);
  EXPECT_EQ(cpu_ns(id), 30U);
  profile::Compaction compaction(profile);
  compaction.copy({});
  compaction.finish(profile, [&](profile::RowCopier& ids) { threads.rebase(ids); });
  ended(5, kBegin + 9, 4);
  times.settle_all();
  EXPECT_EQ(cpu_ns(sampled(5)), 34U);
}

}  // namespace
}  // namespace cicada::ingest
