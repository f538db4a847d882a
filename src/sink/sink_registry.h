// SPDX-License-Identifier: Apache-2.0
// Which format an output file has: its extension says so.
//
//   std::unique_ptr<profile::Sink> sink = TRY(make_sink("out.speedscope.json", options));
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "profile/call_tree.h"
#include "profile/sink.h"
#include "sink/flamegraph/annotation.h"
#include "sink/output_file.h"

namespace cicada::sink {

struct SinkOptions {
  profile::CallTreeOptions tree = {};
  std::string title = {};  // empty: the sink's own choice
  FileRights rights = {};
  bool keeps_last = false;  // a recording has what the profile keeps; else whatever it ever had
  // The code of functions, for reports that show it. Empty: they have none.
  std::function<std::vector<Annotation>(const profile::ProfileSnapshot&, const profile::CallTreeOptions&)> annotate = {};
};

struct Format {
  std::string_view extension;  // ".folded"; compared with the end of the file name
  std::string_view description;
  bool recording = false;        // every other one can be made from it
  bool has_lines = true;         // a place for source lines
  bool opens_in_browser = false;
};

// All formats that can be written, in the order of the manual.
std::span<const Format> known_formats();
// The longest extension that fits decides; "-" is folded. Null: none fits.
const Format* find_format(std::string_view path);

// Fails: unknown extension; the message lists the known ones.
Result<void> check_format(std::string_view path);
// Fails: as check_format, a place that cannot be written to, a recording that would be replaced
// although `options.rights` does not allow it.
Result<std::unique_ptr<profile::Sink>> make_sink(const std::string& path, const SinkOptions& options);
// The same for several, in their order. Fails also if two of them are one file.
Result<std::vector<std::unique_ptr<profile::Sink>>> make_sinks(const std::vector<std::string>& paths, const SinkOptions& options);

}  // namespace cicada::sink
