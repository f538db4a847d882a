// SPDX-License-Identifier: Apache-2.0
// Writes a capture file (.cicada). Each update() appends one chunk with what the tables grew by, so that a kill −9 loses at
// most what came after the last update; the file carries its final name from the first update on. finish() appends names,
// counts and the end mark, and rewrites a recording that is not huge in one piece, which is smaller, replacing the file at once.
// Without any update (convert), the name appears only with the finished file.
#pragma once
#include "sink/sink_registry.h"

namespace cicada::sink {

std::unique_ptr<profile::Sink> make_capture_sink(std::string path, const SinkOptions& options);

}  // namespace cicada::sink
