// SPDX-License-Identifier: Apache-2.0
// What clients wrote themselves: FOLDER/results/*.json and FOLDER/environment-*.json. Foreign files: opened with the rights of the user whose
// command they are of, regular ones, no links, each and all of them within bounds.
#pragma once
#include <string>
#include <vector>

#include "benchmark/client_results.h"
#include "cli/invoking_user.h"

namespace cicada::cli {

struct ClientFiles {
  std::vector<benchmark::ClientBenchmark> benchmarks;
  benchmark::ClientEnvironment environment;
  std::vector<std::string> warnings;  // files that could not be used
};

ClientFiles read_client_files(const std::string& directory, const InvokingUser& user);

}  // namespace cicada::cli
