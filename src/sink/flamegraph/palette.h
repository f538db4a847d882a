// SPDX-License-Identifier: Apache-2.0
// The colours of every picture: by kind of frame, four shades each, and of differences. The scripts get them with the profile.
#pragma once
#include <array>
#include <string>
#include <string_view>

#include "profile/call_tree.h"

namespace cicada::sink {

struct KindStyle {
  std::string_view text;
  std::array<std::string_view, 4> shades;
};
// In the order of profile::NodeKind.
inline constexpr std::array<KindStyle, 10> kKinds = {{{"all", {"#c9d1de", "#bfc8d7", "#d3dae5", "#b7c1d1"}},
                                                      {"group", {"#c9d1de", "#bfc8d7", "#d3dae5", "#b7c1d1"}},
                                                      {"native", {"#ffb067", "#ffa457", "#ffbc7d", "#fb9a4b"}},
                                                      {"library", {"#ffd966", "#f8cd4f", "#ffe187", "#f1c644"}},
                                                      {"inlined", {"#ffd9bd", "#ffd0ae", "#ffe2cc", "#fbc9a4"}},
                                                      {"JIT", {"#8fdcae", "#7fd3a1", "#a3e4bd", "#73c996"}},
                                                      {"interpreted", {"#8edbd8", "#7dd1ce", "#a4e4e1", "#72c7c4"}},
                                                      {"kernel", {"#a9b8ff", "#9badfa", "#b9c5ff", "#8fa3f5"}},
                                                      {"marker", {"#e0b4ea", "#d8a6e4", "#e8c4f0", "#d19bdf"}},
                                                      {"unknown", {"#d5d5d5", "#cbcbcb", "#dedede", "#c3c3c3"}}}};

// Of waiting, by state: two shades of the program's functions, two of the kernel's. A state without colours of its own has those of "other".
const KindStyle& style_of_state(std::string_view state);

// State × 64 + kind × 4 + shade; the state as CallTree::state_of_node, 0 for markers between stacks and the root. A function keeps its shade from one picture
// to the next, and neighbours are told apart.
uint32_t style_of(const profile::CallTree& tree, uint32_t node);
std::string_view colour_of(const profile::CallTree& tree, uint32_t style);
// The same where the tree has no states itself: the node's is that one; empty: none.
std::string_view colour_of_node(const profile::CallTree& tree, uint32_t node, std::string_view state);
// The first of the shades that it could have.
std::string_view colour_of_kind(profile::NodeKind kind, std::string_view state);

// From 0 (blue: less than before) over grey to kHeatSteps - 1 (red: more). Pale where the samples do not carry the
// difference (below three standard errors). The values are of one node, `all_…` what they are shares of.
inline constexpr uint32_t kHeatSteps = 33;
uint32_t heat_step(double after, double before, double all_after, double all_before);
std::string heat_colour(uint32_t step);

}  // namespace cicada::sink
