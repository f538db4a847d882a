// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/trie_publisher.h"

#include <gtest/gtest.h>

#include "process/tracking/process_fixture_for_test.h"

namespace cicada::process {
namespace {

AddressSpace space_with(std::initializer_list<uint32_t> images) {
  AddressSpace space;
  for (const uint32_t image : images) {
    const uint64_t begin = uint64_t{image} << 20;
    space.insert({{RuntimeAddr(begin), RuntimeAddr(begin + 0x1000)}, FileOffset(), {BindingState::kImage, image, 0}});
  }
  return space;
}

class TriePublisherTest : public testing::Test {
 protected:
  FakeKernel kernel;
  uint64_t now = 1000 * kMs;
  TriePublisher trie{kernel, [this] { return now; }};

  // What a walk in this space finds at an image's address.
  bool sees(uint32_t space, uint32_t image) {
    kernel.processes[1].address_space = space;
    return kernel.image(1, uint64_t{image} << 20) == image;
  }
  std::vector<uint32_t> take_due(uint64_t young_ns = 0) { return trie.take_due(now, young_ns); }
};

TEST_F(TriePublisherTest, PublishesDifferencesAndTakesThemBack) {
  EXPECT_TRUE(trie.publish(1, space_with({7, 8})));
  EXPECT_TRUE(sees(1, 7) && sees(1, 8));
  EXPECT_TRUE(trie.publish(1, space_with({8, 9})));
  EXPECT_TRUE(!sees(1, 7) && sees(1, 8) && sees(1, 9));
  EXPECT_EQ(trie.blocks(), kernel.used());
  EXPECT_TRUE(trie.retire(1));
  EXPECT_EQ(kernel.used(), 0u);
  EXPECT_EQ(trie.blocks(), 0u);
  EXPECT_TRUE(trie.retire(1)) << "nothing left to do";
}

TEST_F(TriePublisherTest, DirtyOnesAreDueOnce) {
  trie.mark_dirty(1);
  trie.mark_dirty(1);
  EXPECT_TRUE(trie.waits());
  EXPECT_TRUE(trie.is_first_due(1));
  EXPECT_EQ(take_due(), std::vector{1u});
  EXPECT_FALSE(trie.waits());
  EXPECT_TRUE(take_due().empty());
  trie.publish(1, space_with({7}));
  trie.mark_dirty(1);
  EXPECT_FALSE(trie.is_first_due(1));
}

TEST_F(TriePublisherTest, YoungProgramsWaitUntilTheyWereShownOnce) {
  trie.note_exec(1, now);
  trie.mark_dirty(1);
  now += 2 * kMs;
  EXPECT_TRUE(take_due(3 * kMs).empty());
  EXPECT_TRUE(trie.waits());
  EXPECT_EQ(take_due(2 * kMs), std::vector{1u});
  trie.publish(1, space_with({7}));
  trie.mark_dirty(1);
  EXPECT_EQ(take_due(100 * kMs), std::vector{1u});
}

TEST_F(TriePublisherTest, LargeSpacesAreCutRarely) {
  AddressSpace large;
  for (uint32_t i = 0; i <= TriePublisher::kLargeSpace; ++i) {
    large.insert({{RuntimeAddr(uint64_t{i} << 13), RuntimeAddr((uint64_t{i} << 13) + 0x1000)}, FileOffset(), {BindingState::kImage, i + 1, 0}});
  }
  EXPECT_TRUE(trie.publish(1, large));
  trie.mark_dirty(1);
  EXPECT_TRUE(take_due().empty());
  now += TriePublisher::kLargeSpacePauseNs;
  EXPECT_EQ(take_due(), std::vector{1u});
}

TEST_F(TriePublisherTest, FullTrieTakesOutTheLeastRecentlySampled) {
  trie.publish(1, space_with({7}));
  trie.publish(2, space_with({8}));
  trie.publish(3, space_with({9}));
  kernel.capacity = kernel.used();
  trie.note_sampled(std::vector{2u});
  trie.note_sampled(std::vector{3u, 1u});
  EXPECT_TRUE(trie.publish(4, space_with({10})));
  EXPECT_TRUE(sees(4, 10) && sees(1, 7) && sees(3, 9) && !sees(2, 8));
  EXPECT_EQ(trie.evicted(), 1u);
  EXPECT_TRUE(trie.publish(2, space_with({8, 11}))) << "stays out";
  EXPECT_FALSE(sees(2, 8));
  trie.note_sampled(std::vector{2u, 3u, 4u});
  EXPECT_EQ(take_due(), std::vector{2u});
  EXPECT_TRUE(trie.publish(2, space_with({8})));
  EXPECT_TRUE(sees(2, 8) && !sees(1, 7));
}

TEST_F(TriePublisherTest, WhatDoesNotFitIsSaidAndNothingLies) {
  trie.publish(1, space_with({7}));
  kernel.capacity = kernel.used() + 1;
  EXPECT_FALSE(trie.publish(2, space_with({8, 9, 10})));  // more than there is, whoever leaves
  EXPECT_EQ(trie.failures(), 1u);
  EXPECT_EQ(trie.blocks(), kernel.used());
  kernel.capacity = 100;
  EXPECT_TRUE(trie.publish(2, space_with({8, 9, 10})));
  EXPECT_TRUE(sees(2, 8) && sees(2, 9) && sees(2, 10));
}

TEST_F(TriePublisherTest, MeasuresUntilTheWalkCanSee) {
  trie.note_mapping(1, RuntimeAddr(7 << 20), now, true);
  trie.note_mapping(1, RuntimeAddr(8 << 20), now + kMs, false);
  now += 3 * kMs;
  EXPECT_TRUE(trie.publish(1, space_with({7})));  // the other's file is not open yet
  EXPECT_EQ(trie.exec_latency().longest_ns(), 3 * kMs);
  EXPECT_EQ(trie.map_latency().count(), 0u);
  now += kMs;
  EXPECT_TRUE(trie.publish(1, space_with({7, 8})));
  EXPECT_EQ(trie.map_latency().longest_ns(), 3 * kMs);
  EXPECT_EQ(trie.exec_latency().count(), 1u);
}

}  // namespace
}  // namespace cicada::process
