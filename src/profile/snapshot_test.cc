// SPDX-License-Identifier: Apache-2.0
#include "profile/snapshot.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "profile/profile.h"
#include "profile/synthetic_profile_for_test.h"

namespace cicada::profile {
namespace {

TEST(Log, ACopyKeepsItsRowsWhileTheWriterGoesOn) {
  Log<int, 2> log;
  for (int i = 0; i < 10; ++i) log.push_back(i);
  const Log<int, 2> copy = log;
  for (int i = 10; i < 100; ++i) log.push_back(i);
  log.edit(3) = -1;
  log.edit(9) = -2;
  ASSERT_EQ(copy.size(), 10u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(copy[static_cast<size_t>(i)], i);
  EXPECT_EQ(log[3], -1);
  EXPECT_EQ(log[9], -2);
  EXPECT_EQ(log[99], 99);
}

TEST(Log, TwoWritersOfOneOriginDoNotMeet) {
  Log<int, 2> a;
  for (int i = 0; i < 6; ++i) a.push_back(i);
  Log<int, 2> b = a;
  a.push_back(60);
  b.push_back(61);
  b.push_back(62);
  a.push_back(63);
  EXPECT_EQ(a[6], 60);
  EXPECT_EQ(b[6], 61);
  EXPECT_EQ(a[7], 63);
  EXPECT_EQ(b[7], 62);
}

TEST(Log, RowsAppendedTogetherStandTogether) {
  Log<int, 3> log;
  std::mt19937 random(1);
  std::vector<std::pair<size_t, std::vector<int>>> spans;
  for (int i = 0; i < 300; ++i) {
    std::vector<int> rows(random() % 9);
    for (int& row : rows) row = static_cast<int>(random());
    spans.emplace_back(log.append_together(rows), rows);
  }
  for (const auto& [begin, rows] : spans) {
    const auto stored = log.together(begin, rows.size());
    EXPECT_TRUE(std::equal(stored.begin(), stored.end(), rows.begin(), rows.end()));
  }
}

TEST(Log, DropsWholeChunksAndCopiesKeepThem) {
  Log<int, 2> log;
  for (int i = 0; i < 11; ++i) log.push_back(i);
  const Log<int, 2> copy = log;
  log.drop_front_chunks(2);
  ASSERT_EQ(log.size(), 3u);
  EXPECT_EQ(log[0], 8);
  log.push_back(11);
  log.push_back(12);
  EXPECT_EQ(log[4], 12);
  EXPECT_EQ(copy[0], 0);
  EXPECT_EQ(copy[10], 10);
}

// The model is a vector; every operation in random order, with copies taken now and then and looked at again at the end.
TEST(Log, AgreesWithAVectorUnderRandomUse) {
  std::mt19937 random(42);
  Log<uint32_t, 3> log;
  std::vector<uint32_t> model;
  std::vector<std::pair<Log<uint32_t, 3>, std::vector<uint32_t>>> copies;
  for (int step = 0; step < 20000; ++step) {
    const auto value = static_cast<uint32_t>(random());
    switch (random() % 20) {
      case 0: copies.emplace_back(log, model); break;
      case 1:
        if (!model.empty()) {
          const size_t at = random() % model.size();
          log.edit(at) = model[at] = value;
        }
        break;
      case 2:
        if (model.size() > 64 && random() % 8 == 0) {
          log.drop_front_chunks(2);
          model.erase(model.begin(), model.begin() + 16);
        }
        break;
      case 3: {
        Log<uint32_t, 3> moved = std::move(log);
        log = std::move(moved);
        break;
      }
      default:
        log.push_back(value);
        model.push_back(value);
    }
    if (copies.size() > 20) copies.erase(copies.begin());
  }
  copies.emplace_back(log, model);
  for (const auto& [copy, expected] : copies) EXPECT_TRUE(std::equal(copy.begin(), copy.end(), expected.begin(), expected.end()));
}

TEST(Samples, APlainOneTakes24BytesAndAValueOfItsOwnEightMoreInItsBlock) {
  const Samples s;
  EXPECT_EQ(sizeof(s.time_ns[0]) + sizeof(s.thread[0]) + sizeof(s.stack[0]) + sizeof(s.labels[0]) + sizeof(s.cpu[0]) + sizeof(s.event[0]) +
                sizeof(s.state[0]),
            24u);
  Profile profile;
  const ThreadId thread = profile.intern_thread(profile.intern_process(1, 1), 1);
  for (uint64_t i = 0; i < 10000; ++i) profile.append_sample({.time_ns = i, .thread = thread, .value = i == 5000 ? uint64_t{1} << 40 : 1});
  EXPECT_EQ(profile.samples().find_value(4000), nullptr);
  EXPECT_EQ(profile.value(5000), uint64_t{1} << 40);
  EXPECT_EQ(profile.value(4999), 1u);
  EXPECT_EQ(profile.samples().find_value(9000), nullptr);
  EXPECT_EQ(profile.totals_of({}).value, 9999 + (uint64_t{1} << 40));
}

TEST(Samples, SayHowLongAWaitHadLasted) {
  Profile profile;
  const ThreadId thread = profile.intern_thread(profile.intern_process(1, 1), 1);
  for (uint64_t i = 0; i < 10000; ++i) profile.append_sample({.time_ns = i, .thread = thread, .lasted_ns = i % 4999 == 1 ? i : 0});
  const size_t plain = 10000 * 24;
  EXPECT_GE(profile.sample_bytes(), plain + 2 * 8 * 4096);
  for (uint64_t i = 0; i < 10000; ++i) ASSERT_EQ(profile.sample(i).lasted_ns, i % 4999 == 1 ? i : 0) << i;
  const size_t dropped = profile.drop_samples(4999);
  EXPECT_EQ(profile.sample(5000 - dropped).lasted_ns, 5000U);
}

TEST(ProfileSnapshot, IsWhatTheProfileWas) {
  Profile profile;
  const ProcessId process = profile.intern_process(7, 1);
  const ThreadId thread = profile.intern_thread(process, 7);
  const FrameId frame = profile.intern_frame({FrameKind::kNative, {}, 0, 1, {}});
  profile.append_sample({.time_ns = 1, .thread = thread, .stack = profile.intern_stack({}, frame)});
  const ProfileSnapshot before = profile;
  profile.edit_process(process, [&](Process& p) { p.name = profile.intern("late"); });
  const Location location[] = {{profile.intern_function({profile.intern("main"), {}, {}})}};
  profile.set_locations(frame, location);
  profile.append_sample({.time_ns = 2, .thread = thread});
  const ProfileSnapshot after = profile;

  EXPECT_EQ(before.sample_count(), 1u);
  EXPECT_TRUE(before.locations(frame).empty());
  EXPECT_FALSE(before.processes()[process.value].name.valid());
  EXPECT_EQ(after.sample_count(), 2u);
  EXPECT_EQ(after.locations(frame).size(), 1u);
  EXPECT_EQ(after.text(after.processes()[process.value].name), "late");

  const SnapshotSizes from = before.sizes(), to = after.sizes();
  EXPECT_EQ(from.lineage, to.lineage);
  EXPECT_EQ(to.samples - from.samples, 1u);
  ASSERT_EQ(to.renamed_frames - from.renamed_frames, 1u);
  EXPECT_EQ(after.renamed_frames()[from.renamed_frames], frame);
  ASSERT_EQ(to.described_processes - from.described_processes, 1u);
  EXPECT_EQ(after.described_processes()[from.described_processes], process);
  EXPECT_NE(Profile().sizes().lineage, from.lineage);
}

TEST(ProfileSnapshot, SumsAreWhatSamplesAddUpToAlsoAfterSomeWereDropped) {
  Profile profile;
  profile.header.events = {{.name = "clock"}, {.name = "faults", .unit = Unit::kEvents}};
  const ThreadId thread = profile.intern_thread(profile.intern_process(1, 1), 1);
  std::mt19937 random(3);
  for (uint64_t i = 0; i < 20000; ++i) {
    StackId stack;
    for (size_t depth = random() % 5; depth-- > 0;) stack = profile.intern_stack(stack, profile.intern_frame({FrameKind::kNative, {}, 0, random() % 9, {}}));
    profile.append_sample({.time_ns = i,
                           .thread = thread,
                           .stack = stack,
                           .value = 1 + random() % 3,
                           .event = {static_cast<uint8_t>(random() % 2)},
                           .end_reason = static_cast<uint8_t>(random() % END_REASON_COUNT),
                           .idle = random() % 7 == 0});
  }
  EXPECT_EQ(profile.drop_samples(9000), 8192u);
  EXPECT_EQ(profile.samples().dropped(), 8192u);
  EXPECT_EQ(profile.samples().time_ns[0], 8192u);
  for (uint8_t e = 0; e < 2; ++e) {
    EventSums expected;
    std::vector<uint64_t> by_stack(profile.stacks().size() + 1);
    for (size_t i = 0; i < profile.sample_count(); ++i) {
      const Sample s = profile.sample(i);
      if (s.event.value != e) continue;
      ++expected.samples;
      ++expected.end_reasons[s.end_reason];
      if (s.idle) continue;
      expected.value += s.value;
      by_stack[s.stack.valid() ? s.stack.value + 1 : 0] += s.value;
    }
    EXPECT_EQ(profile.totals_of({e}).samples, expected.samples);
    EXPECT_EQ(profile.totals_of({e}).value, expected.value);
    EXPECT_EQ(profile.totals_of({e}).end_reasons, expected.end_reasons);
    const auto& sums = profile.sums_of({e});
    for (size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(sums[i].value, by_stack[i]) << i;
  }
}

// For the thread sanitizer above all: who reads a snapshot never meets who writes.
TEST(ProfileSnapshot, IsReadWhileTheProfileGrows) {
  Profile profile;
  const ThreadId thread = profile.intern_thread(profile.intern_process(1, 1), 1);
  std::shared_ptr<const ProfileSnapshot> latest = std::make_shared<ProfileSnapshot>(profile);
  std::mutex mutex;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> looked{0};
  std::vector<std::jthread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      while (!stop) {
        std::shared_ptr<const ProfileSnapshot> seen;
        {
          const std::lock_guard lock(mutex);
          seen = latest;
        }
        const ProfileSnapshot copy = *seen;
        uint64_t sum = 0;
        for (size_t i = 0; i < copy.sample_count(); ++i) sum += copy.value(i);
        EXPECT_EQ(sum, copy.totals_of({}).value);
        EXPECT_TRUE(copy.validate());
        ++looked;
      }
    });
  }
  for (uint64_t i = 0; i < 30000 || looked < 4; ++i) {
    const FrameId frame = profile.intern_frame({FrameKind::kNative, {}, 0, i % 500, {}});
    profile.append_sample({.time_ns = i, .thread = thread, .stack = profile.intern_stack({}, frame), .value = 1 + i % 2});
    if (i % 7 == 0) {
      const Location location[] = {{profile.intern_function({profile.intern(std::to_string(i % 90)), {}, {}})}};
      profile.set_locations(frame, location);
    }
    if (i % 100 == 0) {
      auto next = std::make_shared<const ProfileSnapshot>(profile);
      const std::lock_guard lock(mutex);
      latest.swap(next);
    }
    if (profile.sample_count() > 20000) profile.drop_samples(8192);
  }
  stop = true;
}

}  // namespace
}  // namespace cicada::profile
