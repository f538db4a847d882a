// SPDX-License-Identifier: Apache-2.0
// Where each thread spent its time: on a CPU, and in each state in which it waited. Pure.
#pragma once
#include <string>

#include "base/result.h"
#include "cli/report/report_text.h"

namespace cicada::cli {

// A row a thread, those with the most time first; a column a state, likewise, and as many as the width allows: the others are one. Time on a CPU is there
// where the recording has an event that counts it. Fails: kNotFound (no event is the time that threads wait).
Result<std::string> format_states(const profile::ProfileSnapshot& profile, const ReportLimits& limits);

}  // namespace cicada::cli
