// SPDX-License-Identifier: Apache-2.0
#include "replay/replay_source.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include "base/monotonic_clock.h"
#include "profile/call_tree.h"
#include "profile/compaction.h"
#include "profile/synthetic_profile_for_test.h"

namespace cicada::replay {
namespace {

using profile::Profile;
using profile::ProfileSnapshot;

std::vector<std::string> folded(const ProfileSnapshot& profile) {
  const profile::CallTree tree = profile::build_call_tree(profile, {});
  std::vector<std::string> lines;
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    std::string path;
    for (uint32_t at = static_cast<uint32_t>(i); at != 0; at = tree.nodes[at].parent) path = std::string(tree.text(tree.nodes[at].name)) + ";" + path;
    lines.push_back(fmt::format("{} {} {}", path, tree.nodes[i].self, tree.nodes[i].total));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

// One sample a millisecond from `start_ns`, the last first.
Profile samples_of_100_ms(uint64_t start_ns) {
  Profile recorded;
  recorded.header.start_monotonic_ns = start_ns;
  recorded.header.events = {{.name = "clock", .fired = 120, .counts = {{"stored", 100, true}, {"ring full", 20, true}}}};
  const auto thread = recorded.intern_thread(recorded.intern_process(7, 1), 7);
  for (uint64_t i = 100; i-- > 0;) recorded.append_sample({.time_ns = start_ns + i * 1'000'000, .thread = thread});
  return recorded;
}

TEST(ReplaySource, PlaysEverySampleWithItsStackAndNames) {
  const Profile recorded = profile::make_synthetic_profile({.samples = 5000, .hostile_names = true});
  ReplaySource source(recorded);
  Profile played;
  ASSERT_TRUE(source.start(played));
  size_t drains = 1;
  for (Result<bool> more = source.drain(played, 10, {}); *more; more = source.drain(played, 10, {})) {
    ASSERT_LE(played.sample_count(), drains * ReplaySource::kSamplesAtOnce);
    ++drains;
  }
  ASSERT_TRUE(source.stop(played));
  EXPECT_EQ(drains, 5u);
  EXPECT_EQ(played.sample_count(), 5000u);
  EXPECT_EQ(folded(played), folded(recorded));
  EXPECT_EQ(played.header.events[0].fired, recorded.header.events[0].fired);
  EXPECT_EQ(played.header.host, recorded.header.host);
  EXPECT_TRUE(played.validate()) << played.validate().error().message();
}

TEST(ReplaySource, GoesOnWhenTheProfileIsCompacted) {
  const Profile recorded = profile::make_synthetic_profile({.samples = 9000});
  for (const size_t dropped : {size_t{0}, size_t{4096}}) {
    ReplaySource source(recorded);
    Profile played;
    ASSERT_TRUE(source.start(played));
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(*source.drain(played, 10, {}));
    ASSERT_EQ(played.drop_samples(dropped), dropped);
    ASSERT_TRUE(source.prepare_compaction());
    profile::Compaction compaction(played);
    compaction.copy({});
    compaction.finish(played, [&](profile::RowCopier& ids) { source.rebase(ids); });
    const size_t stacks = played.stacks().size();
    while (*source.drain(played, 10, {})) {
    }
    ASSERT_TRUE(source.stop(played));
    EXPECT_TRUE(played.validate());
    EXPECT_EQ(played.sizes().samples, 9000u);
    EXPECT_LE(played.stacks().size(), recorded.stacks().size());
    EXPECT_GE(played.stacks().size(), stacks);
    if (dropped != 0) continue;
    EXPECT_EQ(folded(played), folded(recorded));
  }
}

TEST(ReplaySource, MovesTimesToNowInTheirOrder) {
  ReplaySource source(samples_of_100_ms(5'000'000'000'000'000));
  Profile played;
  const uint64_t begin = monotonic_ns();
  ASSERT_TRUE(source.start(played));
  const uint64_t end = monotonic_ns();
  ASSERT_FALSE(*source.drain(played, 0, {}));
  const auto& times = played.samples().time_ns;
  EXPECT_GE(times[0], begin);
  EXPECT_LE(times[0], end);
  for (size_t i = 1; i < 100; ++i) EXPECT_EQ(times[i], times[i - 1] + 1'000'000);
}

TEST(ReplaySource, PlaysAtItsSpeed) {
  ReplaySource source(samples_of_100_ms(1), 4);
  Profile played;
  const uint64_t begin = monotonic_ns();  // before the source takes it
  ASSERT_TRUE(source.start(played));
  while (*source.drain(played, 1, {})) EXPECT_LE(played.sample_count(), 4 * ((monotonic_ns() - begin) / 1'000'000 + 2));
  EXPECT_GE(monotonic_ns() - begin, 24'000'000u);
  EXPECT_EQ(played.sample_count(), 100u);
}

TEST(ReplaySource, WakesWhenADescriptorIsReadable) {
  ReplaySource source(samples_of_100_ms(1), 0.001);
  Profile played;
  ASSERT_TRUE(source.start(played));
  const int wake[] = {::eventfd(1, EFD_CLOEXEC)};
  const uint64_t begin = monotonic_ns();
  ASSERT_TRUE(*source.drain(played, 600'000, wake));
  EXPECT_LT(monotonic_ns() - begin, 300'000'000'000u);
  ::close(wake[0]);
}

TEST(ReplaySource, APartSaysSoAndAddsUp) {
  ReplaySource source(samples_of_100_ms(1), 0.001);
  Profile played;
  ASSERT_TRUE(source.start(played));
  ASSERT_TRUE(source.drain(played, 0, {}));
  ASSERT_TRUE(source.stop(played));
  ASSERT_LT(played.sample_count(), 100u);
  EXPECT_EQ(played.header.events[0].fired, played.sample_count());
  ASSERT_EQ(played.header.events[0].counts.size(), 1u);
  EXPECT_EQ(played.header.events[0].counts[0].value, played.sample_count());
  ASSERT_FALSE(played.header.warnings.empty());
  EXPECT_EQ(played.header.warnings.back(), fmt::format("a part of a recording: {} of 100 samples", played.sample_count()));
}

}  // namespace
}  // namespace cicada::replay
