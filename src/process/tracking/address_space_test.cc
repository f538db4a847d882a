// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/address_space.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace cicada::process {
namespace {

Mapping mapping_at(uint64_t begin, uint64_t end, ImageBinding binding, uint64_t offset = 0) {
  Mapping mapping;
  mapping.range = {RuntimeAddr(begin), RuntimeAddr(end)};
  mapping.offset = FileOffset(offset);
  mapping.binding = binding;
  return mapping;
}
constexpr ImageBinding kFoo{BindingState::kImage, 1, 0x1000};
constexpr ImageBinding kBar{BindingState::kImage, 2, 0x1000};
constexpr ImageBinding kJit{BindingState::kJit, 0, 0};

TEST(AddressSpace, NewerMappingSplitsWhatItOverlaps) {
  AddressSpace space;
  EXPECT_TRUE(space.insert(mapping_at(0x1000, 0x9000, kFoo)));
  EXPECT_TRUE(space.insert(mapping_at(0x3000, 0x5000, kBar)));
  EXPECT_EQ(space.size(), 3u);
  EXPECT_EQ(space.find(RuntimeAddr(0x2fff))->end, 0x3000u);
  EXPECT_EQ(space.find(RuntimeAddr(0x3000))->image, 2u);
  EXPECT_EQ(space.find(RuntimeAddr(0x5000))->image, 1u);
  EXPECT_EQ(space.find(RuntimeAddr(0x5000))->bias, 0x1000u);
  EXPECT_FALSE(space.find(RuntimeAddr(0x9000)));
  EXPECT_FALSE(space.find(RuntimeAddr(0xfff)));
}

TEST(AddressSpace, NeighboursOfOneImageAndBiasAreOneMapping) {
  AddressSpace space;
  space.insert(mapping_at(0x1000, 0x2000, kJit));
  space.insert(mapping_at(0x3000, 0x4000, kJit));
  EXPECT_EQ(space.size(), 2u);
  space.insert(mapping_at(0x2000, 0x3000, kJit));
  EXPECT_EQ(space.size(), 1u);
  EXPECT_FALSE(space.insert(mapping_at(0x2000, 0x3000, kJit)));  // nothing new
  space.insert(mapping_at(0x4000, 0x5000, {BindingState::kImage, 1, 0x2000}));
  space.insert(mapping_at(0x5000, 0x6000, kFoo));  // same image, other bias: loaded twice
  EXPECT_EQ(space.size(), 3u);
}

TEST(AddressSpace, PendingPiecesKeepTheirFileOffset) {
  struct Images : ImageSource {
    ImageBinding resolve(const MappedFile&) override { return {}; }
    ImageBinding re_resolve(uint32_t image, Range<RuntimeAddr> range, FileOffset offset) override {
      return {BindingState::kImage, image, range.begin.value - offset.value};
    }
    std::vector<uint32_t> take_ready() override { return {}; }
  } images;
  AddressSpace space;
  space.insert(mapping_at(0x10000, 0x18000, {BindingState::kPending, 7, 0}, 0x4000));
  space.insert(mapping_at(0x12000, 0x13000, kBar));
  EXPECT_FALSE(space.find(RuntimeAddr(0x10000)));
  EXPECT_TRUE(space.blocks().size() == 1);
  EXPECT_TRUE(space.re_resolve(std::vector{6u, 7u}, images));
  EXPECT_FALSE(space.re_resolve(std::vector{6u, 7u}, images));
  EXPECT_EQ(space.find(RuntimeAddr(0x10000))->bias, 0xc000u);
  EXPECT_EQ(space.find(RuntimeAddr(0x17fff))->bias, 0xc000u);
}

TEST(AddressSpace, SaysWhatIsNotThereAnyMore) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    AddressSpace before, after;
    for (AddressSpace* space : {&before, &after}) {
      for (int i = 0; i < 4; ++i) {
        const uint64_t begin = random() % 64, end = std::min<uint64_t>(64, begin + random() % 20);
        space->insert(mapping_at(begin, end, {BindingState::kImage, static_cast<uint32_t>(1 + random() % 3), 0}));
      }
    }
    std::map<uint64_t, uint32_t> told;  // by address: what was
    const auto gone = after.gone_since(before, 100);
    for (const Mapping& was : gone) {
      for (uint64_t at = was.range.begin.value; at < was.range.end.value; ++at) ASSERT_TRUE(told.emplace(at, was.binding.image).second);
    }
    for (uint64_t at = 0; at < 64; ++at) {
      const auto was = before.find(RuntimeAddr(at));
      ASSERT_EQ(told.contains(at), was && !after.find(RuntimeAddr(at)));
      if (told.contains(at)) {
        ASSERT_EQ(told[at], was->image);
      }
    }
    ASSERT_EQ(after.gone_since(before, 1).size(), std::min<size_t>(gone.size(), 1));
  }
}

TEST(AddressSpace, EqualsALinearModelAfterAnyInsertions) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    AddressSpace space;
    uint32_t model[64] = {};
    for (int i = 0; i < 30; ++i) {
      const uint64_t begin = random() % 64;
      const uint64_t end = std::min<uint64_t>(64, begin + random() % 20);
      const auto image = static_cast<uint32_t>(1 + random() % 4);
      for (uint64_t at = begin; at < end; ++at) model[at] = image;
      space.insert(mapping_at(begin, end, {BindingState::kImage, image, 0}));
      size_t runs = 0;
      for (uint64_t at = 0; at < 64; ++at) {
        const auto found = space.find(RuntimeAddr(at));
        ASSERT_EQ(found ? found->image : 0, model[at]);
        if (model[at] != 0 && (at == 0 || model[at - 1] != model[at])) ++runs;
      }
      ASSERT_EQ(space.size(), runs);
    }
  }
}

}  // namespace
}  // namespace cicada::process
