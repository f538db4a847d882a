// SPDX-License-Identifier: Apache-2.0
#include "live/recording_follower.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <string_view>

#include "attach/viewer_socket.h"
#include "profile/synthetic_profile_for_test.h"
#include "sink/recording/recording_encoder.h"

namespace cicada::live {
namespace {

constexpr int kLevel = 3;

struct Seen {
  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<const profile::ProfileSnapshot> profile;
  std::string ended;
  sink::Moment moment;

  RecordingFollower::Show show() {
    return [this](std::shared_ptr<const profile::ProfileSnapshot> now, sink::PageState state) {
      const std::lock_guard lock(mutex);
      profile = std::move(now);
      ended = std::move(state.ended);
      moment = state.moment;
      changed.notify_all();
    };
  }
  // Bounds a hang.
  template <typename Condition>
  bool wait_for(Condition condition) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(120), [&] { return profile != nullptr && condition(); });
  }
};

struct Recorder {
  UniqueFd ours, theirs;
  sink::RecordingEncoder encoder;
  sink::Moment moment;
  Recorder() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours.reset(ends[0]);
    theirs.reset(ends[1]);
  }
  void say(std::string_view text) { EXPECT_EQ(::send(ours.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size())); }
  void send(const profile::ProfileSnapshot& profile) {
    std::string bytes;
    while (!encoder.append(bytes, profile, kLevel)) {
    }
    encoder.append_moment(bytes, moment, kLevel);
    say(bytes);
  }
};

TEST(RecordingFollower, ShowsWhatComesUntilItEnds) {
  profile::Profile profile = profile::make_synthetic_profile({.samples = 500});
  Recorder recorder;
  Seen seen;
  recorder.send(profile);
  const auto follower = *RecordingFollower::start(std::move(recorder.theirs), "x", {}, true, seen.show());
  EXPECT_TRUE(seen.wait_for([&] { return seen.profile->sample_count() == 500; }));
  profile.append_sample(profile.sample(0));
  recorder.send(profile);
  EXPECT_TRUE(seen.wait_for([&] { return seen.profile->sample_count() == 501; }));
  EXPECT_EQ(seen.ended, "");
  std::string end;
  recorder.encoder.append_end(end, kLevel);
  recorder.say(end);
  EXPECT_TRUE(seen.wait_for([&] { return seen.ended == "the recording has ended"; }));
  EXPECT_EQ(seen.profile->sample_count(), 501U);
}

TEST(RecordingFollower, SaysWhatTheOtherEndSaysInstead) {
  Recorder recorder;
  Seen seen;
  recorder.say("cicada: 16 look at this recording already\n");
  recorder.ours.reset();
  const auto refused = RecordingFollower::start(std::move(recorder.theirs), "recorder 7", {}, true, seen.show());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "recorder 7 says: cicada: 16 look at this recording already");
  Recorder gone;
  gone.ours.reset();
  EXPECT_EQ(RecordingFollower::start(std::move(gone.theirs), "x", {}, true, seen.show()).error().kind(), ErrorKind::kGone);
}

TEST(RecordingFollower, SaysWhenTheRecorderIsOfAnotherVersion) {
  Recorder recorder;
  Seen seen;
  recorder.say(std::string(sink::kRecordingMagic) + std::string("\x63\0\0\0", 4));
  const auto other = RecordingFollower::start(std::move(recorder.theirs), "recorder 7", {}, true, seen.show());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(other.error().message(), fmt::format("recorder 7: recording format 99, this cicada reads format {}; use a newer cicada", sink::kRecordingVersion));
}

TEST(RecordingFollower, KeepsWhatCameBeforeDamageOrDeath) {
  const profile::Profile profile = profile::make_synthetic_profile({.samples = 500});
  for (const bool damaged : {true, false}) {
    Recorder recorder;
    Seen seen;
    recorder.send(profile);
    const auto follower = *RecordingFollower::start(std::move(recorder.theirs), "x", {}, true, seen.show());
    if (damaged) recorder.say(std::string(64, 'x'));
    recorder.ours.reset();
    EXPECT_TRUE(seen.wait_for([&] { return !seen.ended.empty(); }));
    EXPECT_EQ(seen.profile->sample_count(), 500U);
    EXPECT_EQ(seen.ended == "the recorder has gone", !damaged) << seen.ended;
  }
}

TEST(RecordingFollower, KeepsTheLast) {
  profile::Profile profile = profile::make_synthetic_profile({.samples = 70'000});
  Recorder recorder;
  Seen seen;
  engine::Retention retention;
  retention.keep_samples = 10'000;
  std::jthread sender([&] {
    recorder.send(profile);
    recorder.ours.reset();
  });
  const auto follower = *RecordingFollower::start(std::move(recorder.theirs), "x", retention, true, seen.show());
  EXPECT_TRUE(seen.wait_for([&] { return !seen.ended.empty(); }));
  EXPECT_GE(seen.profile->sample_count(), 10'000U);
  EXPECT_LT(seen.profile->sample_count(), 20'000U);
  EXPECT_EQ(seen.profile->sizes().samples, 70'000U);
}

TEST(RecordingFollower, ShowsWholeMomentsOnly) {
  const profile::Profile profile = profile::make_synthetic_profile({.samples = 200'000});
  Recorder recorder;
  Seen seen;
  std::vector<size_t> shown;
  std::jthread sender([&] {
    recorder.send(profile);
    recorder.moment = {.paused = true, .may_change = true, .title = "a title", .events = "off-cpu", .processes = "x", .answer = "no"};
    recorder.send(profile);
    recorder.ours.reset();
  });
  const auto follower = *RecordingFollower::start(std::move(recorder.theirs), "x", {}, true, [&, show = seen.show()](std::shared_ptr<const profile::ProfileSnapshot> now, sink::PageState state) {
    shown.push_back(now->sample_count());
    show(std::move(now), std::move(state));
  });
  EXPECT_TRUE(seen.wait_for([&] { return !seen.ended.empty(); }));
  EXPECT_TRUE(seen.moment.paused && seen.moment.may_change && !seen.moment.may_choose);
  EXPECT_EQ(seen.moment.title + seen.moment.events + seen.moment.processes + seen.moment.answer, "a titleoff-cpuxno");
  for (const size_t samples : shown) EXPECT_EQ(samples, 200'000U);
}

TEST(RecordingFollower, PassesOnWhatIsAsked) {
  Recorder recorder;
  Seen seen;
  recorder.send(profile::make_synthetic_profile({.samples = 500}));
  const auto follower = *RecordingFollower::start(std::move(recorder.theirs), "x", {}, true, seen.show());
  EXPECT_TRUE(follower->control("pause"));
  char said[16] = {};
  EXPECT_EQ(::recv(recorder.ours.get(), said, sizeof said, 0), 6);
  EXPECT_STREQ(said, "pause\n");
  for (const std::string& line : {std::string("pause\nstop"), std::string("\n"), std::string("pause\r"), std::string(attach::kMaxLine, 'x')}) EXPECT_EQ(follower->control(line).error().kind(), ErrorKind::kInvalid);
  recorder.ours.reset();
  EXPECT_EQ(follower->control("pause").error().kind(), ErrorKind::kGone);
}

// It is not waited for who says nothing.
TEST(RecordingFollower, EndsAtOnce) {
  Recorder recorder;
  Seen seen;
  recorder.send(profile::make_synthetic_profile({.samples = 500}));
  { const auto follower = *RecordingFollower::start(std::move(recorder.theirs), "x", {}, true, seen.show()); }
  EXPECT_NE(seen.profile, nullptr);
}

}  // namespace
}  // namespace cicada::live
