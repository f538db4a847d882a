// SPDX-License-Identifier: Apache-2.0
#include "cli/record/record_progress.h"

#include <sys/prctl.h>

#include <condition_variable>
#include <mutex>

#include "base/number_text.h"
#include "cli/table_names.h"
#include "cli/terminal.h"
#include "sink/flamegraph/svg_text.h"

namespace cicada::cli {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(1000), kFresh = std::chrono::milliseconds(100);
constexpr size_t kLeastName = 12;

uint64_t lost(const profile::Event& event) {
  uint64_t sum = 0;
  for (const profile::Count& count : event.counts)
    if (count.outcome && count.name.starts_with("lost")) sum += count.value;
  return sum;
}

}  // namespace

std::string format_progress(const profile::ProfileSnapshot& profile, std::string_view top, double top_share, const ProgressOptions& options) {
  const auto seconds = [](uint64_t ns) { return fmt::format("{:.0f} s", static_cast<double>(ns) / 1e9); };
  std::string begin = seconds(profile.header.duration_ns);
  if (options.duration_ns) begin += " of " + seconds(*options.duration_ns);
  begin += fmt::format("  {} samples", grouped_digits(profile.sample_count()));
  std::string end;
  if (const profile::Event& event = profile.event({}); event.fired != 0)
    end += fmt::format("  {:.1f} % lost", percent(lost(event), event.fired));
  if (!options.duration_ns) end += "  (Ctrl-C ends it)";
  const std::string share = fmt::format("  {:.1f} % ", 100 * top_share);
  const size_t used = begin.size() + share.size() + end.size() + 1;  // a line that is full would wrap
  if (!top.empty() && used + kLeastName <= options.columns) begin += share + sink::shortened(top, options.columns - used);
  return sink::shortened(begin + end, options.columns - 1);
}

RecordProgress::RecordProgress(const engine::Session& session, std::optional<uint64_t> duration_ns) : session_(session), duration_ns_(duration_ns) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

RecordProgress::~RecordProgress() {
  thread_.request_stop();
  thread_.join();
  end_progress();
}

void RecordProgress::run(const std::stop_token& stop) {
  ::prctl(PR_SET_NAME, "cicada-progress");
  std::mutex never;
  std::condition_variable_any stopped;
  std::string top, shown;
  print_progress(duration_ns_ ? "recording …" : "recording … (Ctrl-C ends it and writes the result)");
  std::unique_lock lock(never);
  while (!stop.stop_requested()) {
    stopped.wait_for(lock, stop, kInterval - kFresh, [] { return false; });
    session_.snapshot();  // who asks gets newer ones from then on
    stopped.wait_for(lock, stop, kFresh, [] { return false; });
    if (stop.stop_requested()) return;
    const auto profile = session_.snapshot();
    const auto functions = session_.functions();
    const auto largest = profile::largest_functions(functions->rows, 1);
    const bool any = !largest.empty() && largest[0].self != 0;
    const std::string_view name = any ? functions->texts.text(largest[0].name) : "";
    if (name != top) {
      TableNames names;
      names.shorten(*functions->profile);
      top = name;
      shown = names.short_name(name);
    }
    const double share = any ? static_cast<double>(largest[0].self) / static_cast<double>(functions->total) : 0;
    print_progress(format_progress(*profile, shown, share, {duration_ns_, terminal_columns()}));
  }
}

}  // namespace cicada::cli
