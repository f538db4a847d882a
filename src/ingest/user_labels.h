// SPDX-License-Identifier: Apache-2.0
// The label of samples that says whose rights the thread had: {"user": "anna"}, a number for users without a name.
// Threads: the drain thread's.
#pragma once
#include <unordered_map>

#include "process/metadata/user_names.h"
#include "profile/profile.h"

namespace cicada::ingest {

class UserLabels {
 public:
  explicit UserLabels(profile::Profile& profile) : profile_(profile) {}
  profile::LabelSetId find_or_add(uint32_t uid) {
    const auto [at, added] = labels_.try_emplace(uid);
    if (added) {
      const profile::Label label{profile_.intern(profile::kUserLabel), profile_.intern(names_.name_of(uid))};
      at->second = profile_.intern_labels({&label, 1});
    }
    return at->second;
  }
  // The profile was compacted.
  void forget() { labels_.clear(); }

 private:
  profile::Profile& profile_;
  const process::UserNames names_;
  std::unordered_map<uint32_t, profile::LabelSetId> labels_;
};

}  // namespace cicada::ingest
