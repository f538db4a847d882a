// SPDX-License-Identifier: Apache-2.0
#include "profile/compaction.h"

#include <gtest/gtest.h>

#include "profile/call_tree.h"
#include "profile/synthetic_profile_for_test.h"

namespace cicada::profile {
namespace {

// What a sample says, without ids.
std::string words(const ProfileSnapshot& profile, size_t row) {
  const Sample s = profile.sample(row);
  const Thread& thread = profile.threads()[s.thread.value];
  const Process& process = profile.processes()[thread.process.value];
  std::string text = fmt::format("{} {} {} {} {} {} {} {}", s.time_ns, s.value, s.cpu, s.end_reason, thread.tid, profile.text(thread.name), process.pid, profile.text(process.name));
  for (StackId at = s.stack; at.valid(); at = profile.stacks()[at.value].parent) {
    const FrameId frame = profile.stacks()[at.value].frame;
    PlaceId place = profile.place(frame);
    do text += ";" + frame_name(profile, frame, place);
    while ((place = profile.outer(place)).valid());
  }
  return text;
}

TEST(Compaction, KeepsEverySampleAndWhatItSays) {
  Profile profile = make_synthetic_profile({.samples = 20000, .stacks = 3000, .processes = 9});
  profile.drop_samples(15000);
  const SnapshotSizes before = profile.sizes();
  const uint64_t dropped = profile.samples().dropped();
  Compaction compaction(profile);
  compaction.copy({});
  // Meanwhile: a stack that was not in use any more, a name, and one that is new.
  const FrameId fresh = profile.intern_frame({FrameKind::kKernel, {}, 0, 0x99, {}});
  profile.append_sample({.time_ns = 1, .thread = ThreadId(0), .stack = profile.intern_stack(StackId(0), fresh), .value = 5});
  const Location location[] = {{profile.intern_function({profile.intern("late"), {}, {}})}};
  for (size_t i = 0; i < profile.frames().size(); i += 3) profile.set_locations(FrameId(i), location);
  profile.edit_process(ProcessId(3), [&](Process& row) { row.name = profile.intern("renamed"); });
  profile.edit_thread(ThreadId(3), [&](Thread& row) { row.name = profile.intern("renamed too"); });
  const ProfileSnapshot old = profile;
  const StackId unused = profile.intern_stack({}, profile.intern_frame({FrameKind::kKernel, {}, 0, 0x77, {}}));
  std::optional<StackId> kept;
  compaction.finish(profile, [&](RowCopier& ids) { kept = ids.stack(unused); });

  ASSERT_TRUE(profile.validate());
  EXPECT_NE(profile.sizes().lineage, before.lineage);
  EXPECT_EQ(profile.sizes().samples, before.samples + 1);
  EXPECT_EQ(profile.samples().dropped(), dropped);
  EXPECT_LT(profile.stacks().size(), old.stacks().size() * 3 / 4);
  EXPECT_EQ(profile.frames()[profile.stacks()[kept->value].frame.value].address, 0x77u);
  ASSERT_EQ(profile.sample_count(), old.sample_count());
  for (size_t i = 0; i < old.sample_count(); ++i) ASSERT_EQ(words(profile, i), words(old, i)) << i;
  EXPECT_EQ(profile.totals_of({}).value, old.totals_of({}).value);
}

TEST(Compaction, OfWhatIsInUseIsAsLarge) {
  Profile profile = make_synthetic_profile({.samples = 20000, .stacks = 100});
  for (int round = 0; round < 3; ++round) {
    Compaction compaction(profile);
    compaction.copy({});
    compaction.finish(profile, [](RowCopier&) {});
  }
  const size_t stacks = profile.stacks().size(), bytes = profile.table_bytes();
  Compaction compaction(profile);
  compaction.copy({});
  compaction.finish(profile, [](RowCopier&) {});
  EXPECT_EQ(profile.stacks().size(), stacks);
  EXPECT_LE(profile.table_bytes(), bytes);
}

}  // namespace
}  // namespace cicada::profile
