// SPDX-License-Identifier: Apache-2.0
#include "cli/report/report_states.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "base/clean_text.h"
#include "base/number_text.h"
#include "profile/cpu_time.h"
#include "profile/frame_text.h"
#include "profile/thread_state.h"
#include "sink/flamegraph/svg_text.h"

namespace cicada::cli {
namespace {

constexpr size_t kColumn = 11, kLeastName = 20;

// Seconds, by thread and column. On a CPU: by the scheduler's account, where that is known, else by the samples of a clock.
struct Table {
  std::vector<std::string> columns;
  std::vector<double> sums;                // of each column
  std::vector<profile::ThreadId> threads;
  std::vector<std::vector<double>> rows;   // of each thread

  size_t column(std::string_view name) {
    const auto found = std::find(columns.begin(), columns.end(), name);
    if (found != columns.end()) return static_cast<size_t>(found - columns.begin());
    columns.emplace_back(name);
    sums.push_back(0);
    return columns.size() - 1;
  }
  static double total(const std::vector<double>& row) { return std::accumulate(row.begin(), row.end(), 0.0); }
};

// By event: what a unit of its values is in seconds. Of several events that count CPU time the first does.
std::vector<double> seconds_of_events(const profile::ProfileSnapshot& profile) {
  std::vector<double> seconds;
  bool has_clock = false;
  for (size_t i = 0; i < profile.header.events.size(); ++i) {
    const profile::EventId id{static_cast<uint8_t>(i)};
    double per_value = profile.event(id).spent == profile::Spent::kWaiting ? 1e-9 : 0;
    if (profile.event(id).spent == profile::Spent::kRunning && !has_clock) {
      per_value = profile::seconds_per_value(profile, id);
      has_clock = per_value != 0;
    }
    seconds.push_back(per_value);
  }
  return seconds;
}

// What has a column of its own in any case comes first: on + off is the thread's time, and what it waited for a CPU is part of both.
double rank(std::string_view state, double sum) {
  if (state == profile::kRunningState) return 3e300;
  if (state == profile::kRunnableState) return 2e300;
  return state == profile::kPreemptedState ? 1e300 : sum;
}

Table add_up(const profile::ProfileSnapshot& profile, const std::vector<double>& seconds_of_event) {
  Table table;
  const profile::Samples& samples = profile.samples();
  std::map<profile::ThreadId, size_t> row_of;
  std::map<std::pair<profile::EventId, profile::LabelSetId>, size_t> column_of;
  for (size_t i = 0; i < samples.size(); ++i) {
    double seconds = seconds_of_event[samples.event[i].value] * static_cast<double>(profile.value(i));
    if (seconds == 0 || profile::is_idle(samples.state[i])) continue;
    if (profile.event(samples.event[i]).spent == profile::Spent::kRunning && profile.threads()[samples.thread[i].value].cpu_ns) seconds = 0;  // the account says it
    const auto [known, is_new] = column_of.try_emplace({samples.event[i], samples.labels[i]}, 0);
    if (is_new) known->second = table.column(profile::state_text(profile, samples.event[i], samples.labels[i]));
    const size_t row = row_of.try_emplace(samples.thread[i], table.rows.size()).first->second;
    if (row == table.rows.size()) {
      table.threads.push_back(samples.thread[i]);
      table.rows.emplace_back();
    }
    table.rows[row].resize(std::max(table.rows[row].size(), table.columns.size()));
    table.rows[row][known->second] += seconds;
    table.sums[known->second] += seconds;
  }
  for (size_t row = 0; row < table.rows.size(); ++row) {
    const std::optional<uint64_t> cpu_ns = profile.threads()[table.threads[row].value].cpu_ns;
    if (!cpu_ns) continue;
    const double seconds = static_cast<double>(*cpu_ns) * 1e-9;
    const size_t column = table.column(profile::kRunningState);
    table.rows[row].resize(table.columns.size());
    table.rows[row][column] += seconds;
    table.sums[column] += seconds;
  }
  for (std::vector<double>& row : table.rows) row.resize(table.columns.size());
  return table;
}

// Indices into `values`, the largest first.
template <typename Value>
std::vector<size_t> ordered(size_t count, Value value) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return value(a) > value(b); });
  return order;
}

std::string cell(double seconds) { return fmt::format("{:>{}}", seconds == 0 ? "" : seconds_text(seconds, 4), kColumn); }

}  // namespace

Result<std::string> format_states(const profile::ProfileSnapshot& profile, const ReportLimits& limits) {
  const auto& events = profile.header.events;
  if (std::none_of(events.begin(), events.end(), [](const profile::Event& event) { return event.spent == profile::Spent::kWaiting; }))
    return make_error(ErrorKind::kNotFound, "--states: nothing here says where threads waited; record it with -e off-cpu");
  const Table table = add_up(profile, seconds_of_events(profile));
  std::vector<size_t> columns = ordered(table.columns.size(), [&](size_t i) { return rank(table.columns[i], table.sums[i]); });
  const size_t room = limits.columns > kLeastName + 2 ? (limits.columns - kLeastName - 2) / kColumn : 1;  // of columns, the total is one
  std::vector<size_t> rest;
  if (columns.size() + 1 > room) {
    const size_t shown = room > 2 ? room - 2 : 1;
    rest.assign(columns.begin() + static_cast<ptrdiff_t>(std::min(shown, columns.size())), columns.end());
    columns.resize(std::min(shown, columns.size()));
  }
  std::string out = fmt::format("{:>{}}", "total", kColumn);
  for (const size_t column : columns) out += fmt::format("{:>{}}", table.columns[column], kColumn);
  if (!rest.empty()) out += fmt::format("{:>{}}", fmt::format("{} more", rest.size()), kColumn);
  out += "  thread\n";
  const size_t used = out.size() - 7;  // up to the name
  const std::vector<size_t> threads = ordered(table.rows.size(), [&](size_t i) { return Table::total(table.rows[i]); });
  for (size_t i = 0; i < std::min(threads.size(), limits.rows); ++i) {
    const std::vector<double>& row = table.rows[threads[i]];
    out += cell(Table::total(row));
    for (const size_t column : columns) out += cell(row[column]);
    if (!rest.empty()) out += cell(std::accumulate(rest.begin(), rest.end(), 0.0, [&](double sum, size_t column) { return sum + row[column]; }));
    const std::string name = clean_text(profile::thread_text(profile, table.threads[threads[i]]));
    out += fmt::format("  {}\n", sink::shortened(name, limits.columns > used + kLeastName ? limits.columns - used : kLeastName));
  }
  if (threads.size() > limits.rows) out += fmt::format("  … {} more threads\n", threads.size() - limits.rows);
  return out;
}

}  // namespace cicada::cli
