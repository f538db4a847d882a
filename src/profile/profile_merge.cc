// SPDX-License-Identifier: Apache-2.0
#include "profile/profile_merge.h"

#include <regex.h>

#include <algorithm>
#include <memory>

#include "profile/frame_text.h"
#include "profile/row_copier.h"
#include "profile/thread_state.h"

namespace cicada::profile {
namespace {

void add_counts(std::vector<Count>& into, const std::vector<Count>& from) {
  for (const Count& count : from) {
    const auto same = std::find_if(into.begin(), into.end(), [&](const Count& c) { return c.name == count.name; });
    if (same == into.end()) into.push_back(count);
    else same->value += count.value;
  }
}

constexpr size_t kMaxEvents = 250;

bool has_rate(const Event& event) { return event.period != 0 || event.frequency_hz != 0; }

// What each of `from`'s events is in `into`. Values of unequal ones cannot be added up: they stay events of their own.
std::vector<EventId> merge_events(Header& into, const Header& from) {
  std::vector<EventId> ids;
  for (const Event& event : from.events) {
    auto same = std::find_if(into.events.begin(), into.events.end(), [&](const Event& e) { return e.is_comparable(event); });
    // Folded stacks say nothing of their event: numbers of samples are added to numbers of samples.
    if (same == into.events.end()) {
      same = std::find_if(into.events.begin(), into.events.end(), [&](const Event& e) { return e.unit == event.unit && e.spent == event.spent && (!has_rate(e) || !has_rate(event)); });
      if (same != into.events.end()) into.warnings.push_back(fmt::format("merged recordings of different events: {} and {}", same->name, event.name));
    }
    if (same != into.events.end()) {
      ids.push_back({static_cast<uint8_t>(same - into.events.begin())});
      same->fired += event.fired;
      add_counts(same->counts, event.counts);
      continue;
    }
    const auto namesake = std::find_if(into.events.begin(), into.events.end(), [&](const Event& e) { return e.name == event.name; });
    if (namesake != into.events.end()) {
      into.warnings.push_back(fmt::format("merged recordings of different sampling periods ({} and {} of {}): they are shown one at a time",
                                          namesake->period, event.period, event.name));
    }
    if (into.events.size() > kMaxEvents) {
      into.warnings.push_back(fmt::format("more than {} events: samples of {} are left out", kMaxEvents, event.name));
      ids.push_back({0xff});
      continue;
    }
    ids.push_back({static_cast<uint8_t>(into.events.size())});
    into.events.push_back(event);
  }
  return ids;
}

void merge_headers(Header& into, const Header& from) {
  const uint64_t end = std::max(into.start_realtime_ns + into.duration_ns, from.start_realtime_ns + from.duration_ns);
  if (from.start_realtime_ns < into.start_realtime_ns) {
    const uint64_t earlier = into.start_realtime_ns - from.start_realtime_ns;
    into.start_monotonic_ns -= std::min(into.start_monotonic_ns, earlier);
    into.start_realtime_ns -= earlier;
  }
  into.duration_ns = end - into.start_realtime_ns;
  into.cpu_count = std::max(into.cpu_count, from.cpu_count);
  const bool known = into.target_cpu_ns != 0 && from.target_cpu_ns != 0, all_ran = into.runs != 0 && from.runs != 0;
  into.target_cpu_ns = known ? into.target_cpu_ns + from.target_cpu_ns : 0;
  into.runs = all_ran ? into.runs + from.runs : 0;
  into.runs_ns = all_ran ? into.runs_ns + from.runs_ns : 0;
  if (!from.host.empty() && into.host.find(from.host) == std::string::npos) into.host += (into.host.empty() ? "" : ", ") + from.host;
  if (into.boot_id != from.boot_id) into.boot_id.clear();
  add_counts(into.end_reasons, from.end_reasons);
  for (const std::string& warning : from.warnings)
    if (std::find(into.warnings.begin(), into.warnings.end(), warning) == into.warnings.end()) into.warnings.push_back(warning);
}

// Once merged, the end of the recording is another one's, too.
LabelSetId with_end(Profile& into, LabelSetId labels) {
  const std::span<const Label> had = into.labels(labels);
  std::vector<Label> set(had.begin(), had.end());
  set.push_back({into.intern(kEndLabel), into.intern(kNotEnded)});
  return into.intern_labels(set);
}

struct FreeRegex {
  void operator()(regex_t* regex) const {
    ::regfree(regex);
    delete regex;
  }
};
using Regex = std::unique_ptr<regex_t, FreeRegex>;

// libc's matcher, not std::regex: that one recurses once per character, and a 100 kB name overflows the stack.
Result<Regex> compile(const std::string& pattern) {
  auto regex = std::make_unique<regex_t>();
  const int error = ::regcomp(regex.get(), pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    char text[256];
    ::regerror(error, regex.get(), text, sizeof text);
    return make_error(ErrorKind::kInvalid, "regular expression \"{}\": {}", pattern, text);
  }
  return Regex(regex.release());
}

bool names(const std::vector<std::string>& wanted, std::string_view name, int64_t number) {
  return wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [&](const std::string& w) { return w == name || w == fmt::format("{}", number); });
}

std::vector<bool> stacks_with(const ProfileSnapshot& profile, const regex_t& regex) {
  std::vector<bool> frame_matches(profile.frames().size()), matches(profile.stacks().size());
  for (size_t i = 0; i < frame_matches.size(); ++i) {
    const FrameId frame(i);
    PlaceId place = profile.place(frame);
    do frame_matches[i] = ::regexec(&regex, frame_name(profile, frame, place).c_str(), 0, nullptr, 0) == 0;
    while (!frame_matches[i] && (place = profile.outer(place)).valid());
  }
  for (size_t i = 0; i < matches.size(); ++i) {
    const Stack& stack = profile.stacks()[i];
    matches[i] = frame_matches[stack.frame.value] || (stack.parent.valid() && matches[stack.parent.value]);
  }
  return matches;
}

}  // namespace

void merge(Profile& into, const ProfileSnapshot& from) {
  const bool first = into.sample_count() == 0 && into.header.start_realtime_ns == 0;
  std::vector<EventId> events;
  if (first) {
    into.header = from.header;
    for (size_t i = 0; i < from.header.events.size(); ++i) events.push_back({static_cast<uint8_t>(i)});
  } else {
    events = merge_events(into.header, from.header);
  }
  // t_into = t_from + shift: both clocks are known at the start of both recordings.
  const uint64_t shift = (from.header.start_realtime_ns - from.header.start_monotonic_ns) - (into.header.start_realtime_ns - into.header.start_monotonic_ns);
  if (!first) merge_headers(into.header, from.header);
  std::vector<std::optional<uint64_t>> cpu_ns;  // of threads that were there before
  for (const Thread& thread : into.threads()) cpu_ns.push_back(thread.cpu_ns);
  RowCopier copier(into, from);
  for (size_t i = 0; i < from.sample_count(); ++i) {
    Sample sample = copier.copy(from.sample(i));
    sample.event = events[sample.event.value];
    if (sample.event.value == 0xff) continue;
    sample.time_ns += shift;
    if (has_not_ended(from, i)) sample.labels = with_end(into, sample.labels);
    into.append_sample(sample);
  }
  for (size_t i = 0; i < from.threads().size(); ++i) {
    const auto copy = copier.find(ThreadId(i));
    if (!copy || copy->value >= cpu_ns.size()) continue;
    const std::optional<uint64_t> before = cpu_ns[copy->value], added = from.threads()[i].cpu_ns;
    into.edit_thread(*copy, [&](Thread& row) { row.cpu_ns = before && added ? std::optional(*before + *added) : std::nullopt; });
  }
}

Result<SampleFilter> make_sample_filter(const ProfileSnapshot& profile, const FilterOptions& options) {
  if (options.from_ns && options.to_ns && *options.from_ns >= *options.to_ns)
    return make_error(ErrorKind::kInvalid, "time range {}–{} ns is empty", *options.from_ns, *options.to_ns);
  std::vector<bool> threads(profile.threads().size());
  for (size_t i = 0; i < threads.size(); ++i) {
    const Thread& thread = profile.threads()[i];
    const Process& process = profile.processes()[thread.process.value];
    threads[i] = names(options.processes, profile.text(process.name), process.pid) && names(options.threads, profile.text(thread.name), thread.tid);
  }
  std::vector<bool> stacks;
  if (!options.function.empty()) {
    const Regex regex = TRY(compile(options.function));
    stacks = stacks_with(profile, *regex);
  }
  const bool any_stack = options.function.empty();
  const uint64_t start = profile.header.start_monotonic_ns;
  return SampleFilter([=](const ProfileSnapshot& p, size_t i) {
    const Samples& samples = p.samples();
    const uint64_t at = samples.time_ns[i] < start ? 0 : samples.time_ns[i] - start;
    if ((options.from_ns && at < *options.from_ns) || (options.to_ns && at >= *options.to_ns)) return false;
    if (samples.thread[i].value >= threads.size() || !threads[samples.thread[i].value]) return false;
    if (!options.states.empty() && std::ranges::find(options.states, state_text(p, samples.event[i], samples.labels[i])) == options.states.end()) return false;
    return any_stack || (samples.stack[i].value < stacks.size() && stacks[samples.stack[i].value]);
  });
}

Profile extract(const ProfileSnapshot& profile, const SampleFilter& wanted) {
  Profile part;
  part.header = profile.header;
  part.header.end_reasons.clear();  // of the whole; the samples of the part have their own
  part.header.target_cpu_ns = 0;    // likewise
  RowCopier copier(part, profile);
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    if (wanted && !wanted(profile, i)) continue;
    part.append_sample(copier.copy(profile.sample(i)));
  }
  if (part.sample_count() != profile.sample_count())
    part.header.warnings.push_back(fmt::format("a part of a recording: {} of {} samples", part.sample_count(), profile.sample_count()));
  return part;
}

Result<Profile> extract_event(const ProfileSnapshot& profile, std::string_view name) {
  const std::vector<Event>& events = profile.header.events;
  const auto found = std::find_if(events.begin(), events.end(), [&](const Event& event) { return event.name == name; });
  if (found == events.end()) {
    std::string known;
    for (const Event& event : events) known += (known.empty() ? "" : ", ") + event.name;
    return make_error(ErrorKind::kNotFound, "event {}: not in this profile; it has {}", name, known);
  }
  const EventId wanted{static_cast<uint8_t>(found - events.begin())};
  Profile part;
  part.header = profile.header;
  part.header.events = {*found};
  part.header.end_reasons.clear();
  RowCopier copier(part, profile);
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    Sample sample = profile.sample(i);
    if (sample.event != wanted) continue;
    sample.event = {};
    sample.thread = copier.thread(sample.thread);
    sample.stack = copier.stack(sample.stack);
    sample.labels = copier.labels(sample.labels);
    part.append_sample(sample);
  }
  return part;
}

}  // namespace cicada::profile
