// SPDX-License-Identifier: Apache-2.0
#include "ingest/stack_table.h"

#include <gtest/gtest.h>

#include "abi/frame.h"
#include "profile/compaction.h"

namespace cicada::ingest {
namespace {

class StackTableTest : public ::testing::Test {
 protected:
  void add(uint64_t hash, uint8_t side, std::vector<uint64_t> frames, uint32_t address_space = 0) {
    stack_record head{};
    head.kind = RECORD_STACK;
    head.side = side;
    head.hash = hash;
    head.frame_count = static_cast<uint16_t>(frames.size());
    head.address_space = address_space;
    table.add(head, frames);
  }
  // A sample's stack, as SampleAssembler finds it.
  std::optional<profile::StackId> find(uint64_t user_hash, uint64_t kernel_hash) {
    const auto user = table.find_user(user_hash);
    return user ? table.find_above(*user, kernel_hash) : std::nullopt;
  }
  std::vector<uint64_t> addresses(profile::StackId id) const {  // leaf first
    std::vector<uint64_t> out;
    for (; id.valid(); id = profile.stacks()[id.value].parent) {
      out.push_back(profile.frames()[profile.stacks()[id.value].frame.value].address);
    }
    return out;
  }
  profile::Profile profile;
  process::ImageRegistry images{{}};
  StackTable table{profile, images};
};

TEST_F(StackTableTest, PutsKernelFramesAboveUserFrames) {
  add(1, STACK_USER, {frame_in_image(1, 0x10), frame_in_image(1, 0x20)});
  add(2, STACK_KERNEL, {frame_at(FRAME_KERNEL, 0xffffffff81000001), frame_at(FRAME_KERNEL, 0xffffffff81000002)});
  const auto stack = find(1, 2);
  ASSERT_TRUE(stack);
  EXPECT_EQ(addresses(*stack), (std::vector<uint64_t>{0xffffffff81000001, 0xffffffff81000002, 0x10, 0x20}));
  EXPECT_EQ(find(1, 2), stack);
}

TEST_F(StackTableTest, SaysWhenARecordNeverArrived) {
  EXPECT_FALSE(find(7, 0));
  EXPECT_FALSE(find(0, 7));
  EXPECT_TRUE(find(0, 0));
}

TEST_F(StackTableTest, TheFinishedPartReplacesTheFrameWhereTheKernelStopped) {
  add(1, STACK_USER, {frame_in_image(1, 0x10), frame_at(FRAME_UNKNOWN, 0x7000)}, 5);
  const auto stack = table.continue_user_stack(1, std::vector<uint64_t>{frame_in_image(2, 0x30), frame_in_image(2, 0x40)}, 5);
  EXPECT_EQ(addresses(stack), (std::vector<uint64_t>{0x10, 0x30, 0x40}));
}

TEST_F(StackTableTest, KeepsTheAddressSpaceOfFramesWithoutAnImage) {
  add(1, STACK_USER, {frame_at(FRAME_JIT, 0x7000)}, 5);
  add(2, STACK_USER, {frame_at(FRAME_JIT, 0x7000)}, 6);
  EXPECT_NE(*find(1, 0), *find(2, 0));
}

TEST_F(StackTableTest, KnowsWhoPaysInTheGenerationBeforeToo) {
  const uint32_t user = 1000;
  {
    const profile::Profile::Charge charge(profile, user);
    for (size_t i = 0; !profile.is_full(user) && i < profile::Profile::kMaxBytesOfUser >> 20; ++i)
      profile.intern(std::string((1 << 20) + i, 'x'));
  }
  ASSERT_TRUE(profile.is_full(user));
  table.note_sampled(5, user);
  for (const uint64_t hash : {1, 2}) {
    add(hash, STACK_USER, {frame_in_image(1, hash), frame_in_image(1, 0x20)}, 5);
    EXPECT_EQ(addresses(*find(hash, 0)).size(), 1U) << "it has no room";
    table.begin_generation();
  }
  add(3, STACK_USER, {frame_in_image(1, 0x10), frame_in_image(1, 0x20)}, 6);
  EXPECT_EQ(addresses(*find(3, 0)).size(), 2U) << "another's";
}

TEST_F(StackTableTest, ForgetsWhatIsNotSentAgain) {
  const uint64_t kernel = frame_at(FRAME_KERNEL, 0xffffffff81000001);
  for (const uint64_t hash : {1, 2}) add(hash, STACK_USER, {frame_at(FRAME_JIT, 0x7000 + hash), frame_in_image(1, 0x10)}, static_cast<uint32_t>(hash));
  add(3, STACK_KERNEL, {kernel});
  const auto thread = profile.intern_thread(profile.intern_process(1, 1), 1);
  profile.append_sample({.thread = thread, .stack = *find(2, 3)});
  table.begin_generation();
  EXPECT_TRUE(find(1, 3));  // samples from before may still come
  add(2, STACK_USER, {frame_at(FRAME_JIT, 0x7002), frame_in_image(1, 0x10)}, 2);
  add(3, STACK_KERNEL, {kernel});
  profile::Compaction compaction(profile);
  compaction.copy({});
  compaction.finish(profile, [&](profile::RowCopier& ids) { table.rebase(ids); });
  EXPECT_FALSE(find(1, 0));
  EXPECT_FALSE(table.has_generated_code(1));
  EXPECT_TRUE(table.has_generated_code(2));
  EXPECT_EQ(find(2, 3), profile.samples().stack[0]);
  EXPECT_EQ(addresses(*find(2, 3)), (std::vector<uint64_t>{0xffffffff81000001, 0x7002, 0x10}));
  EXPECT_TRUE(table.registry_id(*table.find_image(1)));
  EXPECT_EQ(profile.frames().size(), 3u);
}

}  // namespace
}  // namespace cicada::ingest
