// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/delta_codec.h"

#include <gtest/gtest.h>

#include <random>

#include "profile/synthetic_profile_for_test.h"

namespace cicada::sink {
namespace {

using namespace profile;

// A recording that goes on: everything that can change does, again and again.
class GrowingProfile {
 public:
  Profile profile;

  GrowingProfile() {
    profile.header.host = "here";
    profile.header.command = {"cicada", "record", ""};
    profile.header.events = {{.period = 10'000'000, .sample_ns = 10'000'000}, {.name = "page-faults", .unit = Unit::kEvents, .value = 100, .period = 100}};
  }

  void grow(size_t samples) {
    for (size_t i = 0; i < samples; ++i) add_sample();
    for (int i = 0; i < 20 && profile.frames().size() != 0; ++i) name(FrameId(below(profile.frames().size())));
    if (!threads_.empty()) {
      const ThreadId thread = threads_[below(threads_.size())];
      profile.edit_thread(thread, [&](Thread& row) {
        row.name = text();
        if (row.tid % 3 != 0) row.cpu_ns = row.cpu_ns.value_or(0) + 7;
      });
      profile.edit_process(profile.threads()[thread.value].process, [&](Process& row) { row.name = text(), row.cmdline = text(), row.parent_pid = 7; });
    }
    profile.header.duration_ns = time_ns_;
    profile.header.events[1].fired += samples;
    profile.header.events[1].counts = {{"stored", profile.sample_count(), true}};
    profile.header.end_reasons = {{"outermost frame", profile.sample_count(), false}};
  }

 private:
  size_t below(size_t n) { return random_() % n; }
  StringId text() { return profile.intern(below(3) == 0 ? std::string("\0\1\2 x", 5) + std::to_string(below(50)) : "name " + std::to_string(below(500))); }

  void name(FrameId frame) {
    std::vector<Location> locations(below(4));
    for (Location& location : locations) {
      const StringId shown = text(), linkage = below(2) == 0 ? StringId() : text();
      location = {.function = profile.intern_function({shown, linkage, ImageId(0)}), .file = below(2) == 0 ? StringId() : text(),
                  .line = static_cast<uint32_t>(below(1000)), .inlined = &location != &locations.back(), .source = NameSource::kDwarf};
    }
    profile.set_locations(frame, locations);
  }

  FrameId frame() {
    const ImageId image = profile.intern_image({profile.intern("/lib/" + std::to_string(below(5))), text(), ImageKind::kLibrary});
    switch (below(10)) {
      case 0: return profile.intern_frame({FrameKind::kJit, {}, static_cast<uint32_t>(below(3)), 0xffffffff00000000 + below(1000), {}});
      case 1: return profile.intern_frame({FrameKind::kLabel, {}, 0, 0, text()});
      default: return profile.intern_frame({FrameKind::kNative, image, 0, 0x1000 + below(300), {}});
    }
  }

  void add_sample() {
    if (threads_.empty() || below(50) == 0) {
      const ProcessId process = profile.intern_process(static_cast<Pid>(1 + below(100)), 1000 + below(3));
      threads_.push_back(profile.intern_thread(process, static_cast<Tid>(1 + below(1000))));
    }
    StackId stack = profile.stacks().empty() || below(3) == 0 ? StackId() : StackId(below(profile.stacks().size()));
    for (size_t depth = below(6); depth != 0; --depth) stack = profile.intern_stack(stack, frame());
    time_ns_ += 5'000'000 + below(1000);
    Sample sample{.time_ns = below(100) == 0 ? below(1000) : time_ns_, .thread = threads_[below(threads_.size())], .stack = stack};
    sample.cpu = static_cast<uint16_t>(below(20) == 0 ? 65535 : below(4));
    sample.event.value = static_cast<uint8_t>(below(10) == 0);
    sample.value = below(500) == 0 ? 1ULL << 63 | below(9) : profile.header.events[sample.event.value].value;
    if (below(30) == 0) {
      const Label labels[] = {{profile.intern("uid"), text()}, {profile.intern("state"), StringId()}};
      sample.labels = profile.intern_labels(std::span(labels).first(1 + below(2)));
    }
    sample.end_reason = static_cast<uint8_t>(below(END_REASON_COUNT));
    sample.in_kernel = below(2) == 0;
    sample.idle = below(9) == 0;
    profile.append_sample(sample);
  }

  std::mt19937 random_{1};
  std::vector<ThreadId> threads_;
  uint64_t time_ns_ = 0;
};

// Under the same ids. Warnings apart, which readers add.
void expect_same_header(const Header& a, const Header& b) {
  EXPECT_EQ(a.host, b.host);
  EXPECT_EQ(a.boot_id, b.boot_id);
  EXPECT_EQ(a.command, b.command);
  EXPECT_EQ(a.start_realtime_ns, b.start_realtime_ns);
  EXPECT_EQ(a.duration_ns, b.duration_ns);
  EXPECT_EQ(a.cpu_count, b.cpu_count);
  const auto expect_same_counts = [](const auto& x, const auto& y) {
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(x[i].name, y[i].name);
      EXPECT_EQ(x[i].value, y[i].value);
      EXPECT_EQ(x[i].outcome, y[i].outcome);
    }
  };
  expect_same_counts(a.end_reasons, b.end_reasons);
  ASSERT_EQ(a.events.size(), b.events.size());
  for (size_t i = 0; i < a.events.size(); ++i) {
    const Event &x = a.events[i], &y = b.events[i];
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.unit, y.unit);
    EXPECT_EQ(x.value, y.value);
    EXPECT_EQ(x.period, y.period);
    EXPECT_EQ(x.frequency_hz, y.frequency_hz);
    EXPECT_EQ(x.sample_ns, y.sample_ns);
    EXPECT_EQ(x.fired, y.fired);
    expect_same_counts(x.counts, y.counts);
  }
}

void expect_same(const ProfileSnapshot& a, const ProfileSnapshot& b) {
  expect_same_header(a.header, b.header);
  ASSERT_EQ(a.strings().size(), b.strings().size());
  for (size_t i = 0; i < a.strings().size(); ++i) EXPECT_EQ(a.text(StringId(i)), b.text(StringId(i)));
  const auto expect_same_rows = [](const auto& x, const auto& y) {
    ASSERT_EQ(x.size(), y.size());
    EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin()));
  };
  expect_same_rows(a.images(), b.images());
  expect_same_rows(a.functions(), b.functions());
  expect_same_rows(a.frames(), b.frames());
  expect_same_rows(a.processes(), b.processes());
  expect_same_rows(a.threads(), b.threads());
  ASSERT_EQ(a.stacks().size(), b.stacks().size());
  for (size_t i = 0; i < a.stacks().size(); ++i) {
    EXPECT_EQ(a.stacks()[i].parent, b.stacks()[i].parent);
    EXPECT_EQ(a.stacks()[i].frame, b.stacks()[i].frame);
  }
  for (size_t i = 0; i < a.frames().size(); ++i) expect_same_rows(a.locations(FrameId(i)), b.locations(FrameId(i)));
  ASSERT_EQ(a.label_set_count(), b.label_set_count());
  for (size_t i = 0; i < a.label_set_count(); ++i) expect_same_rows(a.labels(LabelSetId(i)), b.labels(LabelSetId(i)));
  ASSERT_EQ(a.sample_count(), b.sample_count());
  for (size_t i = 0; i < a.sample_count(); ++i) {
    const Sample x = a.sample(i), y = b.sample(i);
    ASSERT_EQ(x.time_ns, y.time_ns) << i;
    ASSERT_EQ(x.thread, y.thread) << i;
    ASSERT_EQ(x.stack, y.stack) << i;
    ASSERT_EQ(x.value, y.value) << i;
    ASSERT_EQ(x.labels, y.labels) << i;
    ASSERT_EQ(x.cpu, y.cpu) << i;
    ASSERT_EQ(x.event, y.event) << i;
    ASSERT_EQ(to_state(x), to_state(y)) << i;
  }
}

Bytes bytes_of(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

// Sends what is new. Returns the messages.
std::vector<std::string> send(const ProfileSnapshot& now, SnapshotSizes& sent, Profile& to) {
  std::vector<std::string> messages;
  do {
    ByteWriter message;
    sent = append_delta(message, now, sent);
    MemoryBudget budget(1 << 30);
    const auto applied = apply_delta(to, bytes_of(message.bytes()), budget);
    EXPECT_TRUE(applied) << applied.error().message();
    messages.push_back(message.bytes());
  } while (sent != now.sizes());
  return messages;
}

// As cicadas wrote that did not know of threads' times.
TEST(DeltaCodec, TimesOfThreadsMayBeMissing) {
  Profile profile;
  for (const Tid tid : {1, 2, 3}) profile.append_sample({.time_ns = 1, .thread = profile.intern_thread(profile.intern_process(1, 1), tid)});
  ByteWriter message;
  append_delta(message, profile, {});
  std::string bytes(message.bytes());
  for (int left = 3; left >= 0; --left) {
    Profile read;
    MemoryBudget budget(1 << 20);
    EXPECT_EQ(static_cast<bool>(apply_delta(read, bytes_of(bytes), budget)), left == 3 || left == 0) << left << " of 3 times";
    if (left == 0) expect_same(read, profile);
    bytes.pop_back();
  }
}

TEST(DeltaCodec, AReaderHasWhatTheWriterHasAfterEachDifference) {
  GrowingProfile growing;
  Profile follower;
  SnapshotSizes sent;
  for (int step = 0; step < 20; ++step) {
    growing.grow(step % 7 == 3 ? 0 : 100);
    const ProfileSnapshot now(growing.profile);
    send(now, sent, follower);
    ASSERT_TRUE(follower.validate());
    expect_same(now, follower);
    Profile late;  // who comes now gets everything at once
    SnapshotSizes nothing;
    send(now, nothing, late);
    expect_same(now, late);
  }
}

TEST(DeltaCodec, CutsWhatIsLargeIntoPartsThatStandAlone) {
  Profile large = make_synthetic_profile({.samples = 3 * kMaxDeltaSamples / 2, .stacks = 300, .functions = 500, .hostile_names = true});
  for (int i = 0; i < 70; ++i) large.intern(std::to_string(i) + std::string(kMaxDeltaTextBytes / 64, 'x'));
  Profile follower;
  SnapshotSizes sent;
  EXPECT_GE(send(large, sent, follower).size(), 3u);
  expect_same(large, follower);
}

TEST(DeltaCodec, CutsTextsThatNobodyReads) {
  Profile profile;
  for (const char last : {'a', 'b'}) profile.intern(std::string(kMaxTextBytes + 10, 'x') + last);
  Profile follower;
  SnapshotSizes sent;
  send(profile, sent, follower);
  ASSERT_EQ(follower.strings().size(), 2u);
  EXPECT_LT(follower.text(StringId(0)).size(), kMaxTextBytes + 100);
  EXPECT_TRUE(follower.text(StringId(0)).starts_with(std::string(kMaxTextBytes, 'x')));
}

TEST(DeltaCodec, LeavesOutSamplesThatWereDroppedBefore) {
  GrowingProfile growing;
  growing.grow(100);
  Profile follower;
  SnapshotSizes sent;
  send(growing.profile, sent, follower);
  growing.grow(10'000);
  const size_t dropped = growing.profile.drop_samples(5'000);
  ASSERT_GT(dropped, 100u);
  send(growing.profile, sent, follower);
  EXPECT_EQ(follower.sample_count(), 10'100 - dropped + 100);
  EXPECT_EQ(follower.sample(100).time_ns, growing.profile.sample(0).time_ns);
}

TEST(DeltaCodec, RefusesWhatDoesNotContinueTheProfile) {
  GrowingProfile growing;
  growing.grow(100);
  Profile follower;
  SnapshotSizes sent;
  const auto first = send(growing.profile, sent, follower);
  growing.grow(100);
  ByteWriter second;
  append_delta(second, growing.profile, sent);
  MemoryBudget budget(1 << 30);
  const auto again = apply_delta(follower, bytes_of(first[0]), budget);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind(), ErrorKind::kCorrupt);
  EXPECT_NE(again.error().message().find("strings from number 0 on, where"), std::string::npos) << again.error().message();
  Profile empty;
  EXPECT_FALSE(apply_delta(empty, bytes_of(second.bytes()), budget));
  ASSERT_TRUE(apply_delta(follower, bytes_of(second.bytes()), budget));
  expect_same(growing.profile, follower);
}

TEST(DeltaCodec, KeepsTheEventsThatSamplesHave) {
  GrowingProfile growing;
  growing.grow(100);
  Profile follower;
  SnapshotSizes sent;
  send(growing.profile, sent, follower);
  growing.profile.header.events[1].value = 7;
  ByteWriter message;
  append_delta(message, growing.profile, sent);
  MemoryBudget budget(1 << 30);
  EXPECT_FALSE(apply_delta(follower, bytes_of(message.bytes()), budget));
  EXPECT_TRUE(follower.validate());
}

TEST(DeltaCodec, BelievesNoByte) {
  GrowingProfile growing;
  growing.grow(300);
  std::vector<std::string> deltas;
  Profile follower;
  SnapshotSizes sent;
  for (int i = 0; i < 3; ++i) {
    for (std::string& message : send(growing.profile, sent, follower)) deltas.push_back(std::move(message));
    growing.grow(50);
  }
  std::mt19937 random(5);
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    Profile profile;
    MemoryBudget budget(64 << 20);
    for (std::string delta : deltas) {
      for (int n = 0; n < 2; ++n) delta[random() % delta.size()] = static_cast<char>(random());
      if (random() % 4 == 0) delta.resize(random() % delta.size());
      if (apply_delta(profile, bytes_of(delta), budget)) continue;
      ++refused;
      break;
    }
    const auto valid = profile.validate();
    ASSERT_TRUE(valid) << valid.error().message();
  }
  EXPECT_GT(refused, 500);
}

TEST(DeltaCodec, StaysWithinItsBudget) {
  const Profile profile = make_synthetic_profile({.samples = 10'000});
  ByteWriter message;
  append_delta(message, profile, {});
  Profile follower;
  MemoryBudget small(100'000);
  EXPECT_FALSE(apply_delta(follower, bytes_of(message.bytes()), small));
  EXPECT_TRUE(follower.validate());
  EXPECT_EQ(follower.sample_count(), 0u);
}

}  // namespace
}  // namespace cicada::sink
