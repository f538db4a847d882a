// SPDX-License-Identifier: Apache-2.0
// The report: one HTML file with the profile inside and the viewer (viewer/), no network, a policy that allows nothing else.
// docs/viewer.md describes the packed profile.
#pragma once
#include <span>

#include "sink/flamegraph/packed_profile.h"
#include "sink/sink_registry.h"

namespace cicada::sink {

// `leaf_of_sample` as build_call_tree gives it for this tree.
void append_report_html(const profile::ProfileSnapshot& profile, const profile::CallTree& tree,
                        std::span<const uint32_t> leaf_of_sample, const Caption& caption, std::string& out);
// A comparison has no samples: the tree's values are those after, `baseline` those before.
void append_diff_report_html(const profile::CallTree& tree, const Baseline& baseline, const Caption& caption, std::string& out);

// The page that follows a recording (page_feed.h) from where it was loaded; `formats` are what it offers to save. The policy that is in it.
std::string live_page_html(std::string_view title, const std::span<const Format> formats);
std::string_view live_page_policy();

std::unique_ptr<profile::Sink> make_html_sink(std::string path, const SinkOptions& options);

}  // namespace cicada::sink
