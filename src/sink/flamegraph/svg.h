// SPDX-License-Identifier: Apache-2.0
// The flame graph as one SVG file: a picture without scripts (in a README, in a mail), and with them searchable and zoomable.
// Source of the behaviour: svg.js; docs/viewer.md is its manual.
//
// Frames too narrow to be seen are left out (kMaxNodes at most are kept, never one that is wider than its sibling of
// another branch that was dropped), but a parent keeps their value: it is wider than its children.
#pragma once
#include <algorithm>

#include "sink/sink_registry.h"
#include "sink/flamegraph/svg_caption.h"

namespace cicada::sink {

// The other side of a comparison: the tree holds the values after, this the values before, by node.
struct Baseline {
  std::vector<uint64_t> self, total;
  // What a share is a share of. Zero: the total of each side. Otherwise growth of everything is seen, too: both relate to the rate before.
  double whole_before = 0, whole_after = 0;

  double before() const { return whole_before > 0 ? whole_before : std::max<double>(1, static_cast<double>(total[0])); }
  double after(const profile::CallTree& tree) const { return whole_after > 0 ? whole_after : std::max<double>(1, static_cast<double>(tree.total())); }
};

inline constexpr size_t kMaxNodes = 20000;
// `baseline`: draws differences (red more, blue less; the reader switches whose widths are drawn).
void append_flame_graph_svg(const profile::CallTree& tree, const Caption& caption, const Baseline* baseline, std::string& out);

std::unique_ptr<profile::Sink> make_svg_sink(std::string path, const SinkOptions& options);

}  // namespace cicada::sink
