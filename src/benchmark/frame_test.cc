// SPDX-License-Identifier: Apache-2.0
// Golden frames are those of the real client 5.7.1.
#include "benchmark/frame.h"

#include <gmock/gmock.h>

#include <random>

namespace cicada::benchmark {
namespace {

std::string from_hex(std::string_view hex) {
  std::string out;
  std::string digits;
  for (const char c : hex)
    if (c != ' ') digits += c;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) out += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return out;
}
Bytes bytes_of(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

std::vector<Frame> decode(std::string_view bytes, FrameDecoder* state = nullptr) {
  FrameDecoder own;
  FrameDecoder& decoder = state != nullptr ? *state : own;
  decoder.append(bytes_of(bytes));
  std::vector<Frame> frames;
  while (auto item = decoder.next(true))
    if (item->frame) frames.push_back(*item->frame);
  return frames;
}

std::string u32(uint32_t v) { return {reinterpret_cast<const char*>(&v), 4}; }
std::string u64(uint64_t v) { return {reinterpret_cast<const char*>(&v), 8}; }
struct Parts {
  std::string length, body;
};
Parts parts(std::string body) { return {u32(static_cast<uint32_t>(body.size())), std::move(body)}; }
Parts plain(FrameKind kind) { return parts(u32(static_cast<uint32_t>(kind))); }
Parts current(int32_t pid, const std::string& uri) { return parts(u32(0) + u32(static_cast<uint32_t>(pid)) + u64(uri.size()) + uri); }
Parts marker(int32_t pid, Marker kind, uint64_t time) { return parts(u32(7) + u32(static_cast<uint32_t>(pid)) + u32(static_cast<uint32_t>(kind)) + u64(time)); }

TEST(Frame, DecodesGoldenFrames) {
  EXPECT_THAT(decode(from_hex("0c000000 08000000 0200000000000000")), testing::ElementsAre(Frame{.kind = FrameKind::kSetVersion, .number = 2}));
  EXPECT_THAT(decode(from_hex("04000000 09000000")), testing::ElementsAre(Frame{.kind = FrameKind::kGetMode}));
  EXPECT_THAT(decode(from_hex("04000000 01000000 04000000 02000000 04000000 04000000")),
              testing::ElementsAre(Frame{.kind = FrameKind::kStart}, Frame{.kind = FrameKind::kStop}, Frame{.kind = FrameKind::kPing}));
  EXPECT_THAT(decode(from_hex("26000000 05000000 0d00000000000000 636f6473706565642d6e6f6465 0500000000000000 352e372e31")),
              testing::ElementsAre(Frame{.kind = FrameKind::kSetIntegration, .text = "codspeed-node 5.7.1"}));
  EXPECT_THAT(decode(from_hex("28000000 00000000 2a000000 1800000000000000") + "bench.mjs::demo::sqrt20k"),
              testing::ElementsAre(Frame{.kind = FrameKind::kCurrentBenchmark, .pid = 42, .text = "bench.mjs::demo::sqrt20k"}));
  EXPECT_EQ(std::string(kAckBytes), from_hex("04000000 03000000"));
  EXPECT_EQ(std::string(kErrBytes), from_hex("04000000 06000000"));
  EXPECT_EQ(std::string(kWalltimeBytes), from_hex("08000000 0a000000 00000000"));
}

TEST(Frame, RefusesBodiesThatAreLongerOrShorterThanTheirFields) {
  EXPECT_FALSE(find_frame(bytes_of(u32(1) + u32(0))));
  EXPECT_FALSE(find_frame(bytes_of(u32(0) + u32(1) + u64(5) + "abcd")));
  EXPECT_FALSE(find_frame(bytes_of(u32(0) + u32(1) + u64(~0ULL) + "abcd")));
  EXPECT_FALSE(find_frame(bytes_of(u32(7) + u32(1) + u32(4) + u64(1))));
  EXPECT_FALSE(find_frame({}));
}

TEST(FrameDecoder, WaitsForABodyThatComesByteByByte) {
  const Parts frame = current(7, "a::b");
  FrameDecoder decoder;
  const std::string all = frame.length + frame.body;
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_FALSE(decoder.next());
    decoder.append(bytes_of(std::string_view(all).substr(i, 1)));
  }
  const auto item = decoder.next();
  ASSERT_TRUE(item && item->frame);
  EXPECT_EQ(item->frame->text, "a::b");
  EXPECT_FALSE(decoder.is_waiting());
}


// Every way in which the writes of two clients can be mixed.
TEST(FrameDecoder, LosesNothingWhenTwoClientsMixTheirWrites) {
  const std::vector<std::vector<Parts>> clients = {
      {plain(FrameKind::kStart), marker(1, Marker::kRoundStart, 5), plain(FrameKind::kStop), current(1, "one")},
      {parts(u32(8) + u64(2)), plain(FrameKind::kGetMode), plain(FrameKind::kStart), current(2, "another")}};
  for (uint32_t order = 0; order < 1U << 16; ++order) {
    if (__builtin_popcount(order) != 8) continue;
    std::string bytes;
    size_t at[2] = {0, 0};
    for (int i = 0; i < 16; ++i) {
      const int who = order >> i & 1;
      const Parts& frame = clients[static_cast<size_t>(who)][at[who] / 2];
      bytes += at[who]++ % 2 == 0 ? frame.length : frame.body;
    }
    FrameDecoder decoder;
    EXPECT_EQ(decode(bytes, &decoder).size(), 8U) << order;
    EXPECT_FALSE(decoder.is_waiting());
    EXPECT_EQ(decoder.skipped(), 0U);
  }
}

TEST(FrameDecoder, HoldsWhatMayBeAPingOrASecondLength) {
  FrameDecoder decoder;
  decoder.append(bytes_of(u32(4) + u32(4)));
  EXPECT_FALSE(decoder.next());
  decoder.append(bytes_of(u32(1) + u32(2)));
  std::vector<FrameKind> kinds;
  while (auto item = decoder.next()) kinds.push_back(item->frame->kind);
  EXPECT_THAT(kinds, testing::ElementsAre(FrameKind::kStart, FrameKind::kStop));
}

TEST(FrameDecoder, FindsTheNextFrameAfterAnAbsurdLength) {
  FrameDecoder decoder;
  EXPECT_THAT(decode(u32(0xffffffff) + u32(4) + u32(1), &decoder), testing::ElementsAre(Frame{.kind = FrameKind::kStart}));
  EXPECT_EQ(decoder.skipped(), 4U);
}

TEST(FrameDecoder, SkipsABodyThatIsNoFrame) {
  FrameDecoder decoder;
  decoder.append(bytes_of(u32(12) + u32(11) + u64(9)));
  const auto bad = decoder.next();
  ASSERT_TRUE(bad);
  EXPECT_FALSE(bad->frame);
  EXPECT_THAT(decode(u32(4) + u32(9), &decoder), testing::ElementsAre(Frame{.kind = FrameKind::kGetMode}));
}

TEST(FrameDecoder, GoesOnAfterAClientThatDiedBetweenLengthAndBody) {
  FrameDecoder decoder;
  const Parts whole = current(3, "x::y");
  EXPECT_EQ(decode(u32(500), &decoder).size(), 0U);
  EXPECT_EQ(decode(whole.length + whole.body, &decoder).size(), 1U);
  EXPECT_TRUE(decoder.is_waiting());
  decoder.discard();
  EXPECT_FALSE(decoder.is_waiting());
}

// Of the dead client's body, in which the kind is right, or nothing.
TEST(FrameDecoder, FindsTheNextClientsFrameInAnUnfinishedBody) {
  for (const std::string& half : {u32(0) + u32(7) + u64(480) + "half of a name", std::string("half of something")}) {
    FrameDecoder decoder;
    decoder.append(bytes_of(u32(500) + half + u32(12) + u32(8) + u64(2)));
    EXPECT_FALSE(decoder.next());
    const auto item = decoder.next(true);
    ASSERT_TRUE(item && item->frame) << half.size();
    EXPECT_EQ(item->frame->kind, FrameKind::kSetVersion);
    EXPECT_FALSE(decoder.is_waiting());
  }
}

TEST(FrameDecoder, EndsWithEveryInput) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (int i = 0; i < 40; ++i) bytes += random() % 3 == 0 ? u32(static_cast<uint32_t>(random() % 24)) : std::string(1, static_cast<char>(random() % 12));
    FrameDecoder decoder;
    decode(bytes, &decoder);
    decoder.discard();
    EXPECT_EQ(decode(u32(4) + u32(2), &decoder).size(), 1U);
  }
}

}  // namespace
}  // namespace cicada::benchmark
