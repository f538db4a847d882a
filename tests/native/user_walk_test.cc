// SPDX-License-Identifier: Apache-2.0
// The walk of the BPF programs (bpf/walk.bpf.h, compiled for the host) over this process's own stack, against libgcc's unwinder;
// and over stacks made by hand.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

#include <random>

#include "abi/frame.h"
#include "abi/settings.h"
#include "own_process.h"

namespace cicada {
namespace {

// glibc's ucontext order is not DWARF's.
constexpr int kContextIndex[16] = {13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7};

struct Capture {
  OwnProcess* process;
  host_walk_result walk;
  std::vector<uint64_t> frames;
  std::vector<uint64_t> truth;
  int walks = 1;
  uint64_t reads = 0;
};

[[gnu::noinline]] void capture_here(Capture& capture) {
  ucontext_t context;
  getcontext(&context);
  host_regs regs{};
  for (int i = 0; i < 16; ++i) regs.gpr[i] = static_cast<uint64_t>(context.uc_mcontext.gregs[kContextIndex[i]]);
  regs.ip = static_cast<uint64_t>(context.uc_mcontext.gregs[16]);
  for (int i = 0; i < capture.walks; ++i) {
    const uint64_t before = capture.process->reads;
    capture.walk = host_walk(&capture.process->world(), &regs, OwnProcess::kSpace, HOST_TASK_64, 0);
    capture.reads = capture.process->reads - before;
  }
  capture.frames.assign(capture.walk.frames, capture.walk.frames + capture.walk.frame_count);
  // What backtrace() does; between it and this frame sanitizers put one of their own.
  _Unwind_Backtrace(
      [](_Unwind_Context* at, void* to) {
        if (const uintptr_t ip = _Unwind_GetIP(at); ip != 0) static_cast<std::vector<uint64_t>*>(to)->push_back(ip);
        return _URC_NO_REASON;
      },
      &capture.truth);
}

// Frames of several sizes and with several rules: alloca makes the CFA hang on rbp.
[[gnu::noinline]] int descend(int depth, Capture& capture) {
  volatile char fixed[24] = {};
  if (depth % 3 == 0) {
    auto* grown = static_cast<volatile char*>(__builtin_alloca(static_cast<size_t>(16 + depth)));
    grown[0] = 1;
    fixed[0] = grown[0];
  }
  if (depth == 0)
    capture_here(capture);
  else
    fixed[1] = static_cast<char>(descend(depth - 1, capture));
  return fixed[0] + fixed[1];
}

void expect_equal_to_backtrace(const Capture& capture) {
  ASSERT_EQ(capture.walk.reason, END_OUTERMOST);
  ASSERT_EQ(capture.frames.size(), capture.truth.size());
  for (size_t i = 0; i < capture.frames.size(); ++i) {
    uint64_t link = 0;
    // A return address belongs to the call before it. The first frame is the function that asked, at another instruction.
    const uint32_t image = capture.process->image_of(capture.truth[i] - 1, &link);
    ASSERT_NE(image, 0u) << i;
    EXPECT_EQ(frame_kind_of(capture.frames[i]), static_cast<uint32_t>(FRAME_IMAGE)) << i;
    EXPECT_EQ(frame_image_of(capture.frames[i]), image) << i;
    if (i > 0) {
      EXPECT_EQ(frame_link_address_of(capture.frames[i]), link) << i;
    }
  }
}

class UserWalk : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { process = new OwnProcess(); }
  static void TearDownTestSuite() { delete process; }
  void SetUp() override {
    host_forget_caches();
    host_set_unwind_mode(UNWIND_AUTO);
  }
  static Capture capture_at(int depth, int walks = 1) {
    Capture capture{.process = process, .walk = {}, .frames = {}, .truth = {}, .walks = walks};
    descend(depth, capture);
    return capture;
  }
  static OwnProcess* process;
};
OwnProcess* UserWalk::process = nullptr;

TEST_F(UserWalk, OwnStackEqualsBacktrace) {
  for (const int depth : {1, 20, 300, 900}) expect_equal_to_backtrace(capture_at(depth));
}

TEST_F(UserWalk, ReadsTheStackInWindows) {
  const Capture capture = capture_at(300);
  EXPECT_GE(capture.frames.size(), 300u);
  EXPECT_LT(capture.reads, capture.frames.size() / 2);
}

TEST_F(UserWalk, TheSecondWalkComesFromTheCache) {
  const Capture first = capture_at(100, 1);
  EXPECT_GT(first.walk.missed, 0u);
  host_forget_caches();
  const Capture again = capture_at(100, 2);
  EXPECT_EQ(again.walk.missed, 0u);
  EXPECT_EQ(again.walk.trie_lookups, 0u);
  expect_equal_to_backtrace(again);
}

TEST_F(UserWalk, AChangedMappingIsSeenAfterItsGeneration) {
  OwnProcess changed;
  Capture before{.process = &changed, .walk = {}, .frames = {}, .truth = {}};
  descend(10, before);
  for (mapping_value& mapping : changed.mappings) {
    changed.places[mapping.image + 32] = changed.places[mapping.image];  // the same table as another image's
    mapping.image += 32;
  }
  host_bump_generation(OwnProcess::kSpace);
  Capture after{.process = &changed, .walk = {}, .frames = {}, .truth = {}};
  descend(10, after);
  // The table's header names its owner: no rule of an image is served to another one.
  EXPECT_EQ(after.walk.reason, END_NO_TABLE);
  EXPECT_EQ(frame_image_of(after.frames.at(0)), frame_image_of(before.frames.at(0)) + 32);
}

TEST_F(UserWalk, StopsAtTheDepthLimitAndSaysSo) {
  const Capture capture = capture_at(1200);
  EXPECT_EQ(capture.walk.reason, END_DEPTH_LIMIT);
  EXPECT_EQ(capture.frames.size(), 1024u);
}

TEST_F(UserWalk, WithoutItsTableAFrameIsStillNamed) {
  OwnProcess evicted;
  for (unwind_place& place : evicted.places) place.flags = 0;
  Capture capture{.process = &evicted, .walk = {}, .frames = {}, .truth = {}};
  descend(3, capture);
  EXPECT_EQ(capture.walk.reason, END_NO_TABLE);
  ASSERT_EQ(capture.frames.size(), 1u);
  EXPECT_EQ(frame_kind_of(capture.frames[0]), static_cast<uint32_t>(FRAME_IMAGE));
}

TEST_F(UserWalk, WhatNothingMapsEndsTheWalk) {
  OwnProcess empty;
  empty.mappings.clear();
  Capture capture{.process = &empty, .walk = {}, .frames = {}, .truth = {}};
  descend(3, capture);
  EXPECT_EQ(capture.walk.reason, END_UNMAPPED_PC);
  ASSERT_EQ(capture.frames.size(), 1u);
  EXPECT_EQ(frame_kind_of(capture.frames[0]), static_cast<uint32_t>(FRAME_UNKNOWN));
}

TEST_F(UserWalk, OnlyOneRunAtATimeUsesTheCaches) {
  ucontext_t context;
  getcontext(&context);
  host_regs regs{};
  for (int i = 0; i < 16; ++i) regs.gpr[i] = static_cast<uint64_t>(context.uc_mcontext.gregs[kContextIndex[i]]);
  regs.ip = static_cast<uint64_t>(context.uc_mcontext.gregs[16]);
  host_walk(&process->world(), &regs, OwnProcess::kSpace, HOST_TASK_64, 0);
  const host_walk_result nested = host_walk(&process->world(), &regs, OwnProcess::kSpace, HOST_TASK_64, 1);
  EXPECT_EQ(nested.reason, END_OUTERMOST);
  EXPECT_GT(nested.trie_lookups, 0u);
}

// --- stacks made by hand --------------------------------------------------------------------------------------------------

// Two readable pages, then none.
class HandMade {
 public:
  static constexpr uint64_t kBytes = 2 * 4096;
  HandMade() {
    memory_ = static_cast<uint64_t*>(mmap(nullptr, kBytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(reinterpret_cast<char*>(memory_) + kBytes, 4096, PROT_NONE);
    process.mappings = {{0x10000, 0x20000, 0, 0, MAPPING_JIT}, {0x20000, 0x30000, 0x20000, 9, MAPPING_NO_CFI}};
  }
  ~HandMade() { munmap(memory_, kBytes + 4096); }
  HandMade(const HandMade&) = delete;
  uint64_t at(size_t word) const { return reinterpret_cast<uint64_t>(memory_ + word); }
  uint64_t& operator[](size_t word) { return memory_[word]; }
  host_walk_result walk(uint64_t ip, uint64_t frame_pointer, uint32_t space = OwnProcess::kSpace, host_task task = HOST_TASK_64) {
    host_regs regs{};
    regs.gpr[6] = frame_pointer;
    regs.gpr[7] = at(0);
    regs.ip = ip;
    return host_walk(&process.world(), &regs, space, task, 0);
  }
  OwnProcess process;

 private:
  uint64_t* memory_;
};

TEST_F(UserWalk, GoesThroughJitCodeByFramePointer) {
  HandMade stack;
  stack[10] = stack.at(20);
  stack[11] = 0x20101;  // JIT -> native without a table
  stack[20] = stack.at(30);
  stack[21] = 0x10201;  // native -> JIT
  stack[30] = 0;
  stack[31] = 0x20301;
  const host_walk_result walk = stack.walk(0x10000, stack.at(10));
  EXPECT_EQ(walk.reason, END_ZERO_RA);
  ASSERT_EQ(walk.frame_count, 4u);
  EXPECT_EQ(walk.frames[0], frame_at(FRAME_JIT, 0x10000));
  EXPECT_EQ(walk.frames[1], frame_in_image(9, 0x100));
  EXPECT_EQ(walk.frames[2], frame_at(FRAME_JIT, 0x10200));
  EXPECT_EQ(walk.frames[3], frame_in_image(9, 0x300));
}

TEST_F(UserWalk, TablesOnlyMeansNoFramePointers) {
  HandMade stack;
  host_set_unwind_mode(UNWIND_TABLE);
  EXPECT_EQ(stack.walk(0x10000, stack.at(10)).reason, END_NO_RULE);
}

TEST_F(UserWalk, ServesTheLastWordBeforeAnUnreadablePage) {
  HandMade stack;
  const size_t last = HandMade::kBytes / 8 - 2;
  stack[last] = 0;
  stack[last + 1] = 0x20101;
  const host_walk_result walk = stack.walk(0x20000, stack.at(last));
  EXPECT_EQ(walk.reason, END_ZERO_RA);
  EXPECT_EQ(walk.frame_count, 2u);
}

TEST_F(UserWalk, AStackThatEndsInAnUnreadablePageSaysSo) {
  HandMade stack;
  const size_t last = HandMade::kBytes / 8 - 1;
  const host_walk_result walk = stack.walk(0x20000, stack.at(last));
  EXPECT_EQ(walk.reason, END_BAD_FRAME_POINTER);
  EXPECT_EQ(walk.frame_count, 1u);
}

TEST_F(UserWalk, StacksWithAbsoluteFramesBelongToTheirAddressSpace) {
  HandMade stack;
  stack[10] = 0;
  stack[11] = 0x20101;
  const uint64_t with_jit = stack.walk(0x10000, stack.at(10)).hash;
  const uint64_t image_only = stack.walk(0x20000, stack.at(10)).hash;
  EXPECT_NE(with_jit, image_only);
  EXPECT_EQ(stack.walk(0x20000, stack.at(10)).hash, image_only);
  EXPECT_NE(stack.walk(0x10000, stack.at(10), OwnProcess::kSpace + 1).hash, with_jit);
}

TEST_F(UserWalk, ThirtyTwoBitTasksByFramePointer) {
  HandMade stack;
  // Its pointers have 32 bits: a page of its own down there.
  auto* low = static_cast<uint32_t*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0));
  ASSERT_NE(low, MAP_FAILED);
  const auto address = [&](size_t word) { return static_cast<uint32_t>(reinterpret_cast<uint64_t>(low + word)); };
  low[4] = address(12);
  low[5] = 0x8048101;
  low[12] = 0;
  low[13] = 0x8048201;
  const host_walk_result walk = stack.walk(0x8048000, address(4), OwnProcess::kSpace, HOST_TASK_32);
  EXPECT_EQ(walk.reason, END_ZERO_RA);
  ASSERT_EQ(walk.frame_count, 3u);
  EXPECT_EQ(walk.frames[0], frame_at(FRAME_USER_32, 0x8048000));
  EXPECT_EQ(walk.frames[1], frame_at(FRAME_USER_32, 0x8048100));
  EXPECT_EQ(walk.frames[2], frame_at(FRAME_USER_32, 0x8048200));
  munmap(low, 4096);
}

// Under ASan: whatever a stack holds, the walk ends and stays inside its memory.
TEST_F(UserWalk, GarbageEndsSomewhere) {
  HandMade stack;
  std::mt19937_64 random(20261121);
  stack.process.mappings = UserWalk::process->mappings;
  for (int round = 0; round < 3000; ++round) {
    for (size_t i = 0; i < HandMade::kBytes / 8; ++i) {
      const mapping_value& mapping = stack.process.mappings[random() % stack.process.mappings.size()];
      stack[i] = random() % 2 ? stack.at(random() % 1100) : mapping.begin + random() % (mapping.end - mapping.begin);
    }
    const host_walk_result walk = stack.walk(stack[random() % 1000], stack.at(random() % 1000));
    EXPECT_GE(walk.frame_count, 1u);
    EXPECT_LE(walk.frame_count, 1024u);
    EXPECT_NE(walk.reason, END_NONE);
  }
}

}  // namespace
}  // namespace cicada
