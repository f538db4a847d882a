// SPDX-License-Identifier: Apache-2.0
#include "cli/diff_table.h"

#include <algorithm>
#include <cmath>

#include "base/clean_text.h"
#include "cli/report_text.h"
#include "sink/flamegraph/svg_caption.h"
#include "sink/flamegraph/svg_text.h"

namespace cicada::cli {
namespace {

using profile::FunctionDelta;

double size_of(const FunctionDelta& function) { return std::max(std::abs(function.self_change), std::abs(function.total_change)); }

std::string probability(const FunctionDelta& function) {
  const double p = std::min(function.self_p, function.total_p);
  return p < 1e-4 ? "<0.0001" : fmt::format("{:.4f}", p);
}

}  // namespace

double whole_of(const profile::ProfileDiff& diff) {
  const double before = static_cast<double>(diff.total.empty() ? 0 : diff.total[0].a) * diff.scale_a;
  return before > 0 ? before : 1;  // normalised: 1. Nothing before: whatever there is now is growth
}

std::string format_diff(const profile::ProfileDiff& diff, const DiffTableOptions& options) {
  const double whole = whole_of(diff);
  std::vector<const FunctionDelta*> shown;
  size_t noise = 0, significant = 0;
  for (const FunctionDelta& function : diff.functions) {
    if (size_of(function) == 0) continue;
    significant += function.significant;
    if (function.significant || options.all) shown.push_back(&function);
    else ++noise;
  }
  std::stable_sort(shown.begin(), shown.end(), [](const auto* a, const auto* b) { return size_of(*a) > size_of(*b); });
  std::string out = fmt::format("{} samples before, {} after\n", sink::grouped_digits(diff.samples.a), sink::grouped_digits(diff.samples.b));
  if (shown.empty()) {
    out += "no significant difference\n";
  } else {
    constexpr size_t kNumbers = 50;
    const size_t room = options.columns > kNumbers + 30 ? options.columns - kNumbers : 30;
    const auto percent = [&](double value) { return 100 * value / whole; };
    out += fmt::format("\n{:>18}{:>20}{:>10}\n{:>9}{:>9}{:>10}{:>10}{:>10}  function\n", "self", "total", "", "before", "change", "before", "change", "p");
    for (size_t i = 0; i < std::min(shown.size(), options.rows); ++i) {
      const FunctionDelta& function = *shown[i];
      out += fmt::format("{:8.2f}{:+9.2f} {:9.2f}{:+10.2f} {:>10} {} {}\n", percent(static_cast<double>(function.self.a) * diff.scale_a),
                         percent(function.self_change), percent(static_cast<double>(function.total.a) * diff.scale_a),
                         percent(function.total_change), probability(function), function.significant ? '*' : ' ',
                         sink::shortened(clean_text(diff.tree.text(function.name)), room));
    }
    if (shown.size() > options.rows) out += fmt::format("… {} more\n", shown.size() - options.rows);
    out += fmt::format("\n* significant: not explained by chance (false-discovery rate 1 %); {} of {}\n", significant, diff.functions.size());
  }
  if (noise != 0) out += fmt::format("{} smaller or uncertain changes are left out (--all shows them)\n", noise);
  return out;
}

}  // namespace cicada::cli
