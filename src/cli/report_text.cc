// SPDX-License-Identifier: Apache-2.0
#include "cli/report_text.h"

#include <algorithm>
#include <ctime>

#include "base/clean_text.h"
#include "cli/report_functions.h"
#include "profile/completeness.h"
#include "profile/frame_text.h"
#include "profile/stack_totals.h"
#include "sink/flamegraph/svg_caption.h"
#include "sink/flamegraph/svg_text.h"

namespace cicada::cli {
namespace {

using profile::CallNode;
using profile::CallTree;
using profile::NodeKind;
using sink::grouped_digits;

double percent(uint64_t part, uint64_t all) {
  return all == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

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

std::string rate_text(const profile::Event& event) {
  if (event.frequency_hz != 0) return fmt::format("{} Hz {}", event.frequency_hz, event.name);
  return event.period == 0 ? "" : fmt::format("every {} {}", grouped_digits(event.period), event.name);
}

class TreeText {
 public:
  TreeText(const CallTree& tree, const ReportLimits& limits) : tree_(tree), limits_(limits) {}

  // A stack of our own: folded files may nest as deep as they like.
  std::string format() {
    out_ = fmt::format("{:>9}{:>9}\n", "total", "self");
    open_children(0, 0, 0);
    while (!pending_.empty()) {
      const Pending next = pending_.back();
      pending_.pop_back();
      if (next.more != 0) {
        out_ += fmt::format("{:7.1f} %{:>9}   {:{}}… {} more\n", percent(next.total, tree_.total()), "", "", indent(next.level), next.more);
        continue;
      }
      append(next);
      open_children(next.node, next.level, next.depth + 1);
    }
    return std::move(out_);
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

  static size_t indent(size_t level) { return std::min<size_t>(level, 40) * 2; }

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

  void append(const Pending& next) {
    const CallNode& node = tree_.nodes[next.node];
    const std::string self = node.self == 0 ? "" : fmt::format("{:.1f} %", percent(node.self, tree_.total()));
    const size_t used = 21 + indent(next.level);
    const size_t room = limits_.columns > used + 30 ? limits_.columns - used : 30;
    std::string name = clean_text(tree_.text(node.name));
    if (node.kind == NodeKind::kInlined) name += " [inlined]";
    // The mark stands left of the name, so that names of one level stay in line and only calls are to the right of it.
    out_ += fmt::format("{:7.1f} %{:>9} {:{}}{}{}\n", percent(node.total, tree_.total()), self, "", indent(next.level),
                        next.chain ? "└ " : "  ", sink::shortened(name, room));
  }

  const CallTree& tree_;
  const ReportLimits& limits_;
  std::vector<Pending> pending_;
  std::string out_;
};

}  // namespace

std::string format_report_header(const profile::ProfileSnapshot& profile, const std::string& file) {
  const profile::Header& header = profile.header;
  std::string command, out;
  for (const std::string& word : header.command) command += (command.empty() ? "" : " ") + word;
  append_line(out, "file", file);
  append_line(out, "host", header.kernel.empty() ? header.host : fmt::format("{} ({}, {} CPUs)", header.host, header.kernel, header.cpu_count));
  append_line(out, "command", command);
  if (header.start_realtime_ns != 0) append_line(out, "start", start_text(header.start_realtime_ns));
  if (header.duration_ns != 0) append_line(out, "duration", fmt::format("{:.3f} s", static_cast<double>(header.duration_ns) / 1e9));
  const profile::Event& event = profile.event(main_event(profile));
  append_line(out, "rate", rate_text(event));
  append_line(out, "samples", grouped_digits(count_samples(profile)));
  std::string lost;
  for (const profile::Count& count : event.counts)
    if (count.outcome && count.value != 0 && !count.name.starts_with("stored"))
      lost += fmt::format("{}{} {}", lost.empty() ? "" : "; ", grouped_digits(count.value), count.name);
  if (event.fired != 0) append_line(out, "not stored", lost.empty() ? "none" : lost);
  if (const auto whole = profile::completeness(profile); whole.of != 0)
    append_line(out, "complete", fmt::format("{} of {} user stacks", profile::percent_complete(whole), grouped_digits(whole.of)));
  for (const std::string& warning : header.warnings) append_line(out, "warning", warning);
  return out;
}

std::string format_functions(const CallTree& tree, const ReportLimits& limits) {
  constexpr size_t kNumbers = 32, kImage = 24;
  const size_t name_columns = limits.columns > kNumbers + kImage + 20 ? limits.columns - kNumbers - kImage : 40;
  const std::vector<FunctionCost> costs = add_up_functions(tree);
  std::string out = fmt::format("{:>9}{:>9}{:>12}  {:<{}}image\n", "self", "total", "samples", "function", name_columns);
  for (size_t i = 0; i < std::min(costs.size(), limits.functions); ++i) {
    // fmt pads by code points, as shortened() counts them.
    out += fmt::format("{:7.1f} %{:7.1f} %{:>12}  {:<{}}{}\n", percent(costs[i].self, tree.total()), percent(costs[i].total, tree.total()),
                       grouped_digits(costs[i].self), sink::shortened(clean_text(tree.text(costs[i].name)), name_columns - 2), name_columns,
                       sink::shortened(clean_text(profile::file_name(tree.text(costs[i].image))), kImage));
  }
  if (costs.size() > limits.functions) out += fmt::format("  … {} more functions\n", costs.size() - limits.functions);
  return out;
}

std::string format_groups(const CallTree& tree, const ReportLimits& limits) {
  struct Group {
    uint32_t node;
    size_t level;
  };
  std::vector<Group> pending{{0, 0}};
  std::vector<uint32_t> children;
  std::string out = fmt::format("{:>9}{:>12}\n", "share", "samples");
  while (!pending.empty()) {
    const Group group = pending.back();
    pending.pop_back();
    const CallNode& node = tree.nodes[group.node];
    if (group.node != 0)
      out += fmt::format("{:7.1f} %{:>12}  {:{}}{}\n", percent(node.total, tree.total()), grouped_digits(node.total), "", (group.level - 1) * 2,
                         sink::shortened(clean_text(tree.text(node.name)), limits.columns));
    children.clear();
    for (uint32_t at = node.first_child; at != 0; at = tree.nodes[at].next_sibling)
      if (tree.nodes[at].kind == NodeKind::kGroup) children.push_back(at);
    std::stable_sort(children.begin(), children.end(), [&](uint32_t a, uint32_t b) { return tree.nodes[a].total < tree.nodes[b].total; });
    for (const uint32_t at : children) pending.push_back({at, group.level + 1});
  }
  return out;
}

std::string format_tree(const CallTree& tree, const ReportLimits& limits) { return TreeText(tree, limits).format(); }

}  // namespace cicada::cli
