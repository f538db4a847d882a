// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/recording_decoder.h"

#include <gtest/gtest.h>

#include <random>

#include "profile/synthetic_profile_for_test.h"
#include "sink/recording/recording_encoder.h"

namespace cicada::sink {
namespace {

constexpr int kLevel = 3;

Bytes bytes_of(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

std::string encoded(const profile::Profile& profile) {
  RecordingEncoder encoder;
  std::string bytes;
  while (!encoder.append(bytes, profile, kLevel)) {
  }
  encoder.append_end(bytes, kLevel);
  return bytes;
}

TEST(RecordingDecoder, TakesPiecesOfAnySize) {
  const profile::Profile profile = profile::make_synthetic_profile({.samples = 70'000, .hostile_names = true});
  const std::string bytes = encoded(profile);
  std::mt19937 random(1);
  for (const size_t most : {size_t{1}, size_t{300}, size_t{70'000}, bytes.size()}) {
    RecordingDecoder decoder("x");
    const size_t end = most == 1 ? std::min<size_t>(bytes.size(), 4000) : bytes.size();  // a byte at a time takes long
    for (size_t at = 0; at < end;) {
      const size_t size = std::min(end - at, 1 + random() % most);
      const Result<void> pushed = decoder.push(bytes_of(std::string_view(bytes).substr(at, size)));
      ASSERT_TRUE(pushed) << pushed.error().message();
      at += size;
    }
    ASSERT_TRUE(decoder.begun());
    if (most == 1) continue;
    EXPECT_TRUE(decoder.ended());
    EXPECT_EQ(decoder.unread_bytes(), 0U);
    EXPECT_EQ(decoder.declared_samples(), 70'000U);
    EXPECT_TRUE(decoder.profile().validate());
    EXPECT_EQ(encoded(decoder.profile()), bytes);
  }
}

TEST(RecordingDecoder, HasWhatIsNewAsSoonAsItCame) {
  profile::Profile profile = profile::make_synthetic_profile({.samples = 1000});
  RecordingEncoder encoder;
  RecordingDecoder decoder("x");
  for (int round = 1; round <= 5; ++round) {
    std::string bytes;
    EXPECT_TRUE(encoder.append(bytes, profile, kLevel));
    ASSERT_TRUE(decoder.push(bytes_of(bytes)));
    EXPECT_EQ(decoder.profile().sample_count(), 1000U * round);
    for (size_t i = 0; i < 1000; ++i) profile.append_sample(profile.sample(i));
  }
  const profile::Profile other = profile::make_synthetic_profile({.samples = 300, .seed = 2});  // as after a compaction
  std::string bytes;
  EXPECT_TRUE(encoder.append(bytes, other, kLevel));
  ASSERT_TRUE(decoder.push(bytes_of(bytes)));
  EXPECT_EQ(decoder.profile().sample_count(), 300U);
  EXPECT_FALSE(decoder.ended());
}

TEST(RecordingDecoder, EndsAtTheFirstBadChunk) {
  const std::string bytes = encoded(profile::make_synthetic_profile({.samples = 70'000}));
  for (const size_t at : {size_t{3}, size_t{9}, size_t{14}, size_t{40}, bytes.size() - 3}) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    RecordingDecoder decoder("x");
    EXPECT_FALSE(decoder.push(bytes_of(damaged))) << at;
    EXPECT_FALSE(decoder.ended());
    EXPECT_EQ(decoder.begun(), at >= 12);
    EXPECT_TRUE(decoder.profile().validate());
  }
}

TEST(RecordingDecoder, RefusesStrangers) {
  RecordingDecoder text("x"), newer("x");
  const Result<void> refused = text.push(bytes_of("HT"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid);
  const Result<void> version = newer.push(bytes_of(std::string(kRecordingMagic) + std::string("\x07\0\0\0", 4)));
  ASSERT_FALSE(version);
  EXPECT_EQ(version.error().kind(), ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace cicada::sink
