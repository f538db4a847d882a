// SPDX-License-Identifier: Apache-2.0
// What clients wrote themselves: FOLDER/results/*.json. Foreign files in a directory of the user's: regular ones, each within bounds.
#pragma once
#include <string>
#include <vector>

#include "benchmark/client_results.h"

namespace cicada::cli {

std::vector<benchmark::ClientBenchmark> read_client_results(const std::string& directory, std::vector<std::string>& warnings);

}  // namespace cicada::cli
