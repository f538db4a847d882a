// SPDX-License-Identifier: Apache-2.0
#include "cli/diff/diff_condition.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/clean_text.h"
#include "cli/diff/diff_table.h"
#include "cli/report/report_functions.h"
#include "cli/report/report_text.h"

namespace cicada::cli {
namespace {

// The false-discovery rate of profile_diff.h.
constexpr double kSignificant = 0.01;

bool applies(const profile::ProfileDiff& diff, const DiffCondition& condition, const TableNames& names, const profile::FunctionDelta& function) {
  return condition.function == "*" || names.means(diff.tree.text(function.name), condition.function);
}

}  // namespace

Result<DiffCondition> parse_condition(const std::string& text) {
  DiffCondition condition;
  const size_t sign = text.rfind('>');
  std::string name = text.substr(0, sign);
  if (name.starts_with("self:")) {
    condition.self = true;
    name = name.substr(5);
  }
  const Error malformed = make_error(ErrorKind::kInvalid, "--fail-if {}: expected [self:]FUNCTION>PERCENT%, like 'parse>5%' or '*>2%'", text);
  if (sign == std::string::npos || name.empty() || !text.ends_with('%')) return malformed;
  const char* const begin = text.data() + sign + 1;
  const char* const end = text.data() + text.size() - 1;
  const auto [stopped, error] = std::from_chars(begin, end, condition.percent, std::chars_format::fixed);
  if (error != std::errc() || stopped != end || !std::isfinite(condition.percent) || condition.percent < 0) return malformed;
  condition.function = name;
  return condition;
}

std::vector<std::string> find_violations(const profile::ProfileDiff& diff, const DiffCondition& condition, const TableNames& names) {
  std::vector<std::string> violations;
  const double whole = whole_of(diff);
  for (const profile::FunctionDelta& function : diff.functions) {
    if (!applies(diff, condition, names, function) || whole == 0) continue;
    const double growth = 100 * (condition.self ? function.self_change : function.total_change) / whole;
    // `significant` is corrected for asking about every function; one that was named beforehand is one question.
    const double p = condition.self ? function.self_p : function.total_p;
    const bool real = condition.function == "*" ? function.significant && p < kSignificant : p < kSignificant;
    if (growth > condition.percent && real)
      violations.push_back(fmt::format("{} grew by {:.1f} % ({}; at most {:g} % allowed)", clean_text(diff.tree.text(function.name)), growth,
                                       condition.self ? "itself" : "with what it calls", condition.percent));
  }
  return violations;
}

bool is_known(const profile::ProfileDiff& diff, const DiffCondition& condition, const TableNames& names) {
  return std::any_of(diff.functions.begin(), diff.functions.end(), [&](const auto& function) { return applies(diff, condition, names, function); });
}

}  // namespace cicada::cli
