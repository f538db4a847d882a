// SPDX-License-Identifier: Apache-2.0
// `--fail-if '[self:]NAME>PERCENT%'`: what a comparison must not show. NAME is meant as for `report --callers`; `*` is every
// function. PERCENT of what A cost as a whole: by how much the function's cost (its share, with --per share) may grow. With what it calls, unless "self:" stands before it.
// Only significant growth counts: noise does not fail a build.
#pragma once
#include <string>
#include <vector>

#include "cli/table_names.h"
#include "profile/profile_diff.h"

namespace cicada::cli {

struct DiffCondition {
  std::string function;
  double percent = 0;
  bool self = false;
};

// Split at the last '>', because names have some, too. Fails (kInvalid).
Result<DiffCondition> parse_condition(const std::string& text);

// A line for each function that violates the condition; empty: it holds.
std::vector<std::string> find_violations(const profile::ProfileDiff& diff, const DiffCondition& condition, const TableNames& names = {});
// Whether either side knows the function: a misspelt condition always holds.
bool is_known(const profile::ProfileDiff& diff, const DiffCondition& condition, const TableNames& names = {});

}  // namespace cicada::cli
