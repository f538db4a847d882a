// SPDX-License-Identifier: Apache-2.0
#include "profile/profile_merge.h"

#include <gtest/gtest.h>

#include "profile/call_tree.h"
#include "profile/synthetic_profile_for_test.h"
#include "profile/thread_state.h"

namespace cicada::profile {
namespace {

std::vector<std::string> folded(const CallTree& tree) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    std::string path;
    for (uint32_t at = static_cast<uint32_t>(i); at != 0; at = tree.nodes[at].parent) path = std::string(tree.text(tree.nodes[at].name)) + ";" + path;
    lines.push_back(fmt::format("{} {} {}", path, tree.nodes[i].self, tree.nodes[i].total));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(Merge, WithItselfDoublesEveryNode) {
  const Profile one = make_synthetic_profile({.hostile_names = true});
  Profile two;
  merge(two, one);
  EXPECT_EQ(folded(build_call_tree(two, {})), folded(build_call_tree(one, {})));
  merge(two, one);
  ASSERT_TRUE(two.validate()) << two.validate().error().message();
  EXPECT_EQ(two.sample_count(), 2 * one.sample_count());
  EXPECT_EQ(two.threads().size(), one.threads().size());
  EXPECT_EQ(two.header.events[0].fired, 2 * one.header.events[0].fired);
  EXPECT_EQ(two.header.events[0].counts[0].value, 2 * one.header.events[0].counts[0].value);
  const CallTree before = build_call_tree(one, {}), after = build_call_tree(two, {});
  ASSERT_EQ(after.nodes.size(), before.nodes.size());
  EXPECT_EQ(after.total(), 2 * before.total());
}

TEST(Merge, MovesTimesToOneClock) {
  Profile a, b;
  const auto fill = [](Profile& p, uint64_t realtime, uint64_t monotonic) {
    p.header.start_realtime_ns = realtime;
    p.header.start_monotonic_ns = monotonic;
    p.header.duration_ns = 100;
    p.append_sample({.time_ns = monotonic + 5, .thread = p.intern_thread(p.intern_process(1, monotonic), 1)});
  };
  fill(a, 1000000, 500);
  fill(b, 1000400, 77);  // another boot, 400 ns later
  merge(a, b);
  EXPECT_EQ(a.samples().time_ns[1], 500 + 400 + 5u);
  EXPECT_EQ(a.header.duration_ns, 500u);
  EXPECT_EQ(a.processes().size(), 2u);
}

// One of them ended with its recording; the other recording ends later.
TEST(Merge, KeepsWhichWaitsWentOn) {
  const auto make = [](uint64_t realtime_ns, uint64_t duration_ns) {
    Profile p;
    p.header.events = {{.name = "off-cpu", .unit = Unit::kNanoseconds, .spent = Spent::kWaiting}};
    p.header.start_realtime_ns = realtime_ns;
    p.header.start_monotonic_ns = 1000;
    p.header.duration_ns = duration_ns;
    const Label label{p.intern(kStateLabel), p.intern("lock")};
    for (const uint64_t end_ns : {1050, 1100})
      p.append_sample({.time_ns = end_ns, .thread = p.intern_thread(p.intern_process(1, 1), 1), .lasted_ns = 40, .labels = p.intern_labels({&label, 1})});
    return p;
  };
  Profile all;
  for (const auto& [realtime_ns, duration_ns] : {std::pair(5000, 100), {5500, 300}}) merge(all, make(static_cast<uint64_t>(realtime_ns), static_cast<uint64_t>(duration_ns)));
  ASSERT_TRUE(all.validate());
  std::vector<bool> went_on;
  for (size_t row = 0; row < all.sample_count(); ++row) {
    went_on.push_back(has_not_ended(all, row));
    EXPECT_EQ(waited_for(all, all.samples().labels[row]), "lock");
  }
  EXPECT_EQ(went_on, std::vector<bool>({false, true, false, false}));
}

TEST(Merge, KeepsJitCodeOfTwoRecordingsApart) {
  const auto make = [](const char* name) {
    Profile p;
    p.header.start_realtime_ns = 1;
    const FrameId frame = p.intern_frame({FrameKind::kJit, {}, 1, 0x1000, {}});
    const Location location[] = {{.function = p.intern_function({p.intern(name), {}, {}})}};
    p.set_locations(frame, location);
    p.append_sample({.thread = p.intern_thread(p.intern_process(1, 1), 1), .stack = p.intern_stack({}, frame)});
    return p;
  };
  Profile a = make("first");
  merge(a, make("second"));
  EXPECT_EQ(build_call_tree(a, {}).nodes.size(), 3u);
}

TEST(Merge, WarnsAboutWhatCannotBeCompared) {
  Profile a = make_synthetic_profile({}), b = make_synthetic_profile({.seed = 2});
  b.header.events[0].period = 7;
  merge(a, b);
  ASSERT_FALSE(a.header.warnings.empty());
  EXPECT_NE(a.header.warnings[0].find("different sampling periods"), std::string::npos);
}

TEST(Merge, AddsThreadsTimesWhereBothAreKnown) {
  Profile first, second;
  for (Profile* profile : {&first, &second}) {
    for (const Tid tid : {1, 2, 3}) {
      if (profile == &first && tid == 3) continue;
      const ThreadId thread = profile->intern_thread(profile->intern_process(1, 1), tid);
      profile->edit_thread(thread, [&](Thread& row) { if (profile == &first || tid != 2) row.cpu_ns = tid == 1 && profile == &second ? 0 : 10; });
      profile->append_sample({.thread = thread});
    }
  }
  Profile both;
  merge(both, first);
  merge(both, second);
  ASSERT_EQ(both.threads().size(), 3U);
  EXPECT_EQ(both.threads()[0].cpu_ns, 10U) << "it did not run in the second";
  EXPECT_EQ(both.threads()[1].cpu_ns, std::nullopt);
  EXPECT_EQ(both.threads()[2].cpu_ns, 10U);
}

TEST(SampleFilter, CombinesProcessThreadTimeAndFunction) {
  const Profile profile = make_synthetic_profile({.samples = 2000});
  const auto count = [&](const FilterOptions& options) {
    const auto filter = make_sample_filter(profile, options);
    EXPECT_TRUE(filter);
    const Profile part = extract(profile, *filter);
    EXPECT_TRUE(part.validate());
    EXPECT_EQ(build_call_tree(part, {}).total(), build_call_tree(profile, {.filter = *filter}).total());
    return part.sample_count();
  };
  FilterOptions by_pid, by_name, half, rest, function;
  by_pid.processes = {"1000"};
  by_name.processes = {"process_0"};
  EXPECT_EQ(count(by_pid), count(by_name));
  EXPECT_GT(count(by_pid), 0u);
  half.to_ns = profile.header.duration_ns / 2;
  rest.from_ns = half.to_ns;
  EXPECT_EQ(count(half) + count(rest), profile.sample_count());
  function.function = "^function_1[0-9]$";
  EXPECT_GT(count(function), 0u);
  EXPECT_LT(count(function), profile.sample_count());
  EXPECT_EQ(count({}), profile.sample_count());
}

TEST(SampleFilter, KnowsStates) {
  Profile profile;
  profile.header.events = {{.name = "off-cpu", .unit = Unit::kNanoseconds, .spent = Spent::kWaiting}, {.name = "cpu-clock"}};
  const ThreadId thread = profile.intern_thread(profile.intern_process(1, 1), 1);
  for (const std::string_view state : {"lock", "disk", "page fault", "disk"}) {
    const Label label{profile.intern(kStateLabel), profile.intern(state)};
    profile.append_sample({.thread = thread, .labels = profile.intern_labels({&label, 1})});
  }
  profile.append_sample({.thread = thread, .event = {1}});
  const auto count = [&](std::vector<std::string> states) {
    FilterOptions options;
    options.states = std::move(states);
    return extract(profile, *make_sample_filter(profile, options)).sample_count();
  };
  EXPECT_EQ(count({}), 5u);
  EXPECT_EQ(count({"disk"}), 2u);
  EXPECT_EQ(count({"disk", "page fault"}), 3u);
  EXPECT_EQ(count({"on CPU"}), 1u);
  EXPECT_EQ(count({"io"}), 0u);
}

TEST(SampleFilter, RefusesWhatMakesNoSense) {
  const Profile profile = make_synthetic_profile({});
  FilterOptions bad_regex, bad_range;
  bad_regex.function = "a(b";
  bad_range.from_ns = 5;
  bad_range.to_ns = 5;
  EXPECT_FALSE(make_sample_filter(profile, bad_regex));
  EXPECT_FALSE(make_sample_filter(profile, bad_range));
}

}  // namespace
}  // namespace cicada::profile
