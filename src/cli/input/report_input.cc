// SPDX-License-Identifier: Apache-2.0
#include "cli/input/report_input.h"

#include <algorithm>
#include <optional>

#include "base/diagnostics.h"
#include "cli/quantity.h"
#include "profile/wakeups.h"
#include "sink/profile_reader.h"
#include "sink/recording/recording_chunks.h"
#include "symbolize/symbolizer.h"

namespace cicada::cli {
namespace {

using profile::GroupBy;

bool is_recording(Bytes bytes) {
  constexpr std::string_view kMagic = sink::kRecordingMagic;
  return bytes.size() >= kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), bytes.begin(),
                                                     [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

// record names its frames before it ends. Unnamed are the frames of one that was killed, and those nobody can name.
bool wants_names(const profile::ProfileSnapshot& profile) {
  for (size_t i = 0; i < profile.frames().size(); ++i) {
    const profile::FrameKind kind = profile.frames()[i].kind;
    const bool nameable = kind == profile::FrameKind::kNative || kind == profile::FrameKind::kKernel;
    if (nameable && profile.locations(profile::FrameId(i)).empty()) return true;
  }
  return false;
}

Result<void> parse_time(std::string_view value, profile::FilterOptions& options) {
  const size_t dots = value.find("..");
  if (dots == std::string_view::npos || value.size() == 2)
    return make_error(ErrorKind::kInvalid, "--filter time={}: expected FROM..TO, like 2s..5s, 2s.. or ..500ms", value);
  const std::string_view from = value.substr(0, dots), to = value.substr(dots + 2);
  if (!from.empty() && from != "0") options.from_ns = TRY(parse_duration_ns(from, "--filter time"));
  if (!to.empty()) options.to_ns = TRY(parse_duration_ns(to, "--filter time"));
  if (options.from_ns && options.to_ns && *options.from_ns >= *options.to_ns)
    return make_error(ErrorKind::kInvalid, "--filter time={}: ends before it begins", value);
  return {};
}

}  // namespace

Result<profile::FilterOptions> parse_filters(const std::vector<std::string>& filters) {
  profile::FilterOptions options;
  for (const std::string& filter : filters) {
    const size_t equals = filter.find('=');
    const std::string key = filter.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : filter.substr(equals + 1);
    if (value.empty())
      return make_error(ErrorKind::kInvalid, "--filter {}: expected process=, thread=, state=, time= or function= with a value", filter);
    if (key == "process" || key == "thread" || key == "state") {
      auto& wanted = key == "process" ? options.processes : key == "thread" ? options.threads : options.states;
      for (std::string& word : split_list(value)) wanted.push_back(std::move(word));
      if (wanted.empty()) return make_error(ErrorKind::kInvalid, "--filter {}: no {} named", filter, key);
    } else if (key == "time") {
      TRY(parse_time(value, options));
    } else if (key == "function") {
      if (!options.function.empty())
        return make_error(ErrorKind::kInvalid, "--filter {}: one function= at most; join them as A|B", filter);
      options.function = value;
    } else {
      return make_error(ErrorKind::kInvalid, "--filter {}: unknown key {}; known: process, thread, state, time, function", filter, key);
    }
  }
  return options;
}

Result<std::vector<GroupBy>> parse_grouping(const std::vector<std::string>& words) {
  constexpr std::pair<std::string_view, GroupBy> kKnown[] = {{"program", GroupBy::kProgram},
                                                             {"process", GroupBy::kProcess},
                                                             {"thread", GroupBy::kThread},
                                                             {"cpu", GroupBy::kCpu},
                                                             {"user", GroupBy::kUser},
                                                             {"state", GroupBy::kState},
                                                             {"group", GroupBy::kGroup},
                                                             {"cgroup", GroupBy::kCgroup},
                                                             {"image", GroupBy::kImage}};
  std::vector<GroupBy> grouping;
  for (const std::string& list : words) {
    for (const std::string& word : split_list(list)) {
      const auto* known = std::find_if(std::begin(kKnown), std::end(kKnown), [&](const auto& entry) { return entry.first == word; });
      if (known == std::end(kKnown))
        return make_error(ErrorKind::kInvalid, "--by {}: use one of program, process, thread, cpu, user, state, group, cgroup, image", word);
      grouping.push_back(known->second);
    }
  }
  return grouping;
}

Result<std::optional<names::Demangle>> parse_demangle(const std::string& word) {
  using names::Demangle;
  if (word.empty()) return std::optional<Demangle>();
  if (word == "full") return std::optional(Demangle::kFull);
  if (word == "short") return std::optional(Demangle::kShort);
  if (word == "none") return std::optional(Demangle::kNone);
  return make_error(ErrorKind::kInvalid, "--demangle {}: use one of full, short, none", word);
}

Result<profile::Profile> load_profile(Bytes file, const std::string& path, const profile::FilterOptions& filter, const std::string& event, unsigned wakers) {
  profile::Profile profile = TRY(sink::parse_profile(file, path));
  if (is_recording(file) && wants_names(profile)) {
    const auto images = symbolize::on_disk_images();
    symbolize::symbolize(profile, *images, {});
  }
  if (wakers != 0) {
    const auto& events = profile.header.events;
    if (std::any_of(events.begin(), events.end(), [&](const profile::Event& one) { return one.name == event && one.spent == profile::Spent::kOthersWaiting; }))
      return make_error(ErrorKind::kInvalid, "--event {}: with --wakers it is part of the waits", event);
    profile = profile::follow_wakers(profile, wakers);
  }
  if (!event.empty()) profile = TRY(profile::extract_event(profile, event));
  if (filter == profile::FilterOptions()) return profile;
  profile::Profile part = profile::extract(profile, TRY(profile::make_sample_filter(profile, filter)));
  if (filter.cuts_threads()) part.forget_cpu_times();
  if (part.sample_count() == 0 && profile.sample_count() != 0)
    diagnostics().warn(path, "no samples pass the filter; `cicada report --by process,thread,state {}` lists what there is", path);
  return part;
}

Result<profile::Profile> load_profile(const ReaderFiles& files, const std::string& path, const profile::FilterOptions& filter, const std::string& event, unsigned wakers) {
  return load_profile(TRY(files.input(path)), path, filter, event, wakers);
}

}  // namespace cicada::cli
