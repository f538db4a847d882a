// SPDX-License-Identifier: Apache-2.0
// Writes a recording (.cicada). Each update() appends what is new as a chunk, so that a kill −9 loses at most what came after the last
// update; the file carries its final name from the first update on. finish() appends the rest and the end mark. A recording that is not huge is
// then written anew in one piece, which is smaller, and replaces the streamed file at once.
// Without any update (convert), the name appears only with the finished file.
#pragma once
#include "sink/sink_registry.h"

namespace cicada::sink {

std::unique_ptr<profile::Sink> make_recording_sink(std::string path, const SinkOptions& options);

}  // namespace cicada::sink
