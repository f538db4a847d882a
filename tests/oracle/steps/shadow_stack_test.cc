// SPDX-License-Identifier: Apache-2.0
#include "shadow_stack.h"

#include <gtest/gtest.h>

namespace cicada::oracle {
namespace {

constexpr uint64_t kSp = 0x7ffc0000'1000, kHeap = 0x5555'0000'8000;

class ShadowStacks : public testing::Test {
 protected:
  void call(uint64_t next, uint64_t to) { run({Kind::kCall, next, sp_, to, sp_ - 8}); }
  void move_to(uint64_t sp, Kind kind = Kind::kOther) { run({kind, 0, sp_, 0, sp}); }
  void run(const Watched& step) {
    shadow_.watch(step);
    sp_ = step.sp_after;
  }
  std::vector<uint64_t> addresses() const {
    std::vector<uint64_t> all;
    for (const ShadowStack::Call& one : shadow_.frames()) all.push_back(one.return_address);
    return all;
  }
  using Addresses = std::vector<uint64_t>;
  uint64_t sp_ = kSp;
  ShadowStack shadow_{kSp};
};

TEST_F(ShadowStacks, KnowCallersUntilTheyAreReturnedTo) {
  call(0x105, 0x200);
  move_to(sp_ - 64);
  call(0x205, 0x300);
  EXPECT_EQ(addresses(), (Addresses{0x205, 0x105}));
  move_to(sp_ + 8);  // ret
  EXPECT_EQ(addresses(), Addresses{0x105});
  move_to(sp_ + 64);
  move_to(sp_ + 8);
  EXPECT_TRUE(addresses().empty());
}

TEST_F(ShadowStacks, KnowNothingOfTheCallersOfTheMarker) {
  move_to(sp_ + 8);
  EXPECT_TRUE(addresses().empty());
  EXPECT_EQ(shadow_.top(), kSp + 8);
  call(0x105, 0x200);
  EXPECT_EQ(addresses(), Addresses{0x105});
}

TEST_F(ShadowStacks, LoseManyFramesAtOnceInALongjmp) {
  call(0x105, 0x200);
  const uint64_t there = sp_;
  call(0x205, 0x300);
  call(0x305, 0x400);
  move_to(there, Kind::kSetsStack);
  EXPECT_EQ(addresses(), Addresses{0x105});
}

TEST_F(ShadowStacks, ACallThatIsPoppedIsNone) {
  call(0x105, 0x105);
  move_to(sp_ + 8);
  EXPECT_TRUE(addresses().empty());
}

TEST_F(ShadowStacks, HaveOneForEachCoroutine) {
  call(0x105, 0x200);
  const uint64_t left = sp_;
  move_to(kHeap, Kind::kSetsStack);
  EXPECT_TRUE(addresses().empty()) << "what began it is not known";
  call(0x505, 0x600);
  const uint64_t heap_left = sp_;
  EXPECT_EQ(addresses(), Addresses{0x505});
  move_to(left, Kind::kSetsStack);
  EXPECT_EQ(addresses(), Addresses{0x105});
  move_to(heap_left, Kind::kSetsStack);
  EXPECT_EQ(addresses(), Addresses{0x505});
}

TEST_F(ShadowStacks, KnowWhatASignalInterrupted) {
  call(0x105, 0x200);
  const uint64_t interrupted = sp_;
  for (const uint64_t handler : {interrupted - 0x500, kHeap}) {
    shadow_.begin_handler(handler, 0x900, 0x222, interrupted);
    sp_ = handler;
    EXPECT_EQ(addresses(), (Addresses{0x900, 0x222, 0x105}));
    EXPECT_TRUE(shadow_.frames()[1].exact);
    call(0x705, 0x800);
    EXPECT_EQ(addresses(), (Addresses{0x705, 0x900, 0x222, 0x105}));
    move_to(sp_ + 8);
    move_to(sp_ + 8);  // to the trampoline
    EXPECT_EQ(addresses(), (Addresses{0x222, 0x105}));
    shadow_.end_handler(interrupted);
    sp_ = interrupted;
    EXPECT_EQ(addresses(), Addresses{0x105});
  }
}

}  // namespace
}  // namespace cicada::oracle
