// SPDX-License-Identifier: Apache-2.0
// What clients wrote themselves: DIR/results/PID.json, what they measured, and DIR/environment-PID.json, what they ran with. Foreign bytes:
// unknown members are left alone, numbers that make no sense are refused.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/byte_cursor.h"
#include "base/process_key.h"
#include "base/result.h"
#include "benchmark/statistics.h"

namespace cicada::benchmark {

struct ClientBenchmark {
  std::string name, uri;
  Pid pid = 0;               // of the file's writer, as it knows it
  std::string creator;       // "codspeed-node 5.7.1": clients define quantiles and deviations differently
  Summary per_iteration;     // ns; count: rounds
  uint64_t iterations = 1;   // in each round
};

// Of a file, and of the values in it: what a value takes in memory is many times what it takes in the file.
inline constexpr size_t kMaxClientFile = 16 << 20, kMaxClientValues = 500'000;
// In the order of the file. Fails (kCorrupt): no JSON, or not of this form; kUnsupported: another instrument than walltime; kLimit.
Result<std::vector<ClientBenchmark>> parse_client_results(Bytes json, const std::string& name);

struct ClientEnvironment {
  std::map<std::string, std::string> software;   // "runtime node": "v26.10.0"
  std::map<std::string, std::string> libraries;  // build id (lower-case hex) by path
};
// Fails as parse_client_results.
Result<ClientEnvironment> parse_client_environment(Bytes json, const std::string& name);

}  // namespace cicada::benchmark
