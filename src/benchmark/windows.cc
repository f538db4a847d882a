// SPDX-License-Identifier: Apache-2.0
#include "benchmark/windows.h"

#include <algorithm>
#include <deque>
#include <map>

namespace cicada::benchmark {
namespace {

using Kind = Announcement::Kind;

// Of one client, in the order in which it came.
class Assigner {
 public:
  explicit Assigner(std::vector<Window>& out) : out_(out) {}

  void take(const Announcement& said) {
    switch (said.kind) {
      case Kind::kStart: start(said); break;
      case Kind::kStop: stop(said); break;
      case Kind::kCurrent: name(said); break;
      case Kind::kNobody:
        nobody_since_start_ = true;
        names_.clear();  // of who is gone: the next window is another client's
        break;
      default: break;
    }
  }

  void finish() {
    while (!open_.empty()) abandon();
    while (!ended_.empty()) leave_unnamed();
    left_.insert(left_.end(), names_.begin(), names_.end());
  }

  // After finish(): what belongs to no window, in any order.
  const std::vector<const Announcement*>& left() const { return left_; }
  uint64_t stray_stops() const { return stray_stops_; }
  uint64_t unnamed() const { return unnamed_; }
  uint64_t abandoned() const { return abandoned_; }

 private:
  static constexpr size_t kMaxUnnamed = 256;  // clients name a window before the next one
  struct Open {
    const Announcement* start = nullptr;
    const Announcement* name = nullptr;  // that came before
  };
  struct Ended {
    const Announcement *start = nullptr, *end = nullptr;
  };

  void close(const Ended& ended, const Announcement& name) {
    Window window;
    window.begin_ns = ended.start->time_ns;
    window.end_ns = ended.end->time_ns;
    window.uri = name.uri;
    window.told_pid = name.told_pid;
    window.process = name.process;
    out_.push_back(std::move(window));
  }

  void abandon() {
    ++abandoned_;
    left_.push_back(open_.front().start);
    if (open_.front().name != nullptr) left_.push_back(open_.front().name);
    open_.pop_front();
  }

  void leave_unnamed() {
    ++unnamed_;
    left_.insert(left_.end(), {ended_.front().start, ended_.front().end});
    ended_.pop_front();
  }

  void start(const Announcement& said) {
    if (nobody_since_start_)  // whoever opened the rest is gone
      while (!open_.empty()) abandon();
    nobody_since_start_ = stray_ = false;
    open_.push_back({&said, names_.empty() ? nullptr : names_.front()});
    if (!names_.empty()) names_.pop_front();
  }

  // Of several that are open the first.
  void stop(const Announcement& said) {
    stray_ = open_.empty();
    if (stray_) {
      ++stray_stops_;
      left_.push_back(&said);
      return;
    }
    const Open open = open_.front();
    open_.pop_front();
    const Ended ended{open.start, &said};
    if (open.name != nullptr) return close(ended, *open.name);
    if (!names_.empty()) {
      close(ended, *names_.front());
      names_.pop_front();
      return;
    }
    ended_.push_back(ended);
    if (ended_.size() > kMaxUnnamed) leave_unnamed();  // nobody is going to name the oldest
  }

  void name(const Announcement& said) {
    if (stray_) {  // of what this stop has ended
      left_.push_back(&said);
    } else if (ended_.empty()) {
      names_.push_back(&said);
    } else {
      close(ended_.back(), said);
      ended_.pop_back();
    }
    stray_ = false;
  }

  std::vector<Window>& out_;
  std::deque<Open> open_;                  // by time
  std::deque<Ended> ended_;                // without a name
  std::deque<const Announcement*> names_;  // that came before their window
  std::vector<const Announcement*> left_;
  uint64_t stray_stops_ = 0, unnamed_ = 0, abandoned_ = 0;
  bool nobody_since_start_ = false;
  bool stray_ = false;  // the last stop had no start
};

// Those of each writer, and then what is left of all.
void assign(std::span<const Announcement> said, Windows& out) {
  std::map<uint64_t, Assigner> writers;
  std::vector<const Announcement*> left;
  const auto finish_all = [&] {
    for (auto& [writer, assigner] : writers) {
      assigner.finish();
      left.insert(left.end(), assigner.left().begin(), assigner.left().end());
    }
    writers.clear();
  };
  for (const Announcement& one : said) {
    if (one.kind == Kind::kRoundStart || one.kind == Kind::kRoundEnd) continue;
    if (one.kind == Kind::kNobody) finish_all();
    if (one.writer != 0) writers.try_emplace(one.writer, out.windows).first->second.take(one);
    else left.push_back(&one);
  }
  finish_all();
  std::sort(left.begin(), left.end());  // as it was said
  Assigner rest(out.windows);
  for (const Announcement* one : left) rest.take(*one);
  rest.finish();
  out.stray_stops = rest.stray_stops();
  out.unnamed = rest.unnamed();
  out.abandoned = rest.abandoned();
}

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

Windows assign_windows(std::span<const Announcement> said, uint64_t end_ns) {
  Windows out;
  std::map<Pid, std::vector<const Announcement*>> markers;
  for (const Announcement& one : said)
    if (one.kind == Kind::kRoundStart || one.kind == Kind::kRoundEnd) markers[one.told_pid].push_back(&one);
  assign(said, out);
  std::erase_if(out.windows, [&](const Window& window) { return window.begin_ns >= end_ns; });
  std::stable_sort(out.windows.begin(), out.windows.end(), [](const Window& a, const Window& b) { return a.begin_ns < b.begin_ns; });
  std::vector<uint64_t> ends;
  for (size_t i = 0; i < out.windows.size(); ++i) {
    Window& window = out.windows[i];
    window.overlaps = (i > 0 && window.begin_ns < ends.back()) || (i + 1 < out.windows.size() && out.windows[i + 1].begin_ns < window.end_ns);
    ends.push_back(std::max(i > 0 ? ends.back() : 0, window.end_ns));
  }
  for (auto& [pid, of_process] : markers) {
    for (const Round& round : pair_rounds(std::move(of_process))) {
      if (Window* window = find_window(out.windows, ends, round, pid)) window->rounds.push_back(round);
      else ++out.stray_rounds;
    }
  }
  return out;
}

}  // namespace cicada::benchmark
