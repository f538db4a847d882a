// SPDX-License-Identifier: Apache-2.0
#include "top/json_lines.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include "profile/stack_totals.h"
#include "sink/json_stream.h"

namespace cicada::top {
namespace {

using profile::ProfileSnapshot;

uint64_t lost_samples(const profile::Event& event) {
  uint64_t lost = 0;
  for (const profile::Count& count : event.counts)
    if (count.outcome && count.name.starts_with("lost")) lost += count.value;
  return lost;
}

double share(uint64_t part, uint64_t all) { return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all); }

// Values by process, the largest first.
std::vector<std::pair<uint64_t, uint32_t>> add_up_processes(const ProfileSnapshot& profile, profile::EventId event) {
  std::vector<std::pair<uint64_t, uint32_t>> sums(profile.processes().size());
  for (uint32_t i = 0; i < sums.size(); ++i) sums[i].second = i;
  const profile::CallTreeOptions options{.event = event};
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    if (!profile::is_wanted(profile, options, event, i)) continue;
    const profile::ThreadId thread = profile.samples().thread[i];
    if (!thread.valid()) continue;
    const profile::ProcessId process = profile.threads()[thread.value].process;
    if (process.valid()) sums[process.value].first += profile.value(i);
  }
  std::ranges::sort(sums, [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  while (!sums.empty() && sums.back().first == 0) sums.pop_back();
  return sums;
}

Result<bool> write_line(std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) return false;
    if (written < 0) return errno_error(errno, "write to standard output");
    line.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

std::string JsonLines::line_of(const ProfileSnapshot& profile, const sink::PageState& state) {
  const profile::EventId event = main_event(profile);
  if (!tree_ || event != event_) tree_.emplace(profile::CallTreeOptions{.event = event});
  event_ = event;
  tree_->update(profile);
  const uint64_t samples = profile.sizes().samples;
  const uint64_t now_ns = profile.sample_count() == 0 ? profile.header.start_monotonic_ns : profile.samples().time_ns[profile.sample_count() - 1];
  const bool goes_on = std::exchange(lineage_, profile.sizes().lineage) == profile.sizes().lineage && samples >= samples_ && now_ns > time_ns_ && time_ns_ != 0;
  const uint64_t since_ns = goes_on ? now_ns - time_ns_ : now_ns - profile.header.start_monotonic_ns;
  const uint64_t fresh = goes_on ? samples - samples_ : samples;
  samples_ = samples;
  time_ns_ = now_ns;
  const profile::CallTree& tree = tree_->tree();

  std::string line;
  {
    sink::JsonStream json([&](std::string_view text) { line += text; });
    json.begin_object();
    json.member("time_ns", profile.header.start_realtime_ns + (now_ns - profile.header.start_monotonic_ns));
    json.member("event", profile.event(event).name);
    json.member("unit", profile::unit_text(profile.event(event).unit));
    json.member("samples", samples);
    json.member("samples_per_second", since_ns == 0 ? 0.0 : static_cast<double>(fresh) * 1e9 / static_cast<double>(since_ns));
    json.member("lost", lost_samples(profile.event(event)));
    json.member("paused", state.moment.paused);
    json.member("ended", state.ended);
    json.member("total", tree.total());
    json.key("functions");
    json.begin_array();
    for (const profile::FunctionCost& cost : profile::largest_functions(tree_->functions().rows(), kFunctions)) {
      if (cost.total == 0) continue;
      json.begin_object();
      json.member("name", tree.text(cost.name));
      json.member("image", tree.text(cost.image));
      json.member("self", cost.self);
      json.member("total", cost.total);
      json.end_object();
    }
    json.end_array();
    json.key("processes");
    json.begin_array();
    size_t left = kProcesses;
    for (const auto& [value, id] : add_up_processes(profile, event)) {
      if (left-- == 0) break;
      const profile::Process& process = profile.processes()[id];
      json.begin_object();
      json.member("pid", static_cast<int64_t>(process.pid));
      json.member("name", profile.text(process.name));
      json.member("total", value);
      json.member("share", share(value, tree.total()));
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
  return line + "\n";
}

Result<void> print_json_lines(Updates& updates, int ended) {
  ::signal(SIGPIPE, SIG_IGN);
  JsonLines lines;
  for (;;) {
    std::array polled{pollfd{updates.fd(), POLLIN, 0}, pollfd{ended, POLLIN, 0}, pollfd{STDOUT_FILENO, 0, 0}};
    if (::poll(polled.data(), polled.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return errno_error(errno, "wait for samples");
    }
    if (polled[1].revents != 0) return {};
    if (polled[0].revents == 0) return {};  // standard output was closed at its other end
    const std::optional<Update> update = updates.take();
    if (!update) continue;
    if (!TRY(write_line(lines.line_of(*update->profile, update->state)))) return {};
    if (!update->state.ended.empty()) return {};
  }
}

}  // namespace cicada::top
