// SPDX-License-Identifier: Apache-2.0
#include "benchmark/windows.h"

#include <algorithm>
#include <deque>
#include <map>

namespace cicada::benchmark {
namespace {

using Kind = Announcement::Kind;

class Assigner {
 public:
  Assigner(Windows& out, uint64_t since_boot_ns) : out_(out), since_boot_ns_(since_boot_ns) {}

  void take(const Announcement& said) {
    switch (said.kind) {
      case Kind::kStart: start(said.time_ns); break;
      case Kind::kStop: stop(said.time_ns); break;
      case Kind::kCurrent: name(said); break;
      case Kind::kNobody: nobody_since_start_ = true; break;
      default: break;
    }
  }

 private:
  static void give(Window& window, const Announcement& name) {
    window.uri = name.uri;
    window.told_pid = name.told_pid;
    window.process = name.process;
  }

  void start(uint64_t time_ns) {
    if (nobody_since_start_) {  // whoever opened these is gone
      out_.abandoned += open_.size();
      open_.clear();
    }
    nobody_since_start_ = false;
    out_.duplicate_starts += open_.empty() ? 0 : 1;
    open_.emplace_back();
    open_.back().begin_ns = time_ns;
    if (names_.empty()) return;
    give(open_.back(), names_.front());
    names_.pop_front();
  }

  void stop(uint64_t time_ns) {
    if (open_.empty()) {
      ++out_.stray_stops;
      return;
    }
    Window window = std::move(open_.back());
    open_.pop_back();
    window.end_ns = time_ns;
    if (window.uri.empty() && !names_.empty()) {
      give(window, names_.front());
      names_.pop_front();
    }
    out_.windows.push_back(std::move(window));
  }

  void name(const Announcement& said) {
    const auto fits = [&](const Window& window) { return window.uri.empty() && window.begin_ns + since_boot_ns_ >= said.process.start_ns; };
    const auto newest = std::find_if(out_.windows.rbegin(), out_.windows.rend(), fits);
    if (newest == out_.windows.rend()) names_.push_back(said);
    else give(*newest, said);
  }

  Windows& out_;
  const uint64_t since_boot_ns_;
  std::vector<Window> open_;
  std::deque<Announcement> names_;  // that came before their window
  bool nobody_since_start_ = false;
};

// Starts and ends of one process, matched in the order of their time.
std::vector<Round> pair_rounds(std::vector<const Announcement*> markers) {
  std::stable_sort(markers.begin(), markers.end(), [](const Announcement* a, const Announcement* b) { return a->time_ns < b->time_ns; });
  std::vector<Round> rounds;
  std::deque<uint64_t> begun;
  for (const Announcement* marker : markers) {
    if (marker->kind == Kind::kRoundStart) {
      begun.push_back(marker->time_ns);
    } else if (!begun.empty()) {
      rounds.push_back({begun.front(), marker->time_ns});
      begun.pop_front();
    }
  }
  return rounds;
}

// The window around the round's middle: first of those of this process, then of any.
Window* find_window(std::vector<Window>& windows, const Round& round, Pid told_pid) {
  const uint64_t middle = round.begin_ns + (round.end_ns - round.begin_ns) / 2;
  Window* found = nullptr;
  for (Window& window : windows) {
    if (middle < window.begin_ns || middle >= window.end_ns) continue;
    if (window.told_pid == told_pid) return &window;
    if (found == nullptr) found = &window;
  }
  return found;
}

}  // namespace

Windows assign_windows(std::span<const Announcement> said, uint64_t end_ns, uint64_t since_boot_ns) {
  Windows out;
  Assigner assigner(out, since_boot_ns);
  std::map<Pid, std::vector<const Announcement*>> markers;
  for (const Announcement& one : said) {
    assigner.take(one);
    if (one.kind == Kind::kRoundStart || one.kind == Kind::kRoundEnd) markers[one.told_pid].push_back(&one);
  }
  const size_t finished = out.windows.size();
  const auto starts = std::count_if(said.begin(), said.end(), [](const Announcement& one) { return one.kind == Kind::kStart; });
  out.abandoned = static_cast<uint64_t>(starts) - finished;
  out.unnamed = static_cast<uint64_t>(std::count_if(out.windows.begin(), out.windows.end(), [](const Window& window) { return window.uri.empty(); }));
  std::erase_if(out.windows, [&](const Window& window) { return window.uri.empty() || window.begin_ns >= end_ns; });
  std::stable_sort(out.windows.begin(), out.windows.end(), [](const Window& a, const Window& b) { return a.begin_ns < b.begin_ns; });
  uint64_t busy_until = 0;
  for (size_t i = 0; i < out.windows.size(); ++i) {
    Window& window = out.windows[i];
    window.overlaps = window.begin_ns < busy_until;
    for (size_t k = i; window.overlaps && k-- > 0;) out.windows[k].overlaps |= out.windows[k].end_ns > window.begin_ns;
    busy_until = std::max(busy_until, window.end_ns);
  }
  for (const auto& [pid, of_process] : markers) {
    for (const Round& round : pair_rounds(of_process)) {
      if (Window* window = find_window(out.windows, round, pid)) window->rounds.push_back(round);
      else ++out.stray_rounds;
    }
  }
  return out;
}

}  // namespace cicada::benchmark
