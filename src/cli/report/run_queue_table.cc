// SPDX-License-Identifier: Apache-2.0
#include "cli/report/run_queue_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/number_text.h"
#include "profile/thread_state.h"

namespace cicada::cli {
namespace {

constexpr int kBar = 40;  // letters

struct Waits {
  uint64_t length_ns = 0;
  double count = 0, ns = 0;
};

std::vector<Waits> waits_for_cpu(const profile::ProfileSnapshot& profile) {
  const profile::Samples& samples = profile.samples();
  std::vector<Waits> waits;
  for (size_t i = 0; i < samples.size(); ++i) {
    const uint64_t length_ns = samples.lasted_ns(i);
    if (length_ns == 0 || profile.event(samples.event[i]).spent != profile::Spent::kWaiting || !profile::is_wait_for_cpu(profile, samples.labels[i])) continue;
    const auto ns = static_cast<double>(profile.value(i));
    waits.push_back({length_ns, ns / static_cast<double>(length_ns), ns});
  }
  std::ranges::sort(waits, {}, &Waits::length_ns);
  return waits;
}

std::string length_text(uint64_t ns) { return seconds_text(static_cast<double>(ns) * 1e-9); }

std::string count_text(double count) { return grouped_digits(static_cast<uint64_t>(std::llround(std::min(count, 1e18)))); }

// The length that `part` of the waits do not exceed.
uint64_t quantile(const std::vector<Waits>& waits, double count, double part) {
  double seen = 0;
  for (const Waits& wait : waits)
    if ((seen += wait.count) >= part * count) return wait.length_ns;
  return waits.back().length_ns;
}

}  // namespace

std::string format_run_queue(const profile::ProfileSnapshot& profile) {
  const std::vector<Waits> waits = waits_for_cpu(profile);
  if (waits.empty()) return {};
  Waits all;
  std::vector<Waits> rows(64);
  for (const Waits& wait : waits) {
    for (Waits* sum : {&all, &rows[static_cast<size_t>(std::bit_width(wait.length_ns) - 1)]}) {
      sum->count += wait.count;
      sum->ns += wait.ns;
    }
  }
  std::string out = fmt::format("waiting for a CPU: {} in about {} waits; half of them up to {}, 99 % up to {}, the longest {}\n", seconds_text(all.ns * 1e-9, 4),
                                count_text(all.count), length_text(quantile(waits, all.count, 0.5)),
                                length_text(quantile(waits, all.count, 0.99)), length_text(waits.back().length_ns));
  out += fmt::format("{:>11}{:>15}{:>11}\n", "at least", "waits", "time");
  const auto empty = [](const Waits& row) { return row.count == 0; };
  const auto first = std::ranges::find_if_not(rows, empty);
  const auto last = std::find_if_not(rows.rbegin(), rows.rend(), empty).base();
  const double most = std::ranges::max_element(rows, {}, &Waits::ns)->ns;
  for (auto row = first; row != last; ++row) {
    const auto length = static_cast<size_t>(std::lround(row->ns / most * kBar));
    out += fmt::format("{:>11}{:>15}", length_text(uint64_t{1} << (row - rows.begin())), count_text(row->count));
    if (!empty(*row)) out += fmt::format("{:>11}", seconds_text(row->ns * 1e-9));
    if (length != 0) out += "  " + std::string(length, '#');
    out += '\n';
  }
  return out;
}

}  // namespace cicada::cli
