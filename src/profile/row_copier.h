// SPDX-License-Identifier: Apache-2.0
// Rows of one profile into another, on first use: the other holds only what its samples refer to.
//
// `from` may grow while it is copied; names that its frames get after they were copied are not seen. Address spaces of JIT code are kept
// apart from those that `into` had before. Threads: one.
#pragma once
#include <vector>

#include "profile/profile.h"

namespace cicada::profile {

class RowCopier {
 public:
  RowCopier(Profile& into, const ProfileSnapshot& from);

  // Every id of the row; time, value and event stay.
  Sample copy(Sample sample);
  ThreadId thread(ThreadId id);
  LabelSetId labels(LabelSetId id);
  StackId stack(StackId id);

 private:
  StringId text(StringId id) { return into_.intern(from_.text(id)); }
  ImageId image(ImageId id);
  FunctionId function(FunctionId id);
  FrameId frame(FrameId id);
  ProcessId process(ProcessId id);

  Profile& into_;
  const ProfileSnapshot& from_;
  uint32_t address_space_base_ = 0, address_space_extra_ = 0;
  // Where each row of `from_` is in `into_`.
  std::vector<ImageId> images_;
  std::vector<FunctionId> functions_;
  std::vector<FrameId> frames_;
  std::vector<StackId> stacks_;
  std::vector<ProcessId> processes_;
  std::vector<ThreadId> threads_;
  std::vector<LabelSetId> label_sets_;
  std::vector<StackId> path_;
};

}  // namespace cicada::profile
