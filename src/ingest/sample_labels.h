// SPDX-License-Identifier: Apache-2.0
// Labels of samples: whose rights the thread had, {"user": "anna"}, a number for users without a name; of a wait for what it waited,
// {"state": "lock"}; and of events that are grouped by a number that number, {"group": "3"}.
// Threads: the drain thread's.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "abi/records.h"
#include "ingest/wait_state.h"
#include "process/metadata/user_names.h"
#include "profile/profile.h"

namespace cicada::ingest {

class SampleLabels {
 public:
  static constexpr size_t kMostGroups = 10'000;  // what comes afterwards is kOtherGroups
  static constexpr std::string_view kOtherGroups = "[others]";

  explicit SampleLabels(profile::Profile& profile) : profile_(profile) {}
  profile::LabelSetId find_or_add(const sample_record& sample) {
    const std::string_view state = wait_state(sample);  // it lives for ever
    std::string group;
    if ((sample.flags & SAMPLE_GROUPED) != 0) group = group_of(sample);
    const auto at = labels_.find(std::tie(sample.uid, state, group));
    if (at != labels_.end()) return at->second;
    std::vector<profile::Label> labels{{profile_.intern(profile::kUserLabel), profile_.intern(names_.name_of(sample.uid))}};
    if (!state.empty()) labels.push_back({profile_.intern(profile::kStateLabel), profile_.intern(state)});
    if (!group.empty()) labels.push_back({profile_.intern(profile::kGroupLabel), profile_.intern(group)});
    return labels_[{sample.uid, state, group}] = profile_.intern_labels(labels);
  }
  // The profile was compacted.
  void forget() { labels_.clear(); }

 private:
  std::string group_of(const sample_record& sample) {
    std::string text = (sample.flags & SAMPLE_GROUP_SIGNED) != 0 ? fmt::format("{}", static_cast<int64_t>(sample.begin_ns)) : fmt::format("{}", sample.begin_ns);
    if (groups_.size() < kMostGroups) groups_.insert(text);
    else if (!groups_.contains(text)) text = kOtherGroups;
    return text;
  }

  profile::Profile& profile_;
  const process::UserNames names_;
  std::map<std::tuple<uint32_t, std::string_view, std::string>, profile::LabelSetId> labels_;
  std::set<std::string> groups_;
};

}  // namespace cicada::ingest
