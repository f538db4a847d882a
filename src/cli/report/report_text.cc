// SPDX-License-Identifier: Apache-2.0
#include "cli/report/report_text.h"

#include <algorithm>
#include <ctime>

#include "base/clean_text.h"
#include "base/number_text.h"
#include "cli/report/report_functions.h"
#include "profile/completeness.h"
#include "profile/cpu_time.h"
#include "profile/frame_text.h"
#include "profile/stack_totals.h"
#include "sink/flamegraph/svg_text.h"

namespace cicada::cli {
namespace {

using profile::CallNode;
using profile::CallTree;
using profile::NodeKind;

constexpr double kMostlyWaited = 0.1;
constexpr size_t kColumnsForImages = 72, kLeastName = 20;

std::string start_text(uint64_t realtime_ns) {
  const auto seconds = static_cast<time_t>(realtime_ns / 1'000'000'000);
  tm parts = {};
  char text[64];
  if (::gmtime_r(&seconds, &parts) == nullptr || std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0) return "?";
  return text;
}

void append_line(std::string& out, std::string_view what, std::string_view text) {
  if (!text.empty()) out += fmt::format("{:<10} {}\n", what, clean_text(text));
}

std::string cpu_column(uint64_t value, const ReportLimits& limits) {
  if (limits.seconds_per_value == 0) return "";
  return fmt::format("{:>10}", value == 0 ? "" : seconds_text(static_cast<double>(value) * limits.seconds_per_value));
}

// Of a unit as unit_text() has it: a time is shown as people read times.
std::string value_text(uint64_t value, std::string_view unit) {
  return value != 0 && unit == profile::unit_text(profile::Unit::kNanoseconds) ? seconds_text(static_cast<double>(value) * 1e-9, 4) : grouped_digits(value);
}
std::string_view value_title(std::string_view unit) { return unit == profile::unit_text(profile::Unit::kNanoseconds) ? "time" : unit; }

class TreeText {
 public:
  TreeText(const CallTree& tree, const ReportLimits& limits) : tree_(tree), limits_(limits) {}

  std::string format() {
    collect();
    std::vector<TableNames::Row> names;
    for (const Pending& line : lines_)
      if (line.more == 0) names.push_back({tree_.text(tree_.nodes[line.node].name), room(line)});
    const std::vector<std::string> texts = limits_.names.fit(names);
    std::string out = fmt::format("{:>9}{:>9}{}\n", "total", "self", limits_.counts ? fmt::format("{:>14}", "count") : "");
    size_t next = 0;
    for (const Pending& line : lines_) {
      if (line.more != 0)
        out += fmt::format("{:7.1f} %{:>9}{}   {:{}}… {} more\n", percent(line.total, tree_.total()), "", count(line.total), "", indent(line.level), line.more);
      else
        append(line, texts[next++], out);
    }
    return out;
  }

 private:
  struct Pending {
    uint32_t node = 0;
    size_t level = 0;    // of indentation
    size_t depth = 0;
    bool chain = false;  // a callee on its caller's level: the only one
    size_t more = 0;     // instead of a node: how many were left out
    uint64_t total = 0;
  };

  // A stack of our own: folded files may nest as deep as they like.
  void collect() {
    open_children(0, 0, 0);
    while (!pending_.empty()) {
      lines_.push_back(pending_.back());
      pending_.pop_back();
      const Pending next = lines_.back();
      if (next.more == 0) open_children(next.node, next.level, next.depth + 1);
    }
  }

  std::string count(uint64_t total) const { return limits_.counts ? fmt::format("{:>14}", grouped_digits(total)) : ""; }
  static size_t indent(size_t level) { return std::min<size_t>(level, 40) * 2; }
  std::string_view mark_of(uint32_t node) const { return tree_.nodes[node].kind == NodeKind::kInlined ? " [inlined]" : ""; }
  size_t room(const Pending& line) const {
    const size_t used = (limits_.counts ? 35 : 21) + indent(line.level) + mark_of(line.node).size();
    return limits_.columns > used + 30 ? limits_.columns - used : 30;
  }

  void open_children(uint32_t parent, size_t level, size_t depth) {
    std::vector<uint32_t> shown;
    Pending rest{};
    for (uint32_t at = tree_.nodes[parent].first_child; at != 0; at = tree_.nodes[at].next_sibling) {
      const uint64_t total = tree_.nodes[at].total;
      if (depth < limits_.depth && total != 0 && percent(total, tree_.total()) >= limits_.min_percent) {
        shown.push_back(at);
      } else if (total != 0) {
        ++rest.more;
        rest.total += total;
      }
    }
    std::stable_sort(shown.begin(), shown.end(), [&](uint32_t a, uint32_t b) { return tree_.nodes[a].total > tree_.nodes[b].total; });
    const bool chain = shown.size() == 1 && (rest.more == 0 || percent(rest.total, tree_.total()) < limits_.min_percent);
    const size_t child_level = parent == 0 || chain ? level : level + 1;
    if (rest.more != 0 && percent(rest.total, tree_.total()) >= limits_.min_percent) {
      rest.level = child_level;
      pending_.push_back(rest);
    }
    for (size_t i = shown.size(); i-- > 0;)
      pending_.push_back({.node = shown[i], .level = child_level, .depth = depth, .chain = parent != 0 && chain});
  }

  void append(const Pending& line, std::string_view name, std::string& out) const {
    const CallNode& node = tree_.nodes[line.node];
    const std::string self = node.self == 0 ? "" : fmt::format("{:.1f} %", percent(node.self, tree_.total()));
    // The mark stands left of the name, so that names of one level stay in line and only calls are to the right of it.
    out += fmt::format("{:7.1f} %{:>9}{} {:{}}{}{}{}\n", percent(node.total, tree_.total()), self, count(node.total), "", indent(line.level),
                       line.chain ? "└ " : "  ", name, mark_of(line.node));
  }

  const CallTree& tree_;
  const ReportLimits& limits_;
  std::vector<Pending> pending_, lines_;
};

// "cpu-clock (1,200 samples), page-faults (3); --event shows them". Empty: there are no others.
std::string other_events(const profile::ProfileSnapshot& profile) {
  std::string names;
  for (uint32_t i = 0; i < profile.header.events.size(); ++i) {
    const profile::EventId id{static_cast<uint8_t>(i)};
    const uint64_t samples = id == main_event(profile) ? 0 : count_samples(profile, id);
    if (samples != 0) names += fmt::format("{}{} ({}{})", names.empty() ? "" : ", ", profile.header.events[i].name, grouped_digits(samples), names.empty() ? " samples" : "");
  }
  return names.empty() ? "" : names + "; --event shows them";
}

}  // namespace

std::string format_cpu_time(const profile::ProfileSnapshot& profile) {
  const double used = static_cast<double>(profile.header.target_cpu_ns) * 1e-9, wall = static_cast<double>(profile.header.duration_ns) * 1e-9;
  if (used == 0 || wall == 0) return "";
  const bool shown = std::any_of(profile.header.events.begin(), profile.header.events.end(), [](const profile::Event& event) { return event.spent == profile::Spent::kWaiting || event.name == "context-switches"; });
  const bool waited = used < kMostlyWaited * wall && !shown;
  return fmt::format("used {} of CPU in {} ({:.1f} % of one){}", seconds_text(used), seconds_text(wall), 100 * used / wall,
                     waited ? ": mostly waiting, which CPU samples do not show; `cicada offcpu` shows where" : "");
}

std::string format_report_header(const profile::ProfileSnapshot& profile, const std::string& file) {
  const profile::Header& header = profile.header;
  std::string command, out;
  for (const std::string& word : header.command) command += (command.empty() ? "" : " ") + word;
  append_line(out, "file", file);
  append_line(out, "host", header.kernel.empty() ? header.host : fmt::format("{} ({}, {} CPUs)", header.host, header.kernel, header.cpu_count));
  append_line(out, "command", command);
  if (header.start_realtime_ns != 0) append_line(out, "start", start_text(header.start_realtime_ns));
  if (header.duration_ns != 0) append_line(out, "duration", seconds_text(static_cast<double>(header.duration_ns) * 1e-9, 4));
  const profile::Event& event = profile.event(main_event(profile));
  append_line(out, "CPU", format_cpu_time(profile));
  append_line(out, "rate", profile::rate_text(event));
  append_line(out, "samples", grouped_digits(count_samples(profile, main_event(profile))));
  append_line(out, "more", other_events(profile));
  std::string lost;
  for (const profile::Count& count : event.counts)
    if (count.outcome && count.value != 0 && !count.name.starts_with("stored"))
      lost += fmt::format("{}{} {}", lost.empty() ? "" : "; ", grouped_digits(count.value), count.name);
  if (event.fired != 0) append_line(out, "not stored", lost.empty() ? "none" : lost);
  if (const auto whole = profile::completeness(profile); whole.of != 0)
    append_line(out, "complete", fmt::format("{} of {} user stacks", profile::percent_complete(whole), grouped_digits(whole.of)));
  append_line(out, "incomplete", profile::cut_reasons(profile));
  for (const std::string& warning : header.warnings) append_line(out, "warning", warning);
  return out;
}

std::string format_functions(std::span<const profile::FunctionCost> costs, const profile::StringTable& strings, uint64_t total, const ReportLimits& limits,
                             std::string_view unit) {
  const bool times = limits.seconds_per_value > 0;
  const size_t rows = std::min(costs.size(), limits.rows);
  const std::string_view title = value_title(unit);
  size_t value_width = title.size(), image_width = 5;
  std::vector<std::string> images;
  for (size_t i = 0; i < rows; ++i) {
    value_width = std::max(value_width, value_text(costs[i].self, unit).size());
    images.push_back(sink::shortened(clean_text(profile::file_name(strings.text(costs[i].image))), std::clamp<size_t>(limits.columns / 5, 12, 24)));
    image_width = std::max(image_width, images.back().size());
  }
  const bool with_images = limits.columns >= kColumnsForImages;
  const size_t used = (times ? 10 : 0) + 9 + 9 + value_width + 3 + 2 + (with_images ? image_width + 2 : 0);
  const size_t name_width = limits.columns > used + kLeastName ? limits.columns - used : kLeastName;
  std::vector<TableNames::Row> names;
  for (size_t i = 0; i < rows; ++i) names.push_back({strings.text(costs[i].name), name_width});
  const std::vector<std::string> texts = limits.names.fit(names);
  // fmt pads by code points, as fit() counts them.
  const auto last_columns = [&](std::string_view name, std::string_view image) {
    return with_images ? fmt::format("  {:<{}}  {}\n", name, name_width, image) : fmt::format("  {}\n", name);
  };
  std::string out = fmt::format("{}{:>9}{:>9}{:>{}}", times ? fmt::format("{:>10}", "CPU") : "", "self", "total", title, value_width + 3) + last_columns("function", "image");
  for (size_t i = 0; i < rows; ++i) {
    out += cpu_column(costs[i].self, limits);
    out += fmt::format("{:7.1f} %{:7.1f} %{:>{}}", percent(costs[i].self, total), percent(costs[i].total, total), value_text(costs[i].self, unit), value_width + 3);
    out += last_columns(texts[i], images[i]);
  }
  if (costs.size() > limits.rows) out += fmt::format("  … {} more functions\n", costs.size() - limits.rows);
  return out;
}

std::string format_groups(const CallTree& tree, const ReportLimits& limits, std::string_view unit) {
  struct Group {
    uint32_t node;
    size_t level;
    size_t more;  // instead of a node: how many were left out
  };
  const bool times = limits.seconds_per_value > 0;
  std::vector<Group> pending{{0, 0, 0}};
  std::vector<uint32_t> children;
  std::string out = fmt::format("{}{:>9}{:>16}\n", times ? fmt::format("{:>10}{:>9}", "CPU", "of a CPU") : "", "share", value_title(unit));
  while (!pending.empty()) {
    const Group group = pending.back();
    pending.pop_back();
    const CallNode& node = tree.nodes[group.node];
    if (group.more != 0) {
      out += fmt::format("{:{}}… {} more\n", "", (times ? 46 : 27) + (group.level - 1) * 2, group.more);
      continue;
    }
    if (group.node != 0) {
      const size_t used = (times ? 46 : 27) + (group.level - 1) * 2, room = limits.columns > used ? limits.columns - used : 0;
      out += cpu_column(node.total, limits);
      if (times) out += limits.duration_s > 0 ? fmt::format("{:7.1f} %", 100 * static_cast<double>(node.total) * limits.seconds_per_value / limits.duration_s) : std::string(9, ' ');
      out += fmt::format("{:7.1f} %{:>16}  {:{}}{}\n", percent(node.total, tree.total()), value_text(node.total, unit), "", (group.level - 1) * 2,
                         sink::shortened(clean_text(tree.text(node.name)), room > kLeastName ? room : kLeastName));
    }
    children.clear();
    for (uint32_t at = node.first_child; at != 0; at = tree.nodes[at].next_sibling)
      if (tree.nodes[at].kind == NodeKind::kGroup) children.push_back(at);
    std::stable_sort(children.begin(), children.end(), [&](uint32_t a, uint32_t b) { return tree.nodes[a].total > tree.nodes[b].total; });
    if (children.size() > limits.rows) pending.push_back({0, group.level + 1, children.size() - limits.rows});
    for (size_t i = std::min(children.size(), limits.rows); i-- > 0;) pending.push_back({children[i], group.level + 1, 0});
  }
  return out;
}

std::string format_tree(const CallTree& tree, const ReportLimits& limits) { return TreeText(tree, limits).format(); }

}  // namespace cicada::cli
