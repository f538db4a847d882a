// SPDX-License-Identifier: Apache-2.0
#include "sink/flamegraph/palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cicada::sink {
namespace {

constexpr std::array<KindStyle, 9> kStates = {{{"lock", {"#f4a9a4", "#ef9e98", "#e0837c", "#d87970"}},
                                               {"io", {"#a2ddc3", "#97d5ba", "#79c4a4", "#6fbb9a"}},
                                               {"sleep", {"#c5d0e2", "#bbc8dc", "#a3b4cd", "#99abc6"}},
                                               {"disk", {"#f0bd8f", "#eab483", "#d99d66", "#d1945c"}},
                                               {"page fault", {"#f3b5d8", "#edaad0", "#dd8fbc", "#d486b3"}},
                                               {"runnable", {"#f8e28e", "#f3da7f", "#e3c75b", "#dabe52"}},
                                               {"preempted", {"#d5e28e", "#cbda80", "#b6c65e", "#adbd55"}},
                                               {"stopped", {"#d9d9d9", "#cfcfcf", "#b8b8b8", "#aeaeae"}},
                                               {"other", {"#e5dbc8", "#ddd2bd", "#c8ba9c", "#bfb193"}}}};

}  // namespace

const KindStyle& style_of_state(std::string_view state) {
  const auto* found = std::ranges::find(kStates, state, &KindStyle::text);
  return found != kStates.end() ? *found : kStates.back();
}

namespace {

uint32_t shade_of(std::string_view name) {
  uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
  return (hash >> 13) & 3;
}

// Of a node in a state.
uint32_t shade_in_state(uint32_t shade, profile::NodeKind kind) { return (shade & 1) | (kind == profile::NodeKind::kKernel ? 2 : 0); }

bool may_wait(profile::NodeKind kind) { return kind != profile::NodeKind::kRoot && kind != profile::NodeKind::kMarker; }

std::string_view colour_of_shade(profile::NodeKind kind, std::string_view state, uint32_t shade) {
  return !state.empty() && may_wait(kind) ? style_of_state(state).shades[shade_in_state(shade, kind)] : kKinds[static_cast<size_t>(kind)].shades[shade];
}

}  // namespace

uint32_t style_of(const profile::CallTree& tree, uint32_t at) {
  const profile::CallNode& node = tree.nodes[at];
  const uint32_t shade = shade_of(tree.text(node.name)), state = !tree.state_of_node.empty() && may_wait(node.kind) ? tree.state_of_node[at] : 0;
  return state << 6 | static_cast<uint32_t>(node.kind) << 2 | (state != 0 ? shade_in_state(shade, node.kind) : shade);
}

std::string_view colour_of(const profile::CallTree& tree, uint32_t style) {
  const uint32_t state = style >> 6, shade = style & 3;
  return state != 0 ? style_of_state(tree.text(tree.states[state - 1])).shades[shade] : kKinds[style >> 2].shades[shade];
}

std::string_view colour_of_node(const profile::CallTree& tree, uint32_t at, std::string_view state) {
  return colour_of_shade(tree.nodes[at].kind, state, shade_of(tree.text(tree.nodes[at].name)));
}

std::string_view colour_of_kind(profile::NodeKind kind, std::string_view state) { return colour_of_shade(kind, state, 0); }

uint32_t heat_step(double after, double before, double all_after, double all_before) {
  const double a = after / all_after, b = before / all_before;
  const double most = std::max(a, b), error = std::sqrt(a / all_after + b / all_before);
  const double d = most == 0 ? 0 : (a - b) / most * std::min(1.0, std::abs(a - b) / (error == 0 ? 1 : error) / 3);
  return static_cast<uint32_t>(std::lround((d + 1) * (kHeatSteps / 2)));
}

std::string heat_colour(uint32_t step) {
  const double d = static_cast<double>(step) / (kHeatSteps / 2) - 1;
  const auto mix = [&](double from, double to) { return std::lround(from + (to - from) * std::sqrt(std::abs(d))); };
  return d >= 0 ? fmt::format("rgb({},{},{})", mix(236, 240), mix(232, 84), mix(228, 70))
                : fmt::format("rgb({},{},{})", mix(236, 84), mix(232, 132), mix(228, 240));
}

}  // namespace cicada::sink
