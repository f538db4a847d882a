// SPDX-License-Identifier: Apache-2.0
// The rows of one image while they are made.
#pragma once
#include <vector>

#include "unwind/rows/rule_set.h"
#include "unwind/rows/unwind_rows.h"

namespace cicada::unwind {

struct RowTable {
  LinkAddr base;  // a multiple of 64 KiB
  std::vector<Row> rows;  // ascending; neighbours differ
  RuleSet rules;
  RowStats stats;
};

}  // namespace cicada::unwind
