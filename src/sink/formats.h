// SPDX-License-Identifier: Apache-2.0
// The formats that other programs read. One file each, named like the function; docs/formats/ tells which program.
#pragma once
#include "sink/sink_registry.h"

namespace cicada::sink {

std::unique_ptr<profile::Sink> make_d3_json_sink(std::string path, const SinkOptions& options);        // .json
std::unique_ptr<profile::Sink> make_speedscope_sink(std::string path, const SinkOptions& options);     // .speedscope.json
std::unique_ptr<profile::Sink> make_firefox_sink(std::string path, const SinkOptions& options);        // .firefox.json.gz
std::unique_ptr<profile::Sink> make_codeguru_sink(std::string path, const SinkOptions& options);       // .codeguru.json
std::unique_ptr<profile::Sink> make_pprof_sink(std::string path, const SinkOptions& options);          // .pb.gz .pprof
std::unique_ptr<profile::Sink> make_text_samples_sink(std::string path, const SinkOptions& options);   // .txt

}  // namespace cicada::sink
