// SPDX-License-Identifier: Apache-2.0
// What runs in the browser, as text: embedded by cmake/embed.cmake from the files beside this one.
#pragma once
#include <string_view>

namespace cicada::sink {

// Scripts are packed with gzip_text() into an element with the id "viewer"; kBootScript runs them.
extern const std::string_view kSvgStyle, kSvgScript, kReportScript, kBootScript;
// The report's page, cut where title, formats to download (of live pages), profile and packed script belong.
extern const std::string_view kReportBeforeTitle, kReportBeforeFormats, kReportBeforeProfile, kReportBeforeViewer, kReportEnd;
// The live page, likewise, and its policy.
extern const std::string_view kLiveScript, kLivePolicy, kLiveBeforeTitle, kLiveBeforeFormats, kLiveBeforeProfile, kLiveBeforeViewer, kLiveEnd;

}  // namespace cicada::sink
