// SPDX-License-Identifier: Apache-2.0
#include "cli/diff/diff_table.h"

#include <algorithm>
#include <cmath>

#include "base/clean_text.h"
#include "base/number_text.h"
#include "profile/cpu_time.h"
#include "sink/flamegraph/svg_text.h"

namespace cicada::cli {
namespace {

using profile::FunctionDelta;

double size_of(const FunctionDelta& function) { return std::max(std::abs(function.self_change), std::abs(function.total_change)); }

std::string probability(const FunctionDelta& function) {
  const double p = std::min(function.self_p, function.total_p);
  return p < 1e-4 ? "<0.0001" : fmt::format("{:.4f}", p);
}

// What changed only as a part of a whole that changed, and what changed that most.
std::string displaced_text(const profile::ProfileDiff& diff, size_t count) {
  const auto one = std::find_if(diff.functions.begin(), diff.functions.end(), [](const FunctionDelta& function) { return function.displaced; });
  if (count == 0 || one == diff.functions.end()) return {};
  const bool shrank = one->self_change < 0 || one->total_change < 0;
  const auto [least, most] = std::minmax_element(diff.functions.begin(), diff.functions.end(), [](const auto& x, const auto& y) { return x.self_change < y.self_change; });
  const FunctionDelta& cause = shrank ? *most : *least;
  return fmt::format("{} share{} {} only because others {} ({} by {:.2f} points): left out (--all shows them)\n", count, count == 1 ? "" : "s", shrank ? "shrank" : "grew",
                     shrank ? "grew" : "shrank", sink::shortened(clean_text(diff.tree.text(cause.name)), 60), 100 * std::abs(cause.self_change));
}

}  // namespace

double whole_of(const profile::ProfileDiff& diff) {
  const double before = static_cast<double>(diff.total.empty() ? 0 : diff.total[0].a) * diff.scale_a;
  return before > 0 ? before : 1;  // shares: 1. Nothing before: whatever there is now is growth
}

std::string format_whole(const DiffSide& a, const DiffSide& b, const profile::ProfileDiff& diff, profile::Per per) {
  const auto counts = fmt::format("{} samples before, {} after", grouped_digits(diff.samples.a), grouped_digits(diff.samples.b));
  if (per == profile::Per::kShare) return fmt::format("shares of each recording: {}\n", counts);
  const auto values = [](double before, double after, bool seconds, std::string_view what) {
    const auto text = [&](double value) { return seconds ? seconds_text(value) : fmt::format("{:.6g}", value); };
    const std::string change = before > 0 ? fmt::format(" ({:+.1f} %)", 100 * (after - before) / before) : "";
    return fmt::format("{} → {} {}{}", text(before), text(after), what, change);
  };
  const profile::EventId event = profile::main_event(a.profile);
  const bool seconds = profile::seconds_per_value(a.profile, event) > 0 && profile::seconds_per_value(b.profile, event) > 0;
  std::string out = fmt::format("per {}: {}", per == profile::Per::kRun ? "run" : "second",
                                values(static_cast<double>(diff.total[0].a) * diff.scale_a, static_cast<double>(diff.total[0].b) * diff.scale_b, seconds,
                                       seconds ? "of CPU" : profile::unit_text(a.profile.event(event).unit)));
  const auto wall = [](const DiffSide& side) { return static_cast<double>(side.profile.header.runs_ns) / 1e9 / static_cast<double>(side.profile.header.runs); };
  if (per == profile::Per::kRun && a.profile.header.runs != 0 && b.profile.header.runs != 0) out += ", " + values(wall(a), wall(b), true, "of wall time");
  return out + fmt::format("; percent of what it cost before\n{}\n", counts);
}

std::string format_diff(const profile::ProfileDiff& diff, const DiffTableOptions& options) {
  const double whole = whole_of(diff);
  std::vector<const FunctionDelta*> shown;
  size_t noise = 0, significant = 0, displaced = 0;
  for (const FunctionDelta& function : diff.functions) {
    if (size_of(function) == 0) continue;
    significant += function.significant;
    if (function.significant || options.all) shown.push_back(&function);
    else ++(function.displaced ? displaced : noise);
  }
  std::stable_sort(shown.begin(), shown.end(), [](const auto* a, const auto* b) { return size_of(*a) > size_of(*b); });
  std::string out;
  if (shown.empty()) {
    out += "no significant difference\n";
  } else {
    constexpr size_t kNumbers = 50;
    const size_t room = options.columns > kNumbers + 30 ? options.columns - kNumbers : 30;
    const auto percent = [&](double value) { return 100 * value / whole; };
    out += fmt::format("\n{:>18}{:>20}{:>10}\n{:>9}{:>9}{:>10}{:>10}{:>10}  function\n", "self", "total", "", "before", "change", "before", "change", "p");
    const size_t rows = std::min(shown.size(), options.rows);
    std::vector<TableNames::Row> names;
    for (size_t i = 0; i < rows; ++i) names.push_back({diff.tree.text(shown[i]->name), room});
    const std::vector<std::string> texts = options.names.fit(names);
    for (size_t i = 0; i < rows; ++i) {
      const FunctionDelta& function = *shown[i];
      out += fmt::format("{:8.2f}{:+9.2f} {:9.2f}{:+10.2f} {:>10} {} {}\n", percent(static_cast<double>(function.self.a) * diff.scale_a),
                         percent(function.self_change), percent(static_cast<double>(function.total.a) * diff.scale_a),
                         percent(function.total_change), probability(function), function.significant ? '*' : ' ',
                         texts[i]);
    }
    if (shown.size() > options.rows) out += fmt::format("… {} more\n", shown.size() - options.rows);
    out += fmt::format("\n* significant: not explained by chance (false-discovery rate 1 %); {} of {}\n", significant, diff.functions.size());
  }
  out += displaced_text(diff, displaced);
  if (noise != 0) out += fmt::format("{} smaller or uncertain changes are left out (--all shows them)\n", noise);
  return out;
}

}  // namespace cicada::cli
