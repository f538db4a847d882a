// SPDX-License-Identifier: Apache-2.0
#include "serve/live_content.h"

#include <gtest/gtest.h>

#include <thread>

#include "profile/synthetic_profile_for_test.h"
#include "sink/profile_reader.h"
#include "sink/sink_registry.h"

namespace cicada::serve {
namespace {

using profile::Profile;
using profile::ProfileSnapshot;

constexpr auto kNoWait = std::chrono::milliseconds(0);
const std::function<bool()> kStays = [] { return false; };

std::shared_ptr<const ProfileSnapshot> snapshot_of(const Profile& profile) { return std::make_shared<const ProfileSnapshot>(profile); }

TEST(LiveContent, SendsEachStreamWhatItLacks) {
  Profile profile = profile::make_synthetic_profile({.samples = 500});
  LiveContent content("x");
  content.update(snapshot_of(profile));
  const auto first = *content.next({}, "", kNoWait);
  ASSERT_TRUE(first);
  EXPECT_FALSE(*content.next({}, first->id, kNoWait));
  EXPECT_FALSE(*content.next({{"last", first->id}}, "", kNoWait));  // a page that asks anew
  profile.append_sample(profile.sample(0));
  content.update(snapshot_of(profile));
  const auto second = *content.next({}, first->id, kNoWait);
  ASSERT_TRUE(second);
  EXPECT_LT(second->data.size(), first->data.size());
  EXPECT_EQ((*content.next({}, "", kNoWait))->id, second->id);
}

TEST(LiveContent, WaitsForWhatIsNew) {
  Profile profile = profile::make_synthetic_profile({.samples = 500});
  LiveContent content("x");
  content.update(snapshot_of(profile));
  const std::string id = (*content.next({}, "", kNoWait))->id;
  std::jthread later([&] {
    profile.append_sample(profile.sample(0));
    content.update(snapshot_of(profile));
  });
  EXPECT_TRUE(*content.next({}, id, std::chrono::seconds(60)));
}

TEST(LiveContent, KnowsWhichEventIsMeant) {
  LiveContent content("x");
  content.update(snapshot_of(profile::make_synthetic_profile({.samples = 5})));
  EXPECT_EQ((*content.next({{"e", "7"}}, "", kNoWait))->id, (*content.next({}, "", kNoWait))->id);  // of a recorder before
  for (const char* e : {"-1", "x", "256", "1x"}) EXPECT_EQ(content.next({{"e", e}}, "", kNoWait).error().kind(), ErrorKind::kInvalid) << e;
}

TEST(LiveContent, SavesInEveryFormat) {
  const Profile profile = profile::make_synthetic_profile({.samples = 300, .hostile_names = true});
  LiveContent content("x");
  content.update(snapshot_of(profile));
  for (const sink::Format& format : sink::known_formats()) {
    const web::Answer answer = content.get("download", {{"format", std::string(format.extension)}, {"e", "0"}}, kStays);
    EXPECT_EQ(answer.status, 200) << format.extension << answer.body;
    EXPECT_EQ(answer.file_name, "cicada" + std::string(format.extension));
    EXPECT_GT(answer.body.size(), 100U);
  }
  for (const char* format : {"", ".exe", "/../x.svg", "x.svg"}) EXPECT_EQ(content.get("download", {{"format", format}}, kStays).status, 400) << format;
  EXPECT_EQ(content.get("nothing", {}, kStays).status, 404);
  EXPECT_EQ(content.post("stop", {}).status, 404);
}

TEST(LiveContent, PassesControlsOn) {
  LiveContent content("x");
  std::vector<std::string> asked;
  bool gone = false;
  content.set_control([&](std::string_view line) -> Result<void> {
    if (gone) return make_error(ErrorKind::kGone, "gone");
    asked.emplace_back(line);
    return {};
  });
  for (const char* control : {"pause", "resume", "stop"}) EXPECT_EQ(content.post(control, {}).status, 200);
  EXPECT_EQ(content.post("", {}).status, 404);
  EXPECT_EQ(content.post("pause\nstop", {}).status, 404);
  EXPECT_EQ(asked, (std::vector<std::string>{"pause", "resume", "stop"}));
  gone = true;
  EXPECT_EQ(content.post("stop", {}).status, 410);
}

Profile read(const web::Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  return *sink::parse_profile({reinterpret_cast<const uint8_t*>(answer.body.data()), answer.body.size()}, "x");
}

TEST(LiveContent, GivesCollectorsWhatComesInTheirTime) {
  Profile profile = profile::make_synthetic_profile({.samples = 300});
  const auto now_ns = [] { return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()); };
  LiveContent content("x");
  content.update(snapshot_of(profile));
  std::jthread recorder([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      profile::Sample sample = profile.sample(0);
      sample.time_ns = now_ns();
      profile.append_sample(sample);
      content.update(snapshot_of(profile));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  const uint64_t begin_ns = now_ns();
  const Profile part = read(content.get("debug/pprof/profile", {{"seconds", "1"}}, kStays));
  const uint64_t end_ns = now_ns();
  recorder.request_stop();
  recorder.join();
  uint64_t sampled = 0, got = 0;
  for (const uint64_t time_ns : profile.samples().time_ns) sampled += time_ns >= begin_ns && time_ns < end_ns;
  for (size_t i = 0; i < part.sample_count(); ++i) got += part.value(i);
  EXPECT_GT(got, 0U);
  EXPECT_LE(got, sampled);
  EXPECT_EQ(part.header.duration_ns, 1'000'000'000U);
  for (const char* seconds : {"3601", "-1", "x"}) EXPECT_EQ(content.get("debug/pprof/profile", {{"seconds", seconds}}, kStays).status, 400) << seconds;
  EXPECT_EQ(content.get("debug/pprof/profile", {}, [] { return true; }).status, 503);  // nobody waits
  content.update(snapshot_of(profile), {.ended = "ended"});
  const Profile all = read(content.get("debug/pprof/profile", {}, kStays));
  got = 0;
  for (size_t i = 0; i < all.sample_count(); ++i) got += all.value(i);
  EXPECT_EQ(got, profile.sample_count());
}

}  // namespace
}  // namespace cicada::serve
