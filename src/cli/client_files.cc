// SPDX-License-Identifier: Apache-2.0
#include "cli/client_files.h"

#include <algorithm>
#include <filesystem>

#include "base/file_mapping.h"

namespace cicada::cli {
namespace {

constexpr size_t kMaxClientFiles = 10000;

}  // namespace

std::vector<benchmark::ClientBenchmark> read_client_results(const std::string& directory, std::vector<std::string>& warnings) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory + "/results", error))
    if (entry.path().extension() == ".json" && paths.size() < kMaxClientFiles) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<benchmark::ClientBenchmark> all;
  for (const std::string& path : paths) {
    const auto file = FileMapping::open(path);
    auto parsed = file ? benchmark::parse_client_results(file->bytes(), path) : Result<std::vector<benchmark::ClientBenchmark>>(file.error());
    if (!parsed) warnings.push_back(parsed.error().message());
    else all.insert(all.end(), std::make_move_iterator(parsed->begin()), std::make_move_iterator(parsed->end()));
  }
  return all;
}

}  // namespace cicada::cli
