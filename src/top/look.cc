// SPDX-License-Identifier: Apache-2.0
#include "top/look.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/number_text.h"
#include "profile/cpu_time.h"
#include "profile/frame_text.h"
#include "sink/flamegraph/palette.h"

namespace cicada::top {

using profile::CallNode;
using profile::NodeKind;

namespace {

constexpr size_t kMaxRemembered = 1 << 16;  // names
constexpr std::string_view kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
constexpr std::string_view kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// "#rrggbb" or "rgb(r,g,b)".
uint32_t to_rgb(std::string_view text) {
  uint32_t rgb = 0;
  if (text.starts_with('#')) {
    std::from_chars(text.data() + 1, text.data() + text.size(), rgb, 16);
    return rgb;
  }
  for (const char* at = text.data() + 4; at < text.data() + text.size(); ++at) {
    uint32_t part = 0;
    at = std::from_chars(at, text.data() + text.size(), part).ptr;
    rgb = rgb << 8 | (part & 255);
  }
  return rgb;
}

}  // namespace

void Look::update(const Model& model) {
  const profile::ProfileSnapshot& now = model.profile();
  if (!short_ || now.sizes().lineage != lineage_) {
    short_ = std::make_unique<sink::ShortNames>();
    functions_ = 0;
    lineage_ = now.sizes().lineage;
    shown_.clear();
  }
  borrowed_ = model.shared_profile();
  short_->add(now, functions_);
  functions_ = now.functions().size();
  if (shown_.size() > kMaxRemembered) shown_.clear();
  if (matches_.size() > kMaxRemembered) matches_.clear();
}

Result<void> Look::search(const std::string& pattern) {
  std::optional<Pattern> regex;
  if (!pattern.empty()) regex = TRY(Pattern::compile(pattern));
  regex_ = std::move(regex);
  pattern_ = pattern;
  matches_.clear();
  return {};
}

void Look::set_full_names(bool full) { full_names_ = full; }

std::string Look::name(std::string_view name) {
  const std::string_view begin = name.substr(0, Pattern::kLookedAt);
  if (full_names_ || !short_ || name.size() > begin.size()) return std::string(begin);
  const auto [found, added] = shown_.try_emplace(std::string(name));
  if (added) found->second = short_->of(name);
  return found->second;
}

bool Look::matches(std::string_view name) {
  if (!regex_) return false;
  const auto [found, added] = matches_.try_emplace(std::string(name.substr(0, Pattern::kLookedAt)));
  if (added) found->second = regex_->matches(name);
  return found->second;
}

double Look::matched_share(const Model& model) {
  const profile::CallTree& tree = model.tree();
  if (!regex_ || model.costs().whole() == 0) return 0;
  double sum = 0;
  std::vector<bool> inside(tree.nodes.size());
  std::vector<int8_t> of_name(tree.strings.size(), -1);
  for (size_t i = 1; i < tree.nodes.size(); ++i) {
    const CallNode& node = tree.nodes[i];
    inside[i] = inside[node.parent];
    if (inside[i] || model.costs().total[i] == 0 || !node.name.valid()) continue;
    int8_t& match = of_name[node.name.value];
    if (match < 0) match = matches(tree.text(node.name)) ? 1 : 0;
    if (match == 0) continue;
    inside[i] = true;
    sum += model.costs().total[i];
  }
  return sum / model.costs().whole();
}

Style Look::style_of_change(const Model& model, double now, double before) const {
  if (model.before() == nullptr || !colours) return {};
  const double whole = model.costs().whole(), whole_before = model.before()->whole();
  if (whole <= 0 || whole_before <= 0) return {};
  const uint32_t step = sink::heat_step(now, before, whole, whole_before);
  return step == sink::kHeatSteps / 2 ? Style{} : Style{.ink = kInk, .ground = to_rgb(sink::heat_colour(step))};
}

Style Look::style_of_box(const Model& model, const Boxes& boxes, uint32_t box, bool has_text) {
  const Boxes::Box& one = boxes[box];
  const CallNode& node = boxes.tree().nodes[one.node];
  Style style{.ink = kInk};
  if (boxes.before() != nullptr) {
    const double whole = boxes.costs().whole(), before = boxes.before()->whole();
    const uint32_t step = whole > 0 && before > 0 ? sink::heat_step(one.total, one.before, whole, before) : sink::kHeatSteps / 2;
    style.ground = to_rgb(sink::heat_colour(step));
  } else {
    const std::string_view state = model.state_of(one.node);
    style.ground = to_rgb(has_text ? sink::colour_of_node(boxes.tree(), one.node, state) : sink::colour_of_kind(node.kind, state));
  }
  if (own_code && is_foreign(node)) {
    style.dim = true;
    style.ground = 0xd0d0d0;
    style.ink = 0x606060;
  }
  if (regex_ && matches(boxes.name(box))) style.ground = kMatchGround;
  return style;
}

std::string percent(double part, double whole) { return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "-"; }

std::string amount(const Model& model, double cost) {
  if (cost == 0) return "0";
  const profile::ProfileSnapshot& profile = model.profile();
  if (const double seconds = profile::seconds_per_value(profile, model.event()); seconds > 0) return seconds_text(cost * seconds);
  const profile::Unit unit = profile.event(model.event()).unit;
  if (unit == profile::Unit::kNanoseconds) return seconds_text(cost * 1e-9);
  return fmt::format("{} {}", grouped_digits(static_cast<uint64_t>(std::llround(cost))), profile::unit_text(unit));
}

std::string short_amount(const Model& model, double cost) {
  const profile::ProfileSnapshot& profile = model.profile();
  if (profile::seconds_per_value(profile, model.event()) > 0 || profile.event(model.event()).unit == profile::Unit::kNanoseconds) return amount(model, cost);
  if (profile.event(model.event()).unit == profile::Unit::kBytes) return bytes_text(cost);
  for (const auto& [size, letter] : {std::pair(1e12, 'T'), {1e9, 'G'}, {1e6, 'M'}})
    if (cost >= size) return fmt::format("{:.3g} {}", cost / size, letter);
  return grouped_digits(static_cast<uint64_t>(std::llround(cost)));
}

std::string cpus(const Model& model, double cost) {
  const double per_value = profile::seconds_per_value(model.profile(), model.event()), seconds = model.counted_seconds();
  return cost > 0 && per_value > 0 && seconds > 0 ? fmt::format("{:.2f} CPUs", cost * per_value / seconds) : "";
}

std::string duration(double exactly) {
  const auto seconds = static_cast<uint64_t>(exactly);
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
}

std::string bar(double share, int columns) {
  const auto eighths = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * 8 * columns));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  return text += kEighths[eighths % 8];
}

std::string sparkline(const std::vector<double>& values, double most) {
  std::string text;
  for (const double value : values) text += kBars[value <= 0 || most <= 0 ? 0 : std::clamp<long>(std::lround(8 * value / most), 1, 8)];
  return text;
}

std::string place_of(const profile::CallTree& tree, const CallNode& node) {
  if (node.file.valid()) return node.line != 0 ? fmt::format("{}:{}", profile::file_name(tree.text(node.file)), node.line) : std::string(profile::file_name(tree.text(node.file)));
  return node.image.valid() ? std::string(profile::file_name(tree.text(node.image))) : "";
}

void draw_cursor(Grid& grid, const Rect& rect, int y, const Look& look) {
  grid.restyle({rect.x, y, rect.width, 1}, look.colours ? kPicked : Style{.bold = true, .reverse = true});
}

Path path_of(const Boxes& boxes, uint32_t box) {
  Path path;
  for (; box != 0; box = boxes[box].parent) path.emplace_back(boxes.name(box));
  std::reverse(path.begin(), path.end());
  return path;
}

uint32_t find_path(Boxes& boxes, const Path& path, bool* whole) {
  uint32_t box = 0;
  if (whole != nullptr) *whole = true;
  for (const std::string& name : path) {
    const uint32_t next = boxes.find(box, name);
    if (next == Boxes::kNone) {
      if (whole != nullptr) *whole = false;
      break;
    }
    box = next;
  }
  return box;
}

}  // namespace cicada::top
