// SPDX-License-Identifier: Apache-2.0
#include "profile/wakeups.h"

#include <gmock/gmock.h>

#include <map>
#include <tuple>

#include "profile/frame_text.h"

namespace cicada::profile {
namespace {

using testing::ElementsAre;
using testing::Pair;

// "a" waits, "b" wakes it and had waited itself, "c" wakes that one.
class WakeupsTest : public testing::Test {
 protected:
  WakeupsTest() {
    profile_.header.events = {{.name = "cpu-clock"},
                              {.name = "off-cpu", .unit = Unit::kNanoseconds, .spent = Spent::kWaiting, .value = 100},
                              {.name = "wakeups", .unit = Unit::kNanoseconds, .spent = Spent::kOthersWaiting, .value = 100}};
  }
  ThreadId thread(std::string_view name) {
    const ThreadId id = profile_.intern_thread(profile_.intern_process(1, 1), name[0]);
    profile_.edit_thread(id, [&](Thread& row) { row.name = profile_.intern(name); });
    return id;
  }
  StackId stack(std::string_view function) {
    Frame frame;
    frame.kind = FrameKind::kLabel;
    frame.label = profile_.intern(function);
    return profile_.intern_stack({}, profile_.intern_frame(frame));
  }
  void add(uint8_t event, std::string_view name, std::string_view function, uint64_t begin_ns, uint64_t end_ns, uint64_t value, std::string_view state = "lock") {
    const Label label{profile_.intern(kStateLabel), profile_.intern(state)};
    profile_.append_sample({.time_ns = end_ns, .thread = thread(name), .stack = stack(function), .value = value, .lasted_ns = end_ns - begin_ns, .labels = profile_.intern_labels({&label, 1}), .event = {event}});
  }
  void waits(std::string_view name, uint64_t begin_ns, uint64_t end_ns, uint64_t value) { add(1, name, fmt::format("{}_waits", name), begin_ns, end_ns, value); }
  void wakes(std::string_view name, uint64_t begin_ns, uint64_t at_ns, uint64_t value) { add(2, name, fmt::format("{}_wakes", name), begin_ns, at_ns, value); }

  std::map<std::string, uint64_t> followed(unsigned hops) const {
    const Profile chains = follow_wakers(profile_, hops);
    EXPECT_TRUE(chains.validate());
    std::map<std::string, uint64_t> sums;
    for (size_t i = 0; i < chains.sample_count(); ++i) {
      std::string path;
      for (StackId at = chains.sample(i).stack; at.valid(); at = chains.stacks()[at.value].parent)
        path = std::string(chains.text(chains.frames()[chains.stacks()[at.value].frame.value].label)) + (path.empty() ? "" : ";") + path;
      sums[path] += chains.value(i);
    }
    return sums;
  }

  Profile profile_;
};

TEST_F(WakeupsTest, AWaitGoesOnWithWhoEndedIt) {
  wakes("b", 1000, 2000, 1000);
  waits("a", 1000, 2010, 1000);
  waits("a", 3000, 4000, 1000);  // nobody was seen
  add(0, "a", "runs", 0, 0, 1);
  EXPECT_THAT(followed(1), ElementsAre(Pair("a_waits", 1000), Pair("a_waits;[woken by b];b_wakes", 1000), Pair("runs", 1)));
}

// The thread could run: nobody ends that.
TEST_F(WakeupsTest, WhoOnlyWantsACpuHasNoWaker) {
  wakes("b", 1000, 2000, 1000);
  waits("a", 1000, 2300, 1000);
  add(1, "a", "a_waits", 1000, 2300, 300, kRunnableState);
  EXPECT_THAT(followed(1), ElementsAre(Pair("a_waits", 300), Pair("a_waits;[woken by b];b_wakes", 1000)));
}

// b computes for 300 of these 1,000 ns, then waits for c, 600 ns of it meanwhile.
TEST_F(WakeupsTest, TheWakersWaitHasItsShareOfTheTime) {
  wakes("c", 900, 1900, 1000);
  waits("b", 900, 1901, 1000);
  wakes("b", 1300, 2300, 1000);
  waits("a", 1300, 2310, 1000);
  EXPECT_THAT(followed(2), ElementsAre(Pair("a_waits;[woken by b];b_wakes", 400), Pair("a_waits;[woken by b];b_wakes;[which waited];b_waits;[woken by c];c_wakes", 600),
                                       Pair("b_waits;[woken by c];c_wakes", 1000)));
  EXPECT_THAT(followed(1), ElementsAre(Pair("a_waits;[woken by b];b_wakes", 1000), Pair("b_waits;[woken by c];c_wakes", 1000)));
}

// One of 50 ns that is worth 100 stands for another that was not kept.
TEST_F(WakeupsTest, ShortWaitsOfAWakerStandForOthers) {
  waits("b", 1400, 1450, 100);
  wakes("b", 1000, 2000, 1000);
  waits("a", 1000, 2000, 1000);
  EXPECT_THAT(followed(2), ElementsAre(Pair("a_waits;[woken by b];b_wakes", 900), Pair("a_waits;[woken by b];b_wakes;[which waited];b_waits", 100), Pair("b_waits", 100)));
}

// More than there was time, by chance: they are made smaller.
TEST_F(WakeupsTest, PartsAreNeverMoreThanTheWhole) {
  for (uint64_t t = 1000; t < 1500; t += 100) waits("b", t, t + 20, 200);
  wakes("b", 1000, 1500, 500);
  waits("a", 1000, 1500, 500);
  const auto sums = followed(2);
  EXPECT_EQ(sums.at("a_waits;[woken by b];b_wakes;[which waited];b_waits"), 500U);
  EXPECT_FALSE(sums.contains("a_waits;[woken by b];b_wakes"));
}

// b sleeps 500 of each 1,000 ns; one in four of its waits was kept, as was one in two of a's.
TEST_F(WakeupsTest, WhatWasNotKeptIsRightOnAverage) {
  uint64_t t = 0;
  for (int i = 0; i < 4000; ++i, t += 2000) {
    if (i / 2 % 4 == 0) waits("b", t + 100, t + 600, 2000);
    if (i % 2 == 0) {
      wakes("b", t, t + 1000, 2000);
      waits("a", t, t + 1000, 2000);
    }
  }
  const auto sums = followed(2);
  EXPECT_EQ(sums.at("a_waits;[woken by b];b_wakes"), 2000U * 1000);
  EXPECT_EQ(sums.at("a_waits;[woken by b];b_wakes;[which waited];b_waits"), 2000U * 1000);
}

// Threads of one stack, of which one's waker computed and the other one's slept: each has its own time.
TEST_F(WakeupsTest, EachThreadHasItsOwnTime) {
  for (const auto& [name, waker, begin] : {std::tuple("x", "b", 1000), {"y", "c", 3000}}) {
    if (*waker == 'c') add(1, waker, "sleeps", static_cast<uint64_t>(begin), static_cast<uint64_t>(begin) + 1000, 1000, "sleep");
    add(2, waker, "wakes", static_cast<uint64_t>(begin), static_cast<uint64_t>(begin) + 1000, 1000);
    add(1, name, "waits", static_cast<uint64_t>(begin), static_cast<uint64_t>(begin) + 1001, 1000);
  }
  const Profile chains = follow_wakers(profile_, 2);
  std::map<std::string, uint64_t> of_thread;
  for (size_t i = 0; i < chains.sample_count(); ++i) of_thread[std::string(chains.text(chains.threads()[chains.sample(i).thread.value].name))] += chains.value(i);
  EXPECT_EQ(of_thread["x"], 1000U);
  EXPECT_EQ(of_thread["y"], 1000U);
}

// Two recordings of one time, merged.
TEST_F(WakeupsTest, WaitsThatOverlapAreNoNumbersWithoutEnd) {
  waits("b", 500, 5000, 4500);
  waits("b", 600, 700, 100);
  waits("b", 800, 4000, 3200);
  wakes("b", 1000, 2000, 1000);
  waits("a", 1000, 2000, 1000);
  for (const auto& [path, ns] : followed(2)) EXPECT_LE(ns, 4500U + 100 + 3200) << path;
}

// Two that wait for each other, again and again: so many hops as were asked for.
TEST_F(WakeupsTest, CirclesEnd) {
  for (uint64_t t = 1000; t < 9000; t += 200) {
    wakes("b", t, t + 150, 150);
    waits("a", t, t + 160, 150);
    wakes("a", t + 100, t + 260, 160);
    waits("b", t + 100, t + 270, 160);
  }
  for (const auto& [path, ns] : followed(16)) EXPECT_LE(std::count(path.begin(), path.end(), '['), 31) << path;
}

// A row of another clock, or one that came before: it did not end this.
TEST_F(WakeupsTest, WhoCameTooLateEndedAnotherOne) {
  waits("a", 1000, 2000, 1000);
  wakes("b", 1000, 2500, 1500);
  EXPECT_THAT(followed(1), ElementsAre(Pair("a_waits", 1000)));
}

TEST_F(WakeupsTest, WaitsOfAThreadAreInOrder) {
  waits("a", 3000, 4000, 1000);
  waits("a", 1000, 2000, 1000);
  const Wakeups wakeups(profile_);
  const auto all = wakeups.waits_of(thread("a"));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].begin_ns, 1000U);
  EXPECT_EQ(all[1].length_ns(), 1000U);
}

}  // namespace
}  // namespace cicada::profile
