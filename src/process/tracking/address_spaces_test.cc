// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/address_spaces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace cicada::process {
namespace {

Mapping mapping(uint64_t begin, uint32_t image, BindingState state = BindingState::kImage) {
  return {{RuntimeAddr(begin), RuntimeAddr(begin + 0x1000)}, FileOffset(), {state, image, 0}};
}

class AddressSpacesTest : public testing::Test {
 protected:
  uint32_t next = 100;
  AddressSpaces spaces{[this] { return next++; }};

  uint32_t image(Pid pid, uint64_t address) const {
    const auto found = spaces.mappings(spaces.find(pid))->find(RuntimeAddr(address));
    return found ? found->image : 0;
  }
  std::vector<std::pair<Pid, uint32_t>> moves(uint32_t to) {
    std::vector<std::pair<Pid, uint32_t>> all;
    for (const auto& [pid, from] : spaces.take_moves(to)) all.emplace_back(pid, from);
    std::sort(all.begin(), all.end());
    return all;
  }
};

using Moves = std::vector<std::pair<Pid, uint32_t>>;

TEST_F(AddressSpacesTest, JoinTellsWhetherTheSpaceWasKnown) {
  EXPECT_EQ(spaces.find(5), 0u);
  EXPECT_FALSE(spaces.join(5, 1));
  EXPECT_TRUE(spaces.join(6, 1));
  EXPECT_EQ(spaces.find(6), 1u);
  EXPECT_FALSE(spaces.join(6, 2));
  EXPECT_EQ(spaces.users(1).size(), 1u) << "left by who joined another";
}

TEST_F(AddressSpacesTest, FindsAllThatMapAnImage) {
  spaces.join(5, 1);
  spaces.join(6, 2);
  spaces.join(7, 3);
  spaces.insert(5, mapping(0x4000, 7));
  spaces.insert(6, mapping(0x4000, 8));
  spaces.insert(6, mapping(0x9000, 7));
  spaces.insert(7, mapping(0x4000, 7, BindingState::kPending));
  auto found = spaces.find_all_with(7);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<uint32_t>{1, 2}));
  EXPECT_TRUE(spaces.find_all_with(9).empty());
}

TEST_F(AddressSpacesTest, WhoMapsFirstMovesToACopy) {
  spaces.join(5, 1);
  spaces.insert(5, mapping(0x4000, 7));
  EXPECT_TRUE(spaces.fork(5, 6, 1, false));
  const auto done = spaces.insert(6, mapping(0x9000, 8));
  EXPECT_TRUE(done.changed);
  EXPECT_EQ(done.id, 100u);
  EXPECT_EQ(spaces.find(6), 100u);
  EXPECT_EQ(image(6, 0x4000), 7u);
  EXPECT_EQ(image(6, 0x9000), 8u);
  EXPECT_EQ(image(5, 0x9000), 0u);
  EXPECT_EQ(spaces.users(100).front().sampled_as, 1u) << "until the kernel is told";
  EXPECT_EQ(moves(100), (Moves{{6, 1}}));
  EXPECT_EQ(moves(100), Moves()) << "once";
  EXPECT_EQ(spaces.users(100).front().sampled_as, 100u);
  EXPECT_EQ(spaces.insert(5, mapping(0xa000, 9)).id, 1u) << "alone by now";
  EXPECT_EQ(spaces.copies(), 1u);
}

TEST_F(AddressSpacesTest, MappingWhatIsThereMovesNobody) {
  spaces.join(5, 1);
  spaces.insert(5, mapping(0x4000, 7));
  spaces.fork(5, 6, 1, false);
  EXPECT_FALSE(spaces.insert(6, mapping(0x4000, 7)).changed);
  EXPECT_FALSE(spaces.assign(6, *spaces.mappings(1)));
  EXPECT_EQ(spaces.find(6), 1u);
}

TEST_F(AddressSpacesTest, InsertionTellsWhatWasThere) {
  spaces.join(5, 1);
  spaces.insert(5, mapping(0x4000, 7));
  spaces.fork(5, 6, 1, false);
  for (const Pid pid : {6, 5}) {  // from the shared space, from its own
    const auto before = spaces.insert(pid, mapping(0x4000, 8)).before;
    ASSERT_EQ(before.size(), 1u);
    EXPECT_EQ(before[0].binding.image, 7u);
  }
}

TEST_F(AddressSpacesTest, SharedMemoryMovesTogether) {
  spaces.join(5, 1);
  spaces.fork(5, 6, 1, true);
  EXPECT_EQ(spaces.insert(6, mapping(0x4000, 7)).id, 1u);
  spaces.fork(5, 8, 1, false);
  spaces.insert(5, mapping(0x9000, 8));
  EXPECT_EQ(spaces.find(5), 100u);
  EXPECT_EQ(spaces.find(6), 100u);
  EXPECT_EQ(spaces.find(8), 1u);
  EXPECT_EQ(moves(100), (Moves{{5, 1}, {6, 1}}));
}

TEST_F(AddressSpacesTest, ForkUnderTheOldIdFollowsItsParent) {
  spaces.join(5, 1);
  spaces.fork(5, 6, 1, false);
  spaces.insert(5, mapping(0x9000, 8));
  EXPECT_EQ(moves(100), (Moves{{5, 1}}));
  EXPECT_TRUE(spaces.fork(5, 8, 1, false));
  EXPECT_EQ(spaces.find(8), 100u);
  EXPECT_EQ(moves(100), (Moves{{8, 1}}));
  EXPECT_EQ(spaces.insert(8, mapping(0xa000, 9)).id, 101u) << "its memory is its own";
}

TEST_F(AddressSpacesTest, SecondMoveBeforeTheKernelWasToldIsOneMove) {
  spaces.join(5, 1);
  spaces.fork(5, 6, 1, false);
  spaces.insert(6, mapping(0x9000, 8));   // 100
  spaces.fork(6, 8, 1, false);            // the kernel has 6 under 1 as yet
  spaces.insert(8, mapping(0xa000, 9));   // 101
  EXPECT_EQ(moves(101), (Moves{{8, 1}}));
  EXPECT_EQ(moves(100), (Moves{{6, 1}}));
}

TEST_F(AddressSpacesTest, ForkOfAnUnknownParentIsUnknown) {
  EXPECT_FALSE(spaces.fork(5, 6, 1, false));
  EXPECT_EQ(spaces.find(6), 1u);
  spaces.join(8, 1);
  spaces.insert(8, mapping(0x4000, 7));
  EXPECT_EQ(spaces.find(6), 1u) << "not the same memory";
  EXPECT_EQ(spaces.find(8), 100u);
}

TEST_F(AddressSpacesTest, UnusedForACycleAfterTheLastLeft) {
  spaces.join(5, 1);
  spaces.fork(5, 6, 1, false);
  spaces.leave(5);
  spaces.end_cycle();
  spaces.end_cycle();
  EXPECT_TRUE(spaces.unused().empty());
  spaces.leave(6);
  spaces.leave(6);
  EXPECT_FALSE(spaces.in_use(1));
  EXPECT_TRUE(spaces.unused().empty());
  spaces.end_cycle();
  EXPECT_EQ(spaces.unused(), std::vector{1u});
  spaces.erase(1);
  EXPECT_EQ(spaces.mappings(1), nullptr);
  EXPECT_EQ(spaces.size(), 0u);
}

TEST_F(AddressSpacesTest, ImagesThatOpenChangeTheSpacesThatWait) {
  struct Images : ImageSource {
    ImageBinding resolve(const MappedFile&) override { return {}; }
    ImageBinding re_resolve(uint32_t image, Range<RuntimeAddr>, FileOffset) override { return {BindingState::kImage, image, 0}; }
    std::vector<uint32_t> take_ready() override { return {}; }
  } images;
  spaces.join(5, 1);
  spaces.insert(5, mapping(0x4000, 7, BindingState::kPending));
  spaces.join(6, 2);
  spaces.insert(6, mapping(0x4000, 8, BindingState::kPending));
  spaces.fork(6, 8, 2, false);
  spaces.insert(8, mapping(0x9000, 9));
  EXPECT_TRUE(spaces.wait_for_images());
  auto changed = spaces.re_resolve(std::vector{8u, 11u}, images);
  std::sort(changed.begin(), changed.end());
  EXPECT_EQ(changed, (std::vector<uint32_t>{2, 100}));
  EXPECT_EQ(image(8, 0x4000), 8u);
  EXPECT_TRUE(spaces.wait_for_images());
  EXPECT_EQ(spaces.re_resolve(std::vector{7u}, images), std::vector{1u});
  EXPECT_FALSE(spaces.wait_for_images());
}

// Whoever forks, maps, execs and exits: everybody has what he mapped and what he inherited, and the kernel is told of every id.
TEST_F(AddressSpacesTest, EqualsProcessesWithMemoryOfTheirOwn) {
  std::mt19937 random(3);
  std::map<Pid, std::map<uint64_t, uint32_t>> model;  // address -> image
  std::map<Pid, uint32_t> kernel;
  uint32_t fresh = 1'000'000;
  Pid next_pid = 2;
  model[1];
  spaces.join(1, kernel[1] = fresh++);
  for (int step = 0; step < 20000; ++step) {
    const auto chosen = std::next(model.begin(), static_cast<long>(random() % model.size()));
    const Pid pid = chosen->first;
    switch (random() % 8) {
      case 0:
        if (model.size() >= 12) break;
        model[next_pid] = chosen->second;
        kernel[next_pid] = kernel[pid];
        spaces.fork(pid, next_pid, kernel[pid], false);
        ++next_pid;
        break;
      case 1:
        chosen->second.clear();
        spaces.join(pid, kernel[pid] = fresh++);
        break;
      case 2:
        if (model.size() == 1) break;
        spaces.leave(pid);
        kernel.erase(pid);
        model.erase(chosen);
        break;
      case 3:
        for (const auto& [mover, from] : moves(spaces.find(pid))) {
          ASSERT_EQ(kernel[mover], from);
          kernel[mover] = spaces.find(mover);
        }
        break;
      default: {
        const uint64_t address = 0x1000 * (random() % 16);
        const auto mapped = static_cast<uint32_t>(1 + random() % 5);
        chosen->second[address] = mapped;
        spaces.insert(pid, mapping(address, mapped));
      }
    }
    for (const auto& [each, memory] : model) {
      for (uint64_t address = 0; address < 0x10000; address += 0x1000) {
        ASSERT_EQ(image(each, address), memory.contains(address) ? memory.at(address) : 0) << step;
      }
      for (const SpaceUser& user : spaces.users(spaces.find(each))) ASSERT_EQ(user.sampled_as, kernel[user.pid]) << step;
    }
  }
}

}  // namespace
}  // namespace cicada::process
