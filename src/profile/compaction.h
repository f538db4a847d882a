// SPDX-License-Identifier: Apache-2.0
// Makes a growing profile anew with what its samples refer to, so that what it needs follows what it keeps, not what it has ever seen. Ids
// change (another SnapshotSizes::lineage); the numbers of the samples, and snapshots that somebody holds, do not.
//
//   the profile's thread:  Compaction compaction(profile);
//   any thread:            compaction.copy(stop);                // of the snapshot, while the profile goes on growing
//   the profile's thread:  compaction.finish(profile, rebase);   // what came meanwhile, and whoever has ids
//
// Between the first and the last no samples are dropped.
#pragma once
#include <functional>
#include <stop_token>

#include "profile/row_copier.h"

namespace cicada::profile {

class Compaction {
 public:
  explicit Compaction(const ProfileSnapshot& profile) : from_(profile), copier_(into_, from_) {}

  // Incomplete if it was asked to stop: then it can only be thrown away.
  void copy(const std::stop_token& stop);
  // `rebase` replaces every id of `profile` that somebody keeps by the copier's; rows without samples that it asks for are copied then. It can
  // still read the old rows.
  void finish(Profile& profile, const std::function<void(RowCopier&)>& rebase);

 private:
  Profile into_;
  ProfileSnapshot from_;
  RowCopier copier_;
};

}  // namespace cicada::profile
