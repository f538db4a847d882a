// SPDX-License-Identifier: Apache-2.0
#include "cli/record/summary.h"

#include <algorithm>

#include "base/clean_text.h"
#include "base/number_text.h"
#include "bpf_source/sample_accounting.h"
#include "cli/report/report_text.h"
#include "profile/call_tree.h"
#include "profile/completeness.h"
#include "profile/cpu_time.h"
#include "profile/function_totals.h"

namespace cicada::cli {
namespace {

using profile::Count;
using profile::ProfileSnapshot;

void append_taken(const ProfileSnapshot& profile, const profile::Event& event, std::string& out) {
  const profile::Header& header = profile.header;
  const bool waits = event.spent != profile::Spent::kRunning;
  std::string rate = waits ? fmt::format("from {} on all are kept", seconds_text(static_cast<double>(event.period) * 1e-9)) : event.frequency_hz != 0 ? fmt::format("{} Hz", event.frequency_hz) : fmt::format("every {}", grouped_digits(event.period));
  out += fmt::format("\n{} {} in {}  ({}, {}, {} CPU{})\n", grouped_digits(event.fired), (waits ? event.fired == 1 ? "wait" : "waits" : event.fired == 1 ? "sample" : "samples"), seconds_text(static_cast<double>(header.duration_ns) * 1e-9, 4),
                     clean_text(event.name), rate, header.cpu_count, header.cpu_count == 1 ? "" : "s");
}

void append_outcomes(const profile::Event& event, bool stats, std::string& out) {
  for (const Count& count : event.counts) {
    if (!count.outcome || (count.value == 0 && !stats)) continue;
    out += fmt::format("  {:>12}  {:6.2f} %  {}\n", grouped_digits(count.value), percent(count.value, event.fired), count.name);
  }
}

// How many were lost says little: waits differ in length.
void append_lost_time(const profile::Event& event, std::string& out) {
  const bpf_source::LostTime lost = bpf_source::lost_time(event);
  if (lost.ns != 0) out += fmt::format("  lost: {} wait{}, {}\n", grouped_digits(lost.waits), lost.waits == 1 ? "" : "s", seconds_text(static_cast<double>(lost.ns) * 1e-9, 4));
}

void append_completeness(const ProfileSnapshot& profile, const SummaryOptions& options, std::string& out) {
  const profile::Completeness whole = profile::completeness(profile);
  const auto counts = profile::count_end_reasons(profile);
  if (whole.of != 0) {
    out += fmt::format("  {} of {} user stacks are complete\n", profile::percent_complete(whole), grouped_digits(whole.of));
  } else if (counts[END_NONE] != 0) {
    out += options.stacks ? "  no user stacks, the kernel's only\n" : "  no stacks, which were not asked for\n";
  }
  for (size_t i = 0; i < counts.size(); i++) {
    const bool interesting = !profile::kEndReasons[i].complete && i != END_NONE && counts[i] != 0;
    if (interesting || options.stats) out += fmt::format("  {:>12}            {}\n", grouped_digits(counts[i]), profile::kEndReasons[i].text);
  }
}

// Of an event that is the time threads wait: for what.
void append_states(const ProfileSnapshot& profile, profile::EventId event, const SummaryOptions& options, std::string& out) {
  if (profile.event(event).spent != profile::Spent::kWaiting) return;
  const profile::CallTree tree = profile::build_call_tree(profile, {.group_by = {profile::GroupBy::kState}, .event = event});
  out += "\n" + format_groups(tree, {.rows = options.rows, .columns = options.columns}, profile::unit_text(profile.event(event).unit));
}

void append_functions(const ProfileSnapshot& profile, profile::EventId event, const SummaryOptions& options, std::string& out) {
  // Where the program waits, not where the kernel switched: that is always the same.
  const bool waits = profile.event(event).spent != profile::Spent::kRunning;
  const profile::FunctionTotals functions = profile::total_functions(profile, {.include_idle = options.include_idle, .kernel_frames = !waits, .event = event});
  if (functions.total == 0) return;
  if (profile.header.events.size() > 1) out += fmt::format("\n{}:", clean_text(profile.event(event).name));
  append_states(profile, event, options, out);
  ReportLimits limits{.rows = options.rows, .columns = options.columns, .seconds_per_value = profile::seconds_per_value(profile, event)};
  if (functions.rows.empty()) {  // samples without stacks
    const profile::CallTree processes = profile::build_call_tree(profile, {.include_idle = options.include_idle, .group_by = {profile::GroupBy::kProcess}, .event = event});
    out += "\n" + format_groups(processes, limits, profile::unit_text(profile.event(event).unit));
    return;
  }
  limits.names.shorten(profile);
  out += "\n" + format_functions(functions.rows, functions.strings, functions.total, limits, profile::unit_text(profile.event(event).unit));
}

}  // namespace

std::string format_summary(const ProfileSnapshot& profile, const std::vector<std::string>& outputs,
                           const SummaryOptions& options) {
  std::string out;
  for (const profile::Event& event : profile.header.events) {
    append_taken(profile, event, out);
    append_outcomes(event, options.stats, out);
    append_lost_time(event, out);
  }
  append_completeness(profile, options, out);
  if (const std::string used = format_cpu_time(profile); !used.empty()) out += "  " + used + "\n";
  if (options.stats) {
    for (const profile::Event& event : profile.header.events) {
      for (const Count& count : event.counts) {
        if (!count.outcome && (count.value != 0 || &event == &profile.header.events[0])) out += fmt::format("  {:>12}            {}{}\n", grouped_digits(count.value), count.name, &event == &profile.header.events[0] ? "" : " (" + event.name + ")");
      }
    }
  }
  for (const profile::EventId event : profile::sampled_events(profile)) append_functions(profile, event, options, out);
  for (const std::string& warning : profile.header.warnings) out += fmt::format("\nwarning: {}", clean_text(warning));
  if (!profile.header.warnings.empty()) out += "\n";
  if (profile.sample_count() == 0) {
    const bool waits = std::any_of(profile.header.events.begin(), profile.header.events.end(), [](const profile::Event& event) { return event.spent == profile::Spent::kWaiting; });
    const auto& events = profile.header.events;
    const bool counted = std::all_of(events.begin(), events.end(), [](const profile::Event& event) { return event.sample_ns == 0 && event.frequency_hz == 0; });
    const bool fired = std::any_of(events.begin(), events.end(), [](const profile::Event& event) { return event.fired != 0; });
    if (counted && !waits) out += fired ? "\nno samples: what was asked for happened, but not to what was recorded, or not as the terms ask, or no call has returned; --stats tells more\n" : "\nno samples: what was asked for did not happen\n";
    else if (waits) out += "\nno samples: nobody whose waits were asked for has waited, or not as long as asked; threads of the kernel's go with -a --kernel-threads\n";
    else out += "\nno samples: the target used no CPU time, or too little to be seen; -F 4999 sees more of a short program, `cicada offcpu` where it waits\n";
  }
  if (!outputs.empty()) out += "\n";
  for (const std::string& output : outputs) out += output + "\n";
  return out;
}

}  // namespace cicada::cli
