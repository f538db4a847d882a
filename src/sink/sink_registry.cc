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
    {{".cicada", "recording: every other format can be made from it"}, make_recording_sink},
    {{".folded", "folded stacks, one line each"}, make_folded_sink},
    {{".svg", "flame graph"}, make_svg_sink},
    {{".html", "interactive report"}, make_html_sink},
    {{".json", "call tree for d3-flame-graph"}, make_d3_json_sink},
    {{".speedscope.json", "speedscope"}, make_speedscope_sink},
    {{".firefox.json.gz", "Firefox Profiler"}, make_firefox_sink},
    {{".pb.gz", "pprof"}, make_pprof_sink},
    {{".pprof", "pprof"}, make_pprof_sink},
    {{".codeguru.json", "Amazon CodeGuru Profiler"}, make_codeguru_sink},
    {{".txt", "every sample as text, like perf script"}, make_text_samples_sink},
};

constexpr auto kFormats = [] {
  std::array<Format, std::size(kEntries)> formats;
  for (size_t i = 0; i < formats.size(); ++i) formats[i] = kEntries[i].format;
  return formats;
}();

}  // namespace

std::span<const Format> known_formats() { return kFormats; }

Result<std::unique_ptr<profile::Sink>> make_sink(const std::string& path, const SinkOptions& options) {
  const Entry* best = nullptr;
  const std::string name = path == "-" || path == "/dev/stdout" ? "stdout.folded" : path;
  for (const Entry& entry : kEntries) {
    const bool fits = name.ends_with(entry.format.extension) && name.size() > entry.format.extension.size();
    if (fits && (best == nullptr || entry.format.extension.size() > best->format.extension.size())) best = &entry;
  }
  if (best == nullptr) {
    std::string known;
    for (const Entry& entry : kEntries) known += fmt::format("{}{}", known.empty() ? "" : " ", entry.format.extension);
    return make_error(ErrorKind::kInvalid, "{}: unknown output format; the name must end in one of {}", path, known);
  }
  TRY(check_writable(path, options.rights));
  return best->make(path, options);
}

}  // namespace cicada::sink
