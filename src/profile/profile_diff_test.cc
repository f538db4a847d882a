// SPDX-License-Identifier: Apache-2.0
#include "profile/profile_diff.h"

#include <gtest/gtest.h>

#include <random>

namespace cicada::profile {
namespace {

// main → f_i, with the given probabilities.
Profile draw(const std::vector<double>& weights, size_t samples, uint32_t seed) {
  Profile profile;
  profile.header.duration_ns = 10000000000;
  const ThreadId thread = profile.intern_thread(profile.intern_process(1, 1), 1);
  const auto named = [&](const std::string& name, uint64_t address) {
    const FrameId frame = profile.intern_frame({FrameKind::kNative, {}, 0, address, {}});
    const Location location[] = {{.function = profile.intern_function({profile.intern(name), {}, {}})}};
    profile.set_locations(frame, location);
    return frame;
  };
  const StackId root = profile.intern_stack({}, named("main", 1));
  std::vector<StackId> stacks;
  for (size_t i = 0; i < weights.size(); ++i) stacks.push_back(profile.intern_stack(root, named(fmt::format("f{}", i), 2 + i)));
  std::mt19937 random(seed);
  std::discrete_distribution<size_t> pick(weights.begin(), weights.end());
  for (size_t i = 0; i < samples; ++i) profile.append_sample({.time_ns = i, .thread = thread, .stack = stacks[pick(random)]});
  return profile;
}

const FunctionDelta* find(const ProfileDiff& diff, std::string_view name) {
  for (const FunctionDelta& function : diff.functions)
    if (diff.tree.text(function.name) == name) return &function;
  return nullptr;
}

TEST(ProfileDiff, LaysBothTreesOverEachOther) {
  const Profile a = draw({1, 1, 0}, 1000, 1), b = draw({1, 0, 1}, 500, 2);
  const ProfileDiff d = diff(a, b, {});
  EXPECT_EQ(d.samples.a, 1000u);
  EXPECT_EQ(d.samples.b, 500u);
  ASSERT_EQ(d.tree.nodes.size(), 5u);  // root, main, f0, f1, f2
  for (size_t i = 0; i < d.tree.nodes.size(); ++i) {
    DiffValue sum = d.self[i];
    for (uint32_t c = d.tree.nodes[i].first_child; c != 0; c = d.tree.nodes[c].next_sibling) {
      sum.a += d.total[c].a;
      sum.b += d.total[c].b;
    }
    EXPECT_EQ(sum.a, d.total[i].a);
    EXPECT_EQ(sum.b, d.total[i].b);
  }
  EXPECT_TRUE(find(d, "f1")->significant);
  EXPECT_LT(find(d, "f1")->self_change, -0.4);
  EXPECT_TRUE(find(d, "f2")->significant);
  EXPECT_FALSE(find(d, "main")->significant);  // everything is below main, in both
}

TEST(ProfileDiff, DoesNotSellNoiseAsChange) {
  std::vector<double> weights;
  for (int i = 0; i < 200; ++i) weights.push_back(1.0 / (i + 1));
  int with_significant = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const Profile a = draw(weights, 2000, 2 * seed), b = draw(weights, 1500, 2 * seed + 1);
    const ProfileDiff d = diff(a, b, {});
    for (const FunctionDelta& function : d.functions)
      if (function.significant) {
        ++with_significant;
        break;
      }
  }
  EXPECT_LE(with_significant, 5);  // expected: at most 1; P(> 5) < 0.001
}

TEST(ProfileDiff, FindsARealChangeAmongNoise) {
  std::vector<double> before, after;
  for (int i = 0; i < 200; ++i) before.push_back(1.0 / (i + 1));
  after = before;
  after[10] *= 3;
  const ProfileDiff d = diff(draw(before, 5000, 1), draw(after, 5000, 2), {});
  EXPECT_TRUE(find(d, "f10")->significant);
  EXPECT_EQ(d.tree.text(d.functions[0].name), "f10");
}

TEST(ProfileDiff, AbsoluteComparesRates) {
  const Profile a = draw({1, 1}, 1000, 1), b = draw({1, 1}, 2000, 2);  // twice the work in the same time
  EXPECT_TRUE(find(diff(a, b, {.per = Per::kSecond}), "f0")->significant);
  EXPECT_FALSE(find(diff(a, b, {}), "f0")->significant);
}

// Nothing changed in f1, f2 and f3; f0 takes three times as long, or a third.
TEST(ProfileDiff, DoesNotBlameWhatOnlyItsShareChangedOf) {
  for (const double factor : {3.0, 1.0 / 3}) {
    const ProfileDiff d = diff(draw({1, 2, 1, 1}, 5000, 1), draw({factor, 2, 1, 1}, 5000, 2), {});
    EXPECT_TRUE(find(d, "f0")->significant) << factor;
    EXPECT_FALSE(find(d, "f0")->displaced) << factor;
    for (const char* name : {"f1", "f2", "f3"}) {
      EXPECT_FALSE(find(d, name)->significant) << name << " " << factor;
      EXPECT_TRUE(find(d, name)->displaced) << name << " " << factor;
    }
  }
}

TEST(ProfileDiff, OfNothingIsNothing) {
  const ProfileDiff d = diff(Profile(), Profile(), {});
  EXPECT_TRUE(d.functions.empty());
  EXPECT_EQ(d.tree.nodes.size(), 1u);
}

TEST(ProportionPValue, MatchesKnownValues) {
  EXPECT_EQ(proportion_p_value(10, 100, 10, 100), 1);
  EXPECT_NEAR(proportion_p_value(15, 100, 30, 100), 0.0176, 0.0005);  // R: prop.test(c(15, 30), c(100, 100))
  EXPECT_LT(proportion_p_value(0, 1000, 100, 1000), 1e-10);
}

}  // namespace
}  // namespace cicada::profile
