// SPDX-License-Identifier: Apache-2.0
// Which format an output file has: its extension says so.
//
//   std::unique_ptr<profile::Sink> sink = TRY(make_sink("out.speedscope.json", options));
#pragma once
#include <memory>
#include <span>
#include <string>

#include "profile/call_tree.h"
#include "profile/sink.h"
#include "sink/output_file.h"

namespace cicada::sink {

struct SinkOptions {
  profile::CallTreeOptions tree = {};
  std::string title = {};  // empty: the sink's own choice
  FileRights rights = {};
};

struct Format {
  std::string_view extension;  // ".folded"; compared with the end of the file name
  std::string_view description;
};

// All formats that can be written, in the order of the manual.
std::span<const Format> known_formats();

// The longest extension that fits decides. "-": folded stacks on standard output.
// Fails: unknown extension (the message lists the known ones), or a place that cannot be written to.
Result<std::unique_ptr<profile::Sink>> make_sink(const std::string& path, const SinkOptions& options);

}  // namespace cicada::sink
