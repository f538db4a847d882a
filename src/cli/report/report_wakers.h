// SPDX-License-Identifier: Apache-2.0
// Who waits for whom: threads by name, the time that they waited, and who ended it. Pure.
#pragma once
#include <string>

#include "base/result.h"
#include "cli/report/report_text.h"
#include "profile/profile_merge.h"

namespace cicada::cli {

// Of the waits that are `wanted`: wakeups are of other threads. A row for each pair that waits and wakes, those with the most time first, with where the first one waits; then threads that wait for each other in
// a circle. Fails: kNotFound (the recording does not say who woke a thread).
Result<std::string> format_wakers(const profile::ProfileSnapshot& profile, const ReportLimits& limits, const profile::SampleFilter& wanted);

}  // namespace cicada::cli
