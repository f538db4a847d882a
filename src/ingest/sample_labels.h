// SPDX-License-Identifier: Apache-2.0
// Labels of samples: whose rights the thread had, {"user": "anna"}, a number for users without a name; of a wait for what it waited,
// {"state": "lock"}; and of events that are grouped by a number or a text that one, {"group": "3"}.
// Threads: the drain thread's.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "abi/records.h"
#include "base/clean_text.h"
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
    if (sample.group != GROUP_NONE) group = group_of(sample);
    const auto at = labels_.find(std::tie(sample.uid, state, group));
    if (at != labels_.end()) return at->second;
    std::vector<profile::Label> labels{{profile_.intern(profile::kUserLabel), profile_.intern(names_.name_of(sample.uid))}};
    if (!state.empty()) labels.push_back({profile_.intern(profile::kStateLabel), profile_.intern(state)});
    if (!group.empty()) labels.push_back({profile_.intern(profile::kGroupLabel), profile_.intern(group)});
    return labels_[{sample.uid, state, group}] = profile_.intern_labels(labels);
  }
  // What samples mean that have its hash and come later; strangers write it. Of more than MAX_TEXTS nothing is kept.
  void add_text(const text_record& head, std::string_view text) {
    if (texts_.size() < MAX_TEXTS) texts_.try_emplace(head.hash, head.is_cut != 0 ? clean_text(whole_letters(text)) + "…" : clean_text(text));
  }
  // The profile was compacted. Texts stay: they come once.
  void forget() { labels_.clear(); }

 private:
  std::string group_of(const sample_record& sample) {
    std::string text = sample.group == GROUP_TEXT     ? text_of(sample.begin_ns)
                       : sample.group == GROUP_SIGNED ? fmt::format("{}", static_cast<int64_t>(sample.begin_ns))
                                                      : fmt::format("{}", sample.begin_ns);
    if (text == kOtherGroups) return text;
    if (groups_.size() < kMostGroups) groups_.insert(text);
    else if (!groups_.contains(text)) text = kOtherGroups;
    return text;
  }

  std::string text_of(uint64_t hash) const {
    if (hash == TEXT_UNREADABLE) return "[unreadable]";
    if (hash == TEXT_NULL) return "[null]";
    if (hash == TEXT_EMPTY) return "[empty]";
    const auto at = texts_.find(hash);
    return std::string(at != texts_.end() ? at->second : kOtherGroups);
  }
  // Without what the cut may have left of a letter.
  static std::string_view whole_letters(std::string_view text) {
    while (!text.empty() && (static_cast<uint8_t>(text.back()) & 0xc0) == 0x80) text.remove_suffix(1);
    if (!text.empty() && static_cast<uint8_t>(text.back()) >= 0xc0) text.remove_suffix(1);
    return text;
  }

  profile::Profile& profile_;
  const process::UserNames names_;
  std::map<std::tuple<uint32_t, std::string_view, std::string>, profile::LabelSetId> labels_;
  std::set<std::string> groups_;
  std::unordered_map<uint64_t, std::string> texts_;  // by hash
};

}  // namespace cicada::ingest
