// SPDX-License-Identifier: Apache-2.0
#include "ingest/stale_stacks.h"

#include <gtest/gtest.h>

#include "abi/frame.h"
#include "ingest/stack_table.h"

namespace cicada::ingest {
namespace {

using process::ImageBinding;
using process::BindingState;
using process::StaleMapping;

constexpr uint32_t kSpace = 5, kLibc = 1, kOld = 2, kNew = 3, kNewest = 4, kMain = 6;
constexpr uint64_t kLibrary = 0x7000'0000;  // where they take turns; each is linked elsewhere
constexpr ImageBinding image(uint32_t id) { return {BindingState::kImage, id, kLibrary - id * 0x1000}; }
constexpr ImageBinding kJit{BindingState::kJit, 0, 0};

class ReplacedCode : public testing::Test {
 protected:
  void SetUp() override {
    for (uint64_t id = 1; id <= kMain; ++id) {
      const std::string path = "/lib/" + std::to_string(id);
      EXPECT_EQ(images.resolve({{8, 1, id, 0}, 1, {RuntimeAddr(0), RuntimeAddr(0x1000)}, {}, path}).image, id);
    }
  }

  profile::StackId walked(const std::vector<uint64_t>& frames) {
    stack_record head{};
    head.kind = RECORD_STACK;
    head.side = STACK_USER;
    head.hash = ++hash;
    head.frame_count = static_cast<uint16_t>(frames.size());
    head.address_space = kSpace;
    stacks.add(head, frames);
    return *stacks.find_user(hash);
  }
  static uint64_t in(uint32_t id, uint64_t runtime) { return frame_in_image(id, runtime - image(id).bias); }
  void replaced(ImageBinding was, ImageBinding now, uint64_t since, uint64_t shown = StaleMapping::kNotYet, uint64_t pages = 16) {
    stale.push_back({{RuntimeAddr(kLibrary), RuntimeAddr(kLibrary + pages * 0x1000)}, was, now, {}, {}, since, shown});
  }
  // As ProcessTable::find_stale hands them on.
  std::vector<uint64_t> corrected(profile::StackId stack, uint64_t time) {
    std::vector<StaleMapping> relevant;
    for (const StaleMapping& r : stale) {
      if (r.since_ns <= time && time < r.published_ns) relevant.push_back(r);
    }
    const auto found = correct_stale(stacks, profile, stack, relevant, kSpace);
    if (!found) return {};
    pending = found->pending;
    std::vector<uint64_t> out;
    for (profile::StackId at = found->user; at.valid(); at = profile.stacks()[at.value].parent) {
      const profile::Frame& frame = profile.frames()[profile.stacks()[at.value].frame.value];
      if (frame.kind == profile::FrameKind::kNative) out.push_back(frame_in_image(*stacks.registry_id(frame.image), frame.address));
      else out.push_back(frame_at(frame.kind == profile::FrameKind::kJit ? FRAME_JIT : FRAME_UNKNOWN, frame.address));
    }
    return out;
  }
  static process::ImageRegistry::Options nobody_opens() {
    process::ImageRegistry::Options options;
    options.opener.workers = 0;
    return options;
  }
  uint64_t hash = 0;
  bool pending = false;
  std::vector<StaleMapping> stale;
  profile::Profile profile;
  process::ImageRegistry images{nobody_opens()};
  StackTable stacks{profile, images};
};
using Expected = std::vector<uint64_t>;

TEST_F(ReplacedCode, EndsTheStackInWhatWasThere) {
  replaced(image(kOld), image(kNew), 100, 200);
  const auto stack = walked({frame_in_image(kLibc, 0x10), in(kOld, kLibrary + 0x123), in(kOld, kLibrary + 0x456), frame_in_image(kMain, 0x20)});
  EXPECT_EQ(corrected(stack, 100), (Expected{frame_in_image(kLibc, 0x10), in(kNew, kLibrary + 0x123)}));
  EXPECT_EQ(corrected(stack, 199), (Expected{frame_in_image(kLibc, 0x10), in(kNew, kLibrary + 0x123)}));
}

TEST_F(ReplacedCode, LeavesStacksBeforeAndAfterAsTheyAre) {
  replaced(image(kOld), image(kNew), 100, 200);
  const auto stack = walked({in(kOld, kLibrary + 0x123), frame_in_image(kMain, 0x20)});
  EXPECT_EQ(corrected(stack, 99), Expected{});
  EXPECT_EQ(corrected(stack, 200), Expected{});
}

TEST_F(ReplacedCode, LeavesStacksThatWereWalkedWithTheNewMapping) {
  replaced(image(kOld), image(kNew), 100, 200);
  walked({in(kOld, kLibrary + 0x123)});
  EXPECT_EQ(corrected(walked({in(kNew, kLibrary + 0x123), frame_in_image(kMain, 0x20)}), 150), Expected{});
}

TEST_F(ReplacedCode, LeavesFramesOfTheOldImageOutsideTheRange) {
  replaced(image(kOld), image(kNew), 100, 200, 1);
  EXPECT_EQ(corrected(walked({in(kOld, kLibrary + 0x1000)}), 150), Expected{});
  EXPECT_EQ(corrected(walked({in(kOld, kLibrary + 0xfff)}), 150), (Expected{in(kNew, kLibrary + 0xfff)}));
}

TEST_F(ReplacedCode, OfSeveralTheNewestBeforeTheSampleCounts) {
  replaced(image(kOld), image(kNew), 100, 300);
  replaced(image(kNew), image(kNewest), 200, 300);
  const auto stack = walked({in(kOld, kLibrary + 8), frame_in_image(kMain, 0x20)});
  EXPECT_EQ(corrected(stack, 150), (Expected{in(kNew, kLibrary + 8)}));
  EXPECT_EQ(corrected(stack, 250), (Expected{in(kNewest, kLibrary + 8)}));
}

TEST_F(ReplacedCode, WhatCameBackIsRight) {
  replaced(image(kOld), image(kNew), 100, 300);
  replaced(image(kNew), image(kOld), 200, 300);
  const auto stack = walked({in(kOld, kLibrary + 8), frame_in_image(kMain, 0x20)});
  EXPECT_EQ(corrected(stack, 150), (Expected{in(kNew, kLibrary + 8)}));
  EXPECT_EQ(corrected(stack, 250), Expected{});
}

TEST_F(ReplacedCode, IsAnUnknownFrameWhereNobodyCanTell) {
  replaced(image(kOld), {BindingState::kPending, kNew, 0}, 100);
  const auto stack = walked({in(kOld, kLibrary + 8), frame_in_image(kMain, 0x20)});
  EXPECT_EQ(corrected(stack, 150), (Expected{frame_at(FRAME_UNKNOWN, kLibrary + 8)}));
  EXPECT_TRUE(pending);
  stale[0].now = {BindingState::kUnknown, 0, 0};
  EXPECT_EQ(corrected(stack, 150), (Expected{frame_at(FRAME_UNKNOWN, kLibrary + 8)}));
  EXPECT_FALSE(pending);
}

TEST_F(ReplacedCode, GeneratedCodeComesAndGoesToo) {
  replaced(image(kOld), kJit, 100, 200);
  replaced(kJit, image(kNew), 300, 400);
  EXPECT_EQ(corrected(walked({in(kOld, kLibrary + 8)}), 150), (Expected{frame_at(FRAME_JIT, kLibrary + 8)}));
  EXPECT_EQ(corrected(walked({frame_at(FRAME_JIT, kLibrary + 8)}), 350), (Expected{in(kNew, kLibrary + 8)}));
}

}  // namespace
}  // namespace cicada::ingest
