// SPDX-License-Identifier: Apache-2.0
#include "profile/profile.h"

#include <gtest/gtest.h>

#include "profile/frame_text.h"

namespace cicada::profile {
namespace {

TEST(StringTable, StoresEachTextOnceAndKeepsViews) {
  StringTable table;
  const StringId first = table.intern("main");
  const std::string_view view = table.text(first);
  for (int i = 0; i < 100000; ++i) table.intern(std::to_string(i));
  EXPECT_EQ(table.intern("main"), first);
  EXPECT_EQ(view, "main");
  EXPECT_EQ(table.size(), 100001u);
  const StringTable moved = std::move(table);
  EXPECT_EQ(moved.text(first).data(), view.data());
}

TEST(StringTable, HoldsHugeAndEmptyTexts) {
  StringTable table;
  const std::string huge(1 << 20, 'x');
  EXPECT_EQ(table.text(table.intern(huge)), huge);
  EXPECT_FALSE(table.intern("").valid());
  EXPECT_EQ(table.text({}), "");
}

TEST(Profile, InternsEqualContentOnce) {
  Profile profile;
  const ImageId image = profile.intern_image({profile.intern("/bin/true"), profile.intern("ab"), ImageKind::kExecutable});
  EXPECT_EQ(profile.intern_image({profile.intern("/bin/true"), profile.intern("ab"), ImageKind::kExecutable}), image);
  const FrameId frame = profile.intern_frame({FrameKind::kNative, image, 0, 0x10, {}});
  EXPECT_EQ(profile.intern_frame({FrameKind::kNative, image, 0, 0x10, {}}), frame);
  EXPECT_NE(profile.intern_frame({FrameKind::kNative, image, 0, 0x11, {}}), frame);
  EXPECT_NE(profile.intern_frame({FrameKind::kJit, {}, 1, 0x10, {}}), profile.intern_frame({FrameKind::kJit, {}, 2, 0x10, {}}));
  const StackId root = profile.intern_stack({}, frame);
  EXPECT_EQ(profile.intern_stack({}, frame), root);
  const FrameId path[] = {frame, frame};
  const StackId deep = profile.intern_stack({}, path);
  EXPECT_EQ(profile.stacks()[deep.value].parent, root);
  EXPECT_EQ(profile.stacks()[deep.value].depth, 2u);
}

TEST(Profile, AProcessIsPidAndStart) {
  Profile profile;
  const ProcessId a = profile.intern_process(7, 100), b = profile.intern_process(7, 200);
  EXPECT_NE(a, b);
  EXPECT_EQ(profile.intern_process(7, 100), a);
  const ThreadId leader = profile.intern_thread(a, 7), worker = profile.intern_thread(a, 8);
  EXPECT_TRUE(profile.threads()[leader.value].main);
  EXPECT_FALSE(profile.threads()[worker.value].main);
}

TEST(Profile, LaterLocationsReplaceEarlierOnes) {
  Profile profile;
  const FrameId frame = profile.intern_frame({FrameKind::kNative, {}, 0, 1, {}});
  const FunctionId f = profile.intern_function({profile.intern("f"), {}, {}}), g = profile.intern_function({profile.intern("g"), {}, {}});
  const Location one[] = {{f}}, two[] = {{f}, {g}};
  profile.set_locations(frame, one);
  profile.set_locations(frame, two);
  ASSERT_EQ(profile.locations(frame).size(), 2u);
  EXPECT_EQ(profile.locations(frame)[1].function, g);
  profile.set_locations(frame, std::span(two).last(1));
  ASSERT_EQ(profile.locations(frame).size(), 1u);
  EXPECT_EQ(profile.locations(frame)[0].function, g);
  EXPECT_TRUE(profile.validate());
}

TEST(Profile, FramesShareWhatTheyAreInlinedInto) {
  Profile profile;
  std::vector<Location> locations(300);
  for (Location& location : locations) location = {profile.intern_function({profile.intern("inlined"), {}, {}}), {}, 7, true};
  std::vector<FrameId> frames;
  for (uint64_t i = 0; i < 1000; ++i) frames.push_back(profile.intern_frame({FrameKind::kJit, {}, 1, 0x1000 + i, {}}));
  const size_t before = profile.table_bytes();
  for (uint32_t i = 0; i < 1000; ++i) {
    locations[0].line = i;
    profile.set_locations(frames[i], locations);
  }
  EXPECT_LT(profile.table_bytes() - before, 300'000U);  // 7 MB, each for itself
  EXPECT_EQ(profile.places().size(), 1299U);
  EXPECT_EQ(profile.outer(profile.place(frames[0])), profile.outer(profile.place(frames[999])));
  locations[299].line = 8;
  profile.set_locations(frames[999], locations);
  EXPECT_EQ(profile.locations(frames[999])[299].line, 8U);
  EXPECT_EQ(profile.locations(frames[0])[299].line, 7U);
  EXPECT_EQ(profile.locations(frames[999])[0].line, 999U);
  EXPECT_TRUE(profile.validate());
}

TEST(Validate, FindsAnIndexOutOfRange) {
  Profile profile;
  profile.append_sample({.time_ns = 1, .thread = ThreadId(3), .stack = {}});
  const Result<void> result = profile.validate();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorKind::kCorrupt);
  EXPECT_NE(result.error().message().find("no thread 3"), std::string::npos);
}

TEST(Validate, FindsAFrameOfNoImage) {
  Profile profile;
  profile.intern_frame({FrameKind::kNative, ImageId(9), 0, 0, {}});
  EXPECT_FALSE(profile.validate());
}

}  // namespace
}  // namespace cicada::profile
