// SPDX-License-Identifier: Apache-2.0
#include "cli/record/summary.h"

#include <gmock/gmock.h>

#include "profile/completeness.h"

namespace cicada::cli {
namespace {

using profile::Profile;
using testing::HasSubstr;
using testing::Not;

class SummaryTest : public testing::Test {
 protected:
  SummaryTest() {
    profile_.header.events[0].frequency_hz = 99;
    profile_.header.duration_ns = 10'000'000'000;
    profile_.header.cpu_count = 2;
  }
  void add_samples(std::string_view function, std::string_view image, size_t count, end_reason reason = END_OUTERMOST,
                   bool idle = false) {
    const profile::ImageId image_id =
        profile_.intern_image({profile_.intern(image), {}, profile::ImageKind::kExecutable});
    profile::Frame frame;
    frame.kind = profile::FrameKind::kNative;
    frame.image = image_id;
    frame.address = 0x1000 + profile_.frames().size();
    const profile::FrameId frame_id = profile_.intern_frame(frame);
    profile::Location location;
    location.function = profile_.intern_function({profile_.intern(function), {}, image_id});
    profile_.set_locations(frame_id, {&location, 1});
    profile::Sample sample;
    sample.thread = profile_.intern_thread(profile_.intern_process(1, 1), 1);
    sample.stack = profile_.intern_stack(profile::StackId(), frame_id);
    sample.idle = idle;
    sample.end_reason = reason;
    for (size_t i = 0; i < count; i++) profile_.append_sample(sample);
    profile_.header.events[0].fired += count;
  }
  std::string text(const SummaryOptions& options = {}) const {
    return format_summary(profile_, {"flame graph in x.svg"}, options);
  }

  Profile profile_;
};

TEST_F(SummaryTest, NamesTheHottestFunctionsByTheirOwnSamples) {
  add_samples("cold", "/usr/bin/program", 100);
  add_samples("hot(int)", "/usr/lib/libhot.so.1", 300);
  const std::string out = text();
  EXPECT_THAT(out, HasSubstr("75.0 %"));
  EXPECT_THAT(out, HasSubstr("libhot.so.1\n"));
  EXPECT_LT(out.find("hot(int)"), out.find("cold"));
  EXPECT_THAT(out, HasSubstr("flame graph in x.svg"));
}

TEST_F(SummaryTest, AddsUpFramesOfOneFunction) {
  add_samples("twice", "/a", 10);
  add_samples("twice", "/a", 20);
  EXPECT_THAT(text(), testing::ContainsRegex("100.0 % +30  twice"));
}

TEST_F(SummaryTest, ShowsTenAtMost) {
  for (int i = 0; i < 20; i++) add_samples("function" + std::to_string(i), "/a", static_cast<size_t>(i) + 1);
  EXPECT_THAT(text(), HasSubstr("function10 "));
  EXPECT_THAT(text(), Not(HasSubstr("function9 ")));
}

TEST_F(SummaryTest, LeavesIdleOutUnlessAsked) {
  add_samples("busy", "/a", 10);
  add_samples("idling", "/a", 90, END_NONE, true);
  EXPECT_THAT(text(), Not(HasSubstr("idling")));
  EXPECT_THAT(text({.include_idle = true}), HasSubstr("idling"));
}

TEST_F(SummaryTest, OfWaitsSaysForWhatAndTimes) {
  profile_.header.events[0] = {.name = "off-cpu", .unit = profile::Unit::kNanoseconds, .spent = profile::Spent::kWaiting, .value = 10'000'000, .period = 10'000'000, .frequency_hz = 100};
  add_samples("futex_wait", "/a", 2);
  const profile::Label label{profile_.intern(profile::kStateLabel), profile_.intern("lock")};
  profile::Sample sample;
  sample.thread = profile_.intern_thread(profile_.intern_process(1, 1), 1);
  sample.stack = profile_.intern_stack(profile::StackId(), profile::FrameId(0));
  sample.value = 1'980'000'000;
  sample.labels = profile_.intern_labels({&label, 1});
  profile_.append_sample(sample);
  const std::string out = text();
  EXPECT_THAT(out, HasSubstr("2 waits in 10.00 s  (off-cpu, from 10.0 ms on all are kept, 2 CPUs)"));
  EXPECT_THAT(out, testing::ContainsRegex("100.0 % +1.980 s  lock"));
  EXPECT_THAT(out, testing::ContainsRegex("100.0 % +1.980 s  futex_wait"));
}

TEST_F(SummaryTest, OfLostWaitsSaysHowLongTheyWere) {
  profile_.header.events[0] = {.name = "off-cpu", .unit = profile::Unit::kNanoseconds, .spent = profile::Spent::kWaiting, .period = 1, .fired = 20};
  auto& counts = profile_.header.events[0].counts;
  counts = {{"stored", 8, true}, {"lost: ring buffer full (sample record)", 9, true}, {"lost: stack record missing", 3, true}, {"ns that the waits that were lost stand for", 0, false}};
  EXPECT_THAT(text(), Not(HasSubstr("lost: 12")));
  counts[3].value = 1'400'000'000;
  EXPECT_THAT(text(), HasSubstr("\n  lost: 12 waits, 1.400 s\n"));
  counts[1].value = 0, counts[2].value = 1;
  EXPECT_THAT(text(), HasSubstr("\n  lost: 1 wait, 1.400 s\n"));
}

TEST_F(SummaryTest, NeverRoundsUpToComplete) {
  add_samples("f", "/a", 99999);
  add_samples("f", "/a", 1, END_NO_RULE);
  EXPECT_THAT(text(), HasSubstr("99.99 % of 100,000 user stacks are complete"));
  EXPECT_THAT(text(), HasSubstr("no unwind rule"));
}

TEST_F(SummaryTest, CompletenessLeavesOutKernelThreadsAndExec) {
  add_samples("f", "/a", 10);
  add_samples("g", "/a", 10, END_NONE);
  add_samples("h", "/a", 10, END_EXEC);
  EXPECT_EQ(profile::completeness(profile_).of, 10u);
  EXPECT_EQ(profile::completeness(profile_).complete, 10u);
}

TEST_F(SummaryTest, SpeaksOfCompletenessOnlyWhereThereAreUserStacks) {
  EXPECT_THAT(text(), Not(HasSubstr("user stacks")));
  add_samples("do_idle", "[kernel]", 10, END_NONE);
  EXPECT_THAT(text(), HasSubstr("  no user stacks, the kernel's only\n"));
  EXPECT_THAT(text(), Not(HasSubstr("complete")));
  add_samples("f", "/a", 10);
  EXPECT_THAT(text(), HasSubstr("100 % of 10 user stacks are complete"));
  EXPECT_THAT(text(), Not(HasSubstr("no user stacks")));
}

TEST_F(SummaryTest, TakesTheHeadersCountsOnlyWithoutSamples) {
  profile_.header.end_reasons = {{"outermost frame (undefined return address)", 6, false}, {"depth limit", 4, false}};
  EXPECT_EQ(profile::completeness(profile_).of, 10u);
  EXPECT_EQ(profile::completeness(profile_).complete, 6u);
  add_samples("f", "/a", 10);
  EXPECT_EQ(profile::completeness(profile_).complete, 10u);
}

TEST_F(SummaryTest, PrintsEachLossByItsReason) {
  add_samples("f", "/a", 7);
  profile_.header.events[0].counts = {{"stored", 7, true},
                            {"lost: ring buffer full (sample record)", 3, true},
                            {"idle", 0, true},
                            {"stack records sent", 2, false}};
  profile_.header.events[0].fired = 10;
  EXPECT_THAT(text(), HasSubstr("30.00 %  lost: ring buffer full"));
  EXPECT_THAT(text(), Not(HasSubstr("idle")));
  EXPECT_THAT(text(), Not(HasSubstr("stack records sent")));
  EXPECT_THAT(text({.stats = true}), HasSubstr("stack records sent"));
}

TEST_F(SummaryTest, SaysWhatToDoWithoutSamples) { EXPECT_THAT(text(), HasSubstr("no samples")); }

TEST_F(SummaryTest, LetsNoControlCharacterReachTheTerminal) {
  add_samples("evil\x1b[2J", "/a\n", 1);
  EXPECT_THAT(text(), HasSubstr("evil\xef\xbf\xbd[2J"));
}

TEST_F(SummaryTest, CutsLongNamesBetweenCharacters) {
  std::string name;
  for (int i = 0; i < 100; i++) name += "ä";
  add_samples(name, "/a", 1);
  const std::string out = text({.columns = 80});
  const size_t cut = out.find("…");
  ASSERT_NE(cut, std::string::npos);
  EXPECT_EQ(out.substr(cut - 2, 2), "ä");
}

}  // namespace
}  // namespace cicada::cli
