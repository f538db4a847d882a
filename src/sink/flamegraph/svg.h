// SPDX-License-Identifier: Apache-2.0
// The flame graph as one SVG file: a picture without scripts (in a README, in a mail), and with them searchable and zoomable.
// What it answers with is the report's viewer (viewer/svg.js); docs/viewer.md is its manual.
//
// Frames too narrow to be seen are left out (kMaxNodes at most are kept, never one that is wider than its sibling of
// another branch that was dropped), but a parent keeps their value: it is wider than its children.
#pragma once
#include "sink/flamegraph/packed_profile.h"
#include "sink/flamegraph/short_names.h"
#include "sink/sink_registry.h"

namespace cicada::sink {

inline constexpr size_t kMaxNodes = 20000;
// `baseline`: draws differences (red more, blue less; the reader switches whose widths are drawn). `names`: of boxes that are too narrow for the whole
// name; scripts have their own.
void append_flame_graph_svg(const profile::CallTree& tree, const Caption& caption, const Baseline* baseline, std::string& out, const ShortNames& names = {});

std::unique_ptr<profile::Sink> make_svg_sink(std::string path, const SinkOptions& options);

}  // namespace cicada::sink
