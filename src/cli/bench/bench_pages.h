// SPDX-License-Identifier: Apache-2.0
// The directory that `cicada bench` writes: bench.json, index.html, and a flame graph for each benchmark.
#pragma once
#include <string>

#include "benchmark/bench_result.h"
#include "profile/profile.h"
#include "sink/output_file.h"

namespace cicada::cli {

Result<void> write_text(const std::string& path, const sink::FileRights& rights, std::string_view text);
// The report viewer with the samples of one benchmark.
Result<void> write_flame_graph(const std::string& path, const sink::FileRights& rights, const profile::Profile& profile, const std::string& title);
Result<void> write_difference(const std::string& path, const sink::FileRights& rights, const profile::Profile& before, const profile::Profile& after, const std::string& title);
// The table of all benchmarks.
std::string index_page(const benchmark::BenchResult& result, const std::string& title);

}  // namespace cicada::cli
