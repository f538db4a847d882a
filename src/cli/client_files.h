// SPDX-License-Identifier: Apache-2.0
// What clients wrote themselves: FOLDER/results/*.json. Foreign files in a folder of the user's: regular ones, each within bounds.
#pragma once
#include <string>
#include <vector>

#include "benchmark/client_results.h"

namespace cicada::cli {

std::vector<benchmark::ClientBenchmark> read_client_results(const std::string& folder, std::vector<std::string>& warnings);

}  // namespace cicada::cli
