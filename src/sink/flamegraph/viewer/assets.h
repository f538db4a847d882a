// SPDX-License-Identifier: Apache-2.0
// What runs in the browser, as text: embedded by cmake/embed.cmake from the files beside this one.
#pragma once
#include <string_view>

namespace cicada::sink {

extern const std::string_view kSvgStyle, kSvgScript;
// The report: before the title, between title and profile, after the profile.
extern const std::string_view kReportBeforeTitle, kReportBeforeProfile, kReportEnd;

}  // namespace cicada::sink
