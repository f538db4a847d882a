// SPDX-License-Identifier: Apache-2.0
#include "sink/sink_registry.h"

#include <array>
#include <iterator>

#include "sink/recording/recording_sink.h"
#include "sink/text/folded.h"
#include "sink/formats.h"
#include "sink/flamegraph/svg.h"
#include "sink/flamegraph/html.h"

namespace cicada::sink {
namespace {

using Make = std::unique_ptr<profile::Sink> (*)(std::string path, const SinkOptions& options);

struct Entry {
  Format format;
  Make make;
};

constexpr Entry kEntries[] = {
    {{.extension = ".cicada", .description = "recording: every other format can be made from it", .recording = true}, make_recording_sink},
    {{.extension = ".folded", .description = "folded stacks, one line each", .has_lines = false}, make_folded_sink},
    {{.extension = ".svg", .description = "flame graph", .has_lines = false, .opens_in_browser = true}, make_svg_sink},
    {{.extension = ".html", .description = "interactive report", .opens_in_browser = true}, make_html_sink},
    {{.extension = ".json", .description = "call tree for d3-flame-graph"}, make_d3_json_sink},
    {{.extension = ".speedscope.json", .description = "speedscope"}, make_speedscope_sink},
    {{.extension = ".firefox.json.gz", .description = "Firefox Profiler"}, make_firefox_sink},
    {{.extension = ".pb.gz", .description = "pprof"}, make_pprof_sink},
    {{.extension = ".pprof", .description = "pprof"}, make_pprof_sink},
    {{.extension = ".codeguru.json", .description = "Amazon CodeGuru Profiler"}, make_codeguru_sink},
    {{.extension = ".txt", .description = "every sample as text, like perf script", .has_lines = false}, make_text_samples_sink},
};

const Entry* find_entry(std::string_view path) {
  const std::string_view name = is_standard_output(path) ? "stdout.folded" : path;
  const Entry* best = nullptr;
  for (const Entry& entry : kEntries) {
    const bool fits = name.ends_with(entry.format.extension) && name.size() > entry.format.extension.size();
    if (fits && (best == nullptr || entry.format.extension.size() > best->format.extension.size())) best = &entry;
  }
  return best;
}

constexpr auto kFormats = [] {
  std::array<Format, std::size(kEntries)> formats;
  for (size_t i = 0; i < formats.size(); ++i) formats[i] = kEntries[i].format;
  return formats;
}();

}  // namespace

std::span<const Format> known_formats() { return kFormats; }

const Format* find_format(std::string_view path) {
  const Entry* entry = find_entry(path);
  return entry == nullptr ? nullptr : &entry->format;
}

Result<void> check_format(std::string_view path) {
  if (find_entry(path) != nullptr) return {};
  std::string known;
  for (const Format& format : kFormats) known += fmt::format("{}{}", known.empty() ? "" : " ", format.extension);
  return make_error(ErrorKind::kInvalid, "{}: unknown output format; the name must end in one of {}", path, known);
}

Result<std::unique_ptr<profile::Sink>> make_sink(const std::string& path, const SinkOptions& options) {
  TRY(check_format(path));
  TRY(check_writable(path, options.rights));
  return find_entry(path)->make(path, options);
}

Result<std::vector<std::unique_ptr<profile::Sink>>> make_sinks(const std::vector<std::string>& paths, const SinkOptions& options) {
  std::vector<std::unique_ptr<profile::Sink>> sinks;
  for (const std::string& path : paths) sinks.push_back(TRY(make_sink(path, options)));
  TRY(check_distinct(paths));
  return sinks;
}

}  // namespace cicada::sink
