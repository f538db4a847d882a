// SPDX-License-Identifier: Apache-2.0
#include "top/text_panes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/monotonic_clock.h"
#include "base/number_text.h"
#include "profile/completeness.h"
#include "top/look.h"

namespace cicada::top {
namespace {

constexpr size_t kMaxLines = 2000, kMaxLine = 4096;
constexpr uint64_t kOwnCostNs = 10'000'000'000;  // over which cicada's own cost is told
constexpr int kLeastForText = 50, kNarrow = 60;

constexpr std::pair<std::string_view, std::string_view> kHelp[] = {
    {"Tab, 1-6", "flame graph, functions, call tree, processes, health, output"},
    {"arrows", "move; Home: the zoomed box, End: along the heaviest path"},
    {"Enter", "zoom; of a function its callers; only that process"},
    {"Backspace", "zoom out, and back"},
    {"Escape", "takes one thing back: search, zoom, span, keep-only, process"},
    {"/  n  N", "search (regular expression); next, previous match"},
    {"k", "keep only stacks with a function that matches"},
    {"s", "callers and callees of what is picked"},
    {"a", "its source with costs; again: its instructions"},
    {"i", "inverted: from where time goes to who called it"},
    {"g", "group by program, process, thread, CPU, cgroup, user, image …"},
    {"d", "compare what comes now with what was before; again: no more"},
    {"m  M", "all, the last seconds, newer counts more; how many seconds"},
    {"[ ]  { }", "a span of time: move its begin, its end; or drag in the strip"},
    {"Space", "the view stands still; the recording goes on"},
    {"t", "processes: by cost, as a tree, by cgroup"},
    {"K", "frames of the kernel, or none"},
    {"p  e", "pause the recording, and resume it; the next event"},
    {"o  h", "another order of boxes or lines; call tree: the heaviest path"},
    {"l  x", "long or short names; dim what is not the programs' own code"},
    {"y  w", "copy the stack to the clipboard; write a picture or a recording"},
    {"q, Ctrl-C", "leave; what is recorded for this view ends"},
};

}  // namespace

void OutputPane::add(std::string_view bytes) {
  for (const char byte : bytes) {
    if (byte == '\x1b') escape_ = Escape::kBegun;
    else if (escape_ == Escape::kBegun) escape_ = byte == '[' ? Escape::kSequence : byte == ']' ? Escape::kText : Escape::kNone;
    else if (escape_ == Escape::kSequence) escape_ = byte >= 0x40 && byte <= 0x7e ? Escape::kNone : escape_;
    else if (escape_ == Escape::kText) escape_ = byte == '\a' || byte == '\n' ? Escape::kNone : escape_;
    else if (byte == '\n') lines_.emplace_back();
    else if (byte != '\r' && lines_.back().size() < kMaxLine) lines_.back() += byte;
  }
  if (lines_.size() > kMaxLines) lines_.erase(lines_.begin(), lines_.end() - static_cast<ptrdiff_t>(kMaxLines));
}

void OutputPane::draw(Grid& grid, const Rect& rect) {
  if (!has_any()) {
    grid.put(rect.x + 1, rect.y + rect.height / 2, "nothing was printed; this is for `cicada top -- COMMAND`", kSoft, rect.width - 2);
    return;
  }
  scroll_.fit(static_cast<int>(lines_.size()), rect.height);
  for (int i = 0; i < rect.height && scroll_.first() + i < static_cast<int>(lines_.size()); ++i) grid.put(rect.x, rect.y + i, lines_[static_cast<size_t>(scroll_.first() + i)], {}, rect.width);
}

void HealthPane::note_cpu(uint64_t recorder_ns) {
  used_.push_back({monotonic_ns(), recorder_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID)});
  while (used_.size() > 2 && used_.back().at - used_.front().at > kOwnCostNs) used_.pop_front();
}

std::vector<std::pair<std::string, std::string>> HealthPane::lines(const Model& model, const sink::PageState& page) const {
  const profile::ProfileSnapshot& now = model.profile();
  std::vector<std::pair<std::string, std::string>> lines;
  const auto completeness = profile::completeness(now);
  if (completeness.of != 0) lines.emplace_back("complete stacks", fmt::format("{} of {} samples", profile::percent_complete(completeness), grouped_digits(completeness.of)));
  if (const std::string why = profile::cut_reasons(now); !why.empty()) lines.emplace_back("  the others", why);
  for (const profile::Event& one : now.header.events) {
    if (const std::string rate = profile::rate_text(one); !rate.empty()) lines.emplace_back(one.name, fmt::format("{}, came {} times", rate, grouped_digits(one.fired)));
    for (const profile::Count& count : one.counts)
      if (count.value != 0) lines.emplace_back("  " + count.name, grouped_digits(count.value));
  }
  if (const double seconds = model.all_seconds(); seconds > 0 && model.has_times()) lines.emplace_back("rate", fmt::format("{:.1f} samples a second", static_cast<double>(now.totals_of(model.event()).samples) / seconds));
  lines.emplace_back("kept", fmt::format("{} samples{}; {} nodes of stacks, {} functions, {} processes, {} threads", grouped_digits(now.sample_count()), model.has_times() ? " of " + duration(model.all_seconds()) : "", grouped_digits(now.stacks().size()),
                                         grouped_digits(now.functions().size()), grouped_digits(now.processes().size()), grouped_digits(now.threads().size())));
  if (now.samples().dropped() != 0) lines.emplace_back("  older ones", fmt::format("{} samples went (--last)", grouped_digits(now.samples().dropped())));
  if (used_.size() > 1 && page.ended.empty()) {
    const Used &from = used_.front(), &to = used_.back();
    const auto cost = [&](uint64_t before, uint64_t after) { return fmt::format("{:.1f} % of a CPU", 100 * static_cast<double>(after - std::min(before, after)) / static_cast<double>(std::max<uint64_t>(to.at - from.at, 1))); };
    if (from.recorder != 0) lines.emplace_back("cicada itself", fmt::format("recorder {}, this view {}", cost(from.recorder, to.recorder), cost(from.view, to.view)));
    else lines.emplace_back("cicada itself", fmt::format("this view {}", cost(from.view, to.view)));
  }
  for (const std::string& warning : now.header.warnings) lines.emplace_back("note", warning);
  return lines;
}

void HealthPane::draw(Grid& grid, const Rect& rect, const Model& model, const sink::PageState& page) {
  const auto all = lines(model, page);
  const bool narrow = rect.width < kNarrow;  // then one behind the other
  int names = 0;
  for (const auto& [name, text] : all) names = std::max(names, columns_of(name) + 2);
  names = std::min(names, std::max(rect.width / 3, rect.width - kLeastForText));
  scroll_.fit(static_cast<int>(all.size()), rect.height);
  for (int i = 0; i < rect.height && scroll_.first() + i < static_cast<int>(all.size()); ++i) {
    const auto& [name, text] = all[static_cast<size_t>(scroll_.first() + i)];
    const int used = grid.put(rect.x + 1, rect.y + i, name, {.bold = true}, narrow ? rect.width : names - 1);
    const int x = rect.x + 1 + (narrow ? used + 1 : names);
    grid.put(x, rect.y + i, text, {}, rect.x + rect.width - x);
  }
}

void HelpPane::draw(Grid& grid) {
  const int lines = static_cast<int>(std::size(kHelp)), height = std::min(grid.height() - 1, lines + 1);
  scroll_.fit(lines, height - 1);
  grid.fill({0, 1, grid.width(), height}, {});
  grid.fill({0, 1, grid.width(), 1}, {.reverse = true});
  grid.put(1, 1, lines < height ? "keys (any key: back)" : "keys (↑ ↓ for the others; any other key: back)", {.bold = true, .reverse = true});
  for (int i = 0; i + 1 < height && scroll_.first() + i < lines; ++i) {
    const auto& [key, text] = kHelp[scroll_.first() + i];
    grid.put(1, 2 + i, key, {.bold = true}, 11);
    grid.put(13, 2 + i, text, {}, grid.width() - 13);
  }
}

}  // namespace cicada::top
