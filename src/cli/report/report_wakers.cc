// SPDX-License-Identifier: Apache-2.0
#include "cli/report/report_wakers.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/clean_text.h"
#include "base/number_text.h"
#include "profile/frame_text.h"
#include "profile/thread_state.h"
#include "profile/wakeups.h"
#include "sink/flamegraph/svg_text.h"

namespace cicada::cli {
namespace {

constexpr double kOfACircle = 0.05;  // of the time that a thread waits, at least: else everybody is in one
constexpr size_t kShownFunctions = 3;
constexpr size_t kNumbers = 10 + 1 + 7 + 2, kMostName = 40, kLeastName = 8, kLeastPlace = 16;  // columns
constexpr std::string_view kNobody = "[not seen]", kStillWaits = "[not woken yet]";

struct Pair {
  std::string waiting, waker;
  uint64_t ns = 0;
  std::map<profile::StackId, uint64_t> stacks;
};

class Pairs {
 public:
  Pairs(const profile::ProfileSnapshot& profile, const profile::SampleFilter& wanted) : profile_(profile) {
    const profile::Wakeups wakeups(profile);
    const profile::Samples& samples = profile.samples();
    for (size_t row = 0; row < samples.size(); ++row) {
      const auto wait = wanted(profile, row) ? wakeups.find_wait(row) : std::nullopt;
      if (!wait) continue;
      const std::string waker(wait->wakeup ? name_of(samples.thread[*wait->wakeup]) : profile::has_not_ended(profile, row) ? kStillWaits : kNobody);
      const std::string& waiting = name_of(samples.thread[row]);
      Pair& pair = pairs_[{waiting, waker}];
      pair.waiting = waiting;
      pair.waker = waker;
      pair.ns += profile.value(row);
      pair.stacks[samples.stack[row]] += profile.value(row);
      waited_[waiting] += profile.value(row);
    }
  }

  std::vector<const Pair*> by_time() const {
    std::vector<const Pair*> rows;
    for (const auto& [names, pair] : pairs_) rows.push_back(&pair);
    std::stable_sort(rows.begin(), rows.end(), [](const Pair* a, const Pair* b) { return a->ns > b->ns; });
    return rows;
  }
  const Pair* find(const std::string& waiting, const std::string& waker) const {
    const auto found = pairs_.find({waiting, waker});
    return found == pairs_.end() ? nullptr : &found->second;
  }
  double share(const Pair& pair) const { return static_cast<double>(pair.ns) / static_cast<double>(waited_.at(pair.waiting)); }

  // Names of threads each of which waits for the next, and the last for the first; Tarjan's strongly connected components.
  std::vector<std::vector<std::string>> circles() const {
    std::map<std::string, std::vector<std::string>> wakers;
    for (const auto& [names, pair] : pairs_)
      if (share(pair) >= kOfACircle) wakers[pair.waiting].push_back(pair.waker);
    struct Node {
      size_t number = 0, low = 0;
      bool open = false;
    };
    std::map<std::string, Node> nodes;
    std::vector<std::string> open;
    std::vector<std::vector<std::string>> found;
    size_t next = 1;
    const std::function<void(const std::string&, size_t)> visit = [&](const std::string& name, size_t depth) {
      Node& node = nodes[name];
      node = {next, next, true};
      ++next;
      open.push_back(name);
      if (const auto known = wakers.find(name); known != wakers.end() && depth < kDeepest) {
        for (const std::string& waker : known->second) {
          if (nodes[waker].number == 0) visit(waker, depth + 1);
          if (nodes[waker].open) node.low = std::min(node.low, nodes[waker].low);
        }
      }
      if (node.low != node.number) return;
      const auto begin = std::find(open.rbegin(), open.rend(), name).base() - 1;
      for (auto at = begin; at != open.end(); ++at) nodes[*at].open = false;
      if (open.end() - begin > 1) found.emplace_back(begin, open.end());
      open.erase(begin, open.end());
    };
    for (const auto& [name, list] : wakers)
      if (nodes[name].number == 0) visit(name, 0);
    return found;
  }

 private:
  static constexpr size_t kDeepest = 1000;

  const std::string& name_of(profile::ThreadId id) {
    std::string& text = names_[id];
    if (text.empty()) text = profile::thread_name(profile_, id);
    return text;
  }

  const profile::ProfileSnapshot& profile_;
  std::map<profile::ThreadId, std::string> names_;
  std::map<std::pair<std::string, std::string>, Pair> pairs_;
  std::map<std::string, uint64_t> waited_;
};

// Where most of it was waited: the innermost functions of the program, the outer one first.
std::string place_of(const profile::ProfileSnapshot& profile, const TableNames& short_names, const Pair& pair) {
  const auto most = std::max_element(pair.stacks.begin(), pair.stacks.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<std::string> names;
  for (profile::StackId at = most->first; at.valid() && names.size() < kShownFunctions; at = profile.stacks()[at.value].parent) {
    const profile::FrameId frame = profile.stacks()[at.value].frame;
    if (profile.frames()[frame.value].kind != profile::FrameKind::kKernel) names.push_back(short_names.short_name(profile::frame_name(profile, frame, profile.place(frame))));
  }
  if (names.empty()) return most->first.valid() ? "[kernel]" : "[no stack]";
  std::reverse(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, " > "));
}

}  // namespace

Result<std::string> format_wakers(const profile::ProfileSnapshot& profile, const ReportLimits& limits, const profile::SampleFilter& wanted) {
  const auto& events = profile.header.events;
  if (std::none_of(events.begin(), events.end(), [](const profile::Event& event) { return event.spent == profile::Spent::kOthersWaiting; }))
    return make_error(ErrorKind::kNotFound, "--wakers: nothing here says who woke a thread; record it with `cicada offcpu --wakers`");
  const Pairs pairs(profile, wanted);
  const std::vector<const Pair*> rows = pairs.by_time();
  const size_t shown = std::min(rows.size(), limits.rows);
  const size_t others = kNumbers + 2 + 2 + kLeastPlace;
  const size_t widest = std::clamp(limits.columns > others ? (limits.columns - others) / 2 : 0, kLeastName, kMostName);
  size_t waiting = 7, waker = kLeastName;
  for (size_t i = 0; i < shown; ++i) {
    waiting = std::max(waiting, std::min(count_letters(clean_text(rows[i]->waiting)), widest));
    waker = std::max(waker, std::min(count_letters(clean_text(rows[i]->waker)), widest));
  }
  std::string out = fmt::format("{:>10} {:>7}  {:<{}}  {:<{}}  where it waited\n", "time", "of its", "waiting", waiting, "woken by", waker);
  const size_t used = kNumbers + waiting + 2 + waker + 2;
  for (size_t i = 0; i < shown; ++i) {
    const std::string place = sink::shortened(clean_text(place_of(profile, limits.names, *rows[i])), limits.columns > used + kLeastPlace ? limits.columns - used : kLeastPlace);
    out += fmt::format("{:>10} {:>5.1f} %  {:<{}}  {:<{}}  {}\n", seconds_text(static_cast<double>(rows[i]->ns) * 1e-9, 4), 100 * pairs.share(*rows[i]),
                       sink::shortened(clean_text(rows[i]->waiting), waiting), waiting, sink::shortened(clean_text(rows[i]->waker), waker), waker, place);
  }
  if (rows.size() > shown) out += fmt::format("  … {} more\n", rows.size() - shown);
  const auto circles = pairs.circles();
  const size_t room = std::max<size_t>(limits.columns, 60);
  if (!circles.empty()) out += "\nwait for each other:\n";
  for (const std::vector<std::string>& circle : circles) {
    out += sink::shortened(clean_text(fmt::format("  {}", fmt::join(circle, " <-> "))), room) + "\n";
    for (const std::string& one : circle) {
      for (const std::string& other : circle) {
        const Pair* pair = pairs.find(one, other);
        if (pair == nullptr || pairs.share(*pair) < kOfACircle) continue;
        out += sink::shortened(fmt::format("    {:>5.1f} % of {}'s time for {}: {}", 100 * pairs.share(*pair), clean_text(one), clean_text(other),
                                           clean_text(place_of(profile, limits.names, *pair))), room) + "\n";
      }
    }
  }
  return out;
}

}  // namespace cicada::cli
