// SPDX-License-Identifier: Apache-2.0
#include "cli/summary.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "cli/report_text.h"
#include "profile/completeness.h"
#include "profile/frame_text.h"
#include "sink/flamegraph/svg_caption.h"
#include "sink/flamegraph/svg_text.h"

namespace cicada::cli {
namespace {

using profile::Count;
using profile::Profile;
using profile::ProfileSnapshot;
using sink::grouped_digits;
using sink::shortened;

void append_taken(const ProfileSnapshot& profile, const profile::Event& event, std::string& out) {
  const profile::Header& header = profile.header;
  std::string rate = event.frequency_hz != 0 ? fmt::format("{} Hz", event.frequency_hz) : fmt::format("every {}", grouped_digits(event.period));
  out += fmt::format("\n{} samples in {:.1f} s  ({}, {}, {} CPU{})\n", grouped_digits(event.fired), static_cast<double>(header.duration_ns) / 1e9,
                     printable(event.name), rate, header.cpu_count, header.cpu_count == 1 ? "" : "s");
}

void append_outcomes(const profile::Event& event, bool stats, std::string& out) {
  for (const Count& count : event.counts) {
    if (!count.outcome || (count.value == 0 && !stats)) continue;
    const double share = event.fired == 0 ? 0 : 100.0 * static_cast<double>(count.value) / static_cast<double>(event.fired);
    out += fmt::format("  {:>12}  {:6.2f} %  {}\n", grouped_digits(count.value), share, count.name);
  }
}

void append_completeness(const ProfileSnapshot& profile, bool stats, std::string& out) {
  const profile::Completeness whole = profile::completeness(profile);
  const auto counts = profile::count_end_reasons(profile);
  if (whole.of != 0) {
    out += fmt::format("  {} of {} user stacks are complete\n", profile::percent_complete(whole), grouped_digits(whole.of));
  } else if (counts[END_NONE] != 0) {
    out += "  no user stacks, the kernel's only\n";
  }
  for (size_t i = 0; i < counts.size(); i++) {
    const bool interesting = !profile::kEndReasons[i].complete && i != END_NONE && counts[i] != 0;
    if (interesting || stats) out += fmt::format("  {:>12}            {}\n", grouped_digits(counts[i]), profile::kEndReasons[i].text);
  }
}

struct Hot {
  std::string name, image;
  uint64_t self = 0;
};

std::vector<Hot> hottest_functions(const ProfileSnapshot& profile, const SummaryOptions& options, uint64_t& total) {
  std::unordered_map<uint32_t, uint64_t> self_of_frame;  // by FrameId: few frames, many samples
  const profile::EventId event = profile::main_event(profile);
  for (size_t i = 0; i < profile.sample_count(); i++) {
    const profile::Sample sample = profile.sample(i);
    if (sample.event != event || (sample.idle && !options.include_idle)) continue;
    total += sample.value;
    if (sample.stack.valid()) self_of_frame[profile.stacks()[sample.stack.value].frame.value] += sample.value;
  }
  std::map<std::pair<std::string, std::string>, uint64_t> self_of_function;
  for (const auto& [frame_value, self] : self_of_frame) {
    const profile::FrameId frame{frame_value};
    const profile::ImageId image = profile::image_of(profile, frame, 0);
    const std::string_view path = image.valid() ? profile.text(profile.images()[image.value].path) : "";
    self_of_function[{profile::frame_name(profile, frame, 0), std::string(profile::file_name(path))}] += self;
  }
  std::vector<Hot> hot;
  for (const auto& [key, self] : self_of_function) hot.push_back({key.first, key.second, self});
  std::stable_sort(hot.begin(), hot.end(), [](const Hot& a, const Hot& b) { return a.self > b.self; });
  if (hot.size() > options.hottest) hot.resize(options.hottest);
  return hot;
}

void append_hottest(const ProfileSnapshot& profile, const SummaryOptions& options, std::string& out) {
  uint64_t total = 0;
  const std::vector<Hot> hot = hottest_functions(profile, options, total);
  if (hot.empty()) return;
  constexpr size_t kNumbers = 23, kImage = 24;
  const size_t name_columns = options.columns > kNumbers + kImage + 20 ? options.columns - kNumbers - kImage : 40;
  out += fmt::format("\n{:>9}{:>12}  {:<{}}{}\n", "self", "samples", "function", name_columns, "image");
  for (const Hot& function : hot) {
    out += fmt::format("{:7.1f} %{:>12}  {:<{}}{}\n",
                       100.0 * static_cast<double>(function.self) / static_cast<double>(total), grouped_digits(function.self),
                       shortened(printable(function.name), name_columns - 2), name_columns,
                       shortened(printable(function.image), kImage));
  }
}

}  // namespace

std::string format_summary(const ProfileSnapshot& profile, const std::vector<std::string>& outputs,
                           const SummaryOptions& options) {
  std::string out;
  for (const profile::Event& event : profile.header.events) {
    append_taken(profile, event, out);
    append_outcomes(event, options.stats, out);
  }
  append_completeness(profile, options.stats, out);
  if (options.stats) {
    for (const Count& count : profile.header.events[0].counts) {
      if (!count.outcome) out += fmt::format("  {:>12}            {}\n", grouped_digits(count.value), count.name);
    }
  }
  append_hottest(profile, options, out);
  for (const std::string& warning : profile.header.warnings) out += fmt::format("\nwarning: {}", printable(warning));
  if (!profile.header.warnings.empty()) out += "\n";
  if (profile.sample_count() == 0) {
    out +=
        "\nno samples: the target was idle or gone the whole time; -a shows what the machine did, --include-idle "
        "counts idling\n";
  }
  if (!outputs.empty()) out += "\n";
  for (const std::string& output : outputs) out += output + "\n";
  return out;
}

}  // namespace cicada::cli
