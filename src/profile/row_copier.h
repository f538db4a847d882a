// SPDX-License-Identifier: Apache-2.0
// Copies rows of one profile into another on first use, so that the copy holds only what is referred to. Gives for each id what it is there.
// Threads: one at a time, that of `into`.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "profile/profile.h"

namespace cicada::profile {

class RowCopier {
 public:
  // Borrows both. Address spaces of JIT code are kept apart from those that `into` has already.
  RowCopier(Profile& into, const ProfileSnapshot& from);
  // From a later snapshot of the same profile: what was copied before is renamed as it is there.
  void continue_with(const ProfileSnapshot& later);

  ImageId image(ImageId id);
  FrameId frame(FrameId id);
  StackId stack(StackId id);
  ThreadId thread(ThreadId id);
  LabelSetId labels(LabelSetId id);
  // Every id of the row; time, value and event stay.
  Sample copy(Sample sample);

  // Nothing: not copied, and kNone for none.
  std::optional<StackId> find(StackId id) const { return find_in(stacks_, id); }
  std::optional<ImageId> find(ImageId id) const { return find_in(images_, id); }
  std::optional<FrameId> find(FrameId id) const { return find_in(frames_, id); }
  std::optional<ProcessId> find(ProcessId id) const { return find_in(processes_, id); }
  std::optional<ThreadId> find(ThreadId id) const { return find_in(threads_, id); }
  const Profile& into() const { return into_; }
  // `into` has been compacted: what it has lost is copied anew when it is asked for.
  void rebase(const RowCopier& ids);

 private:
  template <typename Id>
  static std::optional<Id> find_in(const std::vector<Id>& copies, Id id) {
    return id.value < copies.size() && copies[id.value].valid() ? std::optional(copies[id.value]) : std::nullopt;
  }
  void resize();
  StringId text(StringId id) { return into_.intern(from_->text(id)); }
  FunctionId function(FunctionId id);
  ProcessId process(ProcessId id);
  void describe(ProcessId id);
  void describe(ThreadId id);
  PlaceId place(PlaceId id);

  Profile& into_;
  const ProfileSnapshot* from_;
  SnapshotSizes seen_;  // of it
  uint32_t address_space_base_ = 0, address_space_extra_ = 0;
  std::vector<ImageId> images_;  // by id in `from`
  std::vector<FunctionId> functions_;
  std::vector<PlaceId> places_;
  std::vector<FrameId> frames_;
  std::vector<StackId> stacks_;
  std::vector<ProcessId> processes_;
  std::vector<ThreadId> threads_;
  std::vector<LabelSetId> label_sets_;
  std::vector<StackId> path_;
  std::vector<PlaceId> chain_;
};

}  // namespace cicada::profile
