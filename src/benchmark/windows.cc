// SPDX-License-Identifier: Apache-2.0
#include "benchmark/windows.h"

#include <algorithm>
#include <deque>
#include <map>

namespace cicada::benchmark {
namespace {

using Kind = Announcement::Kind;

// Starts wait for an end, ends wait for a name; which start an end belongs to is decided when a name comes, because only a name has a process.
class Assigner {
 public:
  // `rounds`: by process as the client knows it, by time.
  Assigner(Windows& out, const std::map<Pid, std::vector<Round>>& rounds, uint64_t since_boot_ns) : out_(out), rounds_(rounds), since_boot_ns_(since_boot_ns) {}

  void take(const Announcement& said) {
    switch (said.kind) {
      case Kind::kStart: start(said.time_ns); break;
      case Kind::kStop: stop(said.time_ns); break;
      case Kind::kCurrent: name(said); break;
      case Kind::kNobody:
        nobody_since_start_ = true;
        names_.clear();  // of who is gone: the next window is another client's
        break;
      default: break;
    }
  }

  void finish() {
    for (Open& open : open_) {
      const auto end = std::find_if(ends_.begin(), ends_.end(), [&](const End& one) { return one.time_ns > open.begin_ns; });
      if (open.name == nullptr || end == ends_.end()) continue;
      close(open, *open.name, end->time_ns);
      open.name = nullptr;
      open.begin_ns = kTaken;
      ends_.erase(end);
    }
    std::erase_if(open_, [](const Open& open) { return open.begin_ns == kTaken; });
    out_.unnamed += ends_.size();
    out_.abandoned += open_.size() - std::min(open_.size(), ends_.size());
  }

 private:
  static constexpr uint64_t kTaken = ~uint64_t{0};
  static constexpr size_t kMaxUnnamed = 256;  // clients name a window before the next one; each name is matched with all of these
  struct Open {
    uint64_t begin_ns = 0;
    const Announcement* name = nullptr;  // that came before
  };

  struct End {
    uint64_t time_ns = 0, busy_since_ns = 0;  // before the latter nothing was open
  };

  void close(const Open& open, const Announcement& name, uint64_t end_ns) {
    Window window;
    window.begin_ns = open.begin_ns;
    window.end_ns = end_ns;
    window.uri = name.uri;
    window.told_pid = name.told_pid;
    window.process = name.process;
    last_end_[name.told_pid] = end_ns;
    out_.windows.push_back(std::move(window));
  }

  void start(uint64_t time_ns) {
    if (nobody_since_start_ && open_.size() > ends_.size()) {  // whoever opened the rest is gone
      out_.abandoned += open_.size() - ends_.size();
      open_.resize(ends_.size());
    }
    nobody_since_start_ = false;
    if (open_.size() > ends_.size()) ++out_.simultaneous;
    else busy_since_ns_ = time_ns;
    open_.push_back({time_ns, names_.empty() ? nullptr : names_.front()});
    if (!names_.empty()) names_.pop_front();
  }

  void stop(uint64_t time_ns) {
    if (open_.size() <= ends_.size()) {
      ++out_.stray_stops;
      return;
    }
    if (std::all_of(open_.begin(), open_.end(), [](const Open& open) { return open.name != nullptr; })) {
      close(open_.front(), *open_.front().name, time_ns);
      open_.erase(open_.begin());
      return;
    }
    ends_.push_back({time_ns, busy_since_ns_});
    if (ends_.size() > kMaxUnnamed) {  // nobody is going to name the oldest
      ends_.erase(ends_.begin());
      open_.erase(std::find_if(open_.begin(), open_.end(), [](const Open& open) { return open.name == nullptr; }));
      ++out_.unnamed;
    }
    if (names_.empty()) return;
    const Announcement* waiting = names_.front();
    if (match(*waiting)) names_.pop_front();
  }

  void name(const Announcement& said) {
    if (!match(said)) names_.push_back(&said);
  }

  // A start that the process can have made: not before its last window ended; else, of a process that has several at a time, before.
  bool match(const Announcement& said) {
    const auto last = last_end_.find(said.told_pid);
    if (last == last_end_.end()) return match_since(said, 0);
    const uint64_t last_end = last->second;
    return match_since(said, last_end) || match_since(said, 0);
  }

  // The newest end, and a start not before the process was born. Of several the last before its first round; without rounds the first.
  bool match_since(const Announcement& said, uint64_t since_ns) {
    for (auto end = ends_.rbegin(); end != ends_.rend(); ++end) {
      const uint64_t since = std::max(end->busy_since_ns, since_ns);
      const uint64_t first_round = first_round_between(said.told_pid, since, end->time_ns);
      auto found = open_.end();
      for (auto open = open_.begin(); open != open_.end() && open->begin_ns < end->time_ns; ++open) {
        if (open->name != nullptr || open->begin_ns < since || open->begin_ns + since_boot_ns_ < said.process.start_ns) continue;
        if (found == open_.end() || (first_round != 0 && open->begin_ns <= first_round)) found = open;
      }
      if (found == open_.end()) continue;
      close(*found, said, end->time_ns);
      open_.erase(found);
      ends_.erase(std::next(end).base());
      return true;
    }
    return false;
  }

  uint64_t first_round_between(Pid pid, uint64_t since_ns, uint64_t until_ns) const {
    const auto of_process = rounds_.find(pid);
    if (of_process == rounds_.end()) return 0;
    const std::vector<Round>& all = of_process->second;
    const auto first = std::lower_bound(all.begin(), all.end(), since_ns, [](const Round& round, uint64_t time) { return round.begin_ns < time; });
    return first != all.end() && first->begin_ns < until_ns ? first->begin_ns : 0;
  }

  Windows& out_;
  const std::map<Pid, std::vector<Round>>& rounds_;
  const uint64_t since_boot_ns_;
  std::vector<Open> open_;      // by time
  std::vector<End> ends_;   // by time; each belongs to one of open_
  uint64_t busy_since_ns_ = 0;
  std::map<Pid, uint64_t> last_end_;
  std::deque<const Announcement*> names_;  // that came before their window
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

// The window around the round's middle: first of those of this process, then of any. `ends`: the latest end of all windows up to each.
Window* find_window(std::vector<Window>& windows, const std::vector<uint64_t>& ends, const Round& round, Pid told_pid) {
  const uint64_t middle = round.begin_ns + (round.end_ns - round.begin_ns) / 2;
  const auto after = std::upper_bound(windows.begin(), windows.end(), middle, [](uint64_t time, const Window& window) { return time < window.begin_ns; });
  Window* found = nullptr;
  for (auto i = static_cast<size_t>(after - windows.begin()); i-- > 0 && ends[i] > middle;) {
    if (middle >= windows[i].end_ns) continue;
    if (found == nullptr || windows[i].told_pid == told_pid || found->told_pid != told_pid) found = &windows[i];
  }
  return found;
}

}  // namespace

std::optional<uint64_t> find_cpu_time(std::span<const Window> windows, const Window& window, std::span<const Span> spans) {
  const auto holds = [](const Span& span, const Window& one) { return one.begin_ns < span.end_ns && span.begin_ns < one.end_ns; };
  const Span* found = nullptr;
  for (const Span& span : spans) {
    if (!holds(span, window)) continue;
    if (found != nullptr) return std::nullopt;
    found = &span;
  }
  if (found == nullptr || std::count_if(windows.begin(), windows.end(), [&](const Window& one) { return holds(*found, one); }) != 1) return std::nullopt;
  return found->cpu_ns;
}

Windows assign_windows(std::span<const Announcement> said, uint64_t end_ns, uint64_t since_boot_ns) {
  Windows out;
  std::map<Pid, std::vector<const Announcement*>> markers;
  for (const Announcement& one : said)
    if (one.kind == Kind::kRoundStart || one.kind == Kind::kRoundEnd) markers[one.told_pid].push_back(&one);
  std::map<Pid, std::vector<Round>> rounds;
  for (auto& [pid, of_process] : markers) rounds[pid] = pair_rounds(std::move(of_process));
  Assigner assigner(out, rounds, since_boot_ns);
  for (const Announcement& one : said) assigner.take(one);
  assigner.finish();
  std::erase_if(out.windows, [&](const Window& window) { return window.begin_ns >= end_ns; });
  std::stable_sort(out.windows.begin(), out.windows.end(), [](const Window& a, const Window& b) { return a.begin_ns < b.begin_ns; });
  std::vector<uint64_t> ends;
  for (size_t i = 0; i < out.windows.size(); ++i) {
    Window& window = out.windows[i];
    window.overlaps = (i > 0 && window.begin_ns < ends.back()) || (i + 1 < out.windows.size() && out.windows[i + 1].begin_ns < window.end_ns);
    ends.push_back(std::max(i > 0 ? ends.back() : 0, window.end_ns));
  }
  for (const auto& [pid, of_process] : rounds) {
    for (const Round& round : of_process) {
      if (Window* window = find_window(out.windows, ends, round, pid)) window->rounds.push_back(round);
      else ++out.stray_rounds;
    }
  }
  return out;
}

}  // namespace cicada::benchmark
