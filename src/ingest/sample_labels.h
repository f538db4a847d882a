// SPDX-License-Identifier: Apache-2.0
// Labels of samples: whose rights the thread had, {"user": "anna"}, a number for users without a name; and of a wait for what it waited,
// {"state": "lock"}.
// Threads: the drain thread's.
#pragma once
#include <map>
#include <string_view>
#include <utility>

#include "process/metadata/user_names.h"
#include "profile/profile.h"

namespace cicada::ingest {

class SampleLabels {
 public:
  explicit SampleLabels(profile::Profile& profile) : profile_(profile) {}
  // `state`: a text that lives for ever; empty: it ran.
  profile::LabelSetId find_or_add(uint32_t uid, std::string_view state) {
    const auto [at, added] = labels_.try_emplace({uid, state});
    if (added) {
      const profile::Label labels[] = {{profile_.intern(profile::kUserLabel), profile_.intern(names_.name_of(uid))},
                                       {profile_.intern(profile::kStateLabel), profile_.intern(state)}};
      at->second = profile_.intern_labels({labels, state.empty() ? size_t{1} : size_t{2}});
    }
    return at->second;
  }
  // The profile was compacted.
  void forget() { labels_.clear(); }

 private:
  profile::Profile& profile_;
  const process::UserNames names_;
  std::map<std::pair<uint32_t, std::string_view>, profile::LabelSetId> labels_;
};

}  // namespace cicada::ingest
