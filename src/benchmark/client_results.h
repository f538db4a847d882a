// SPDX-License-Identifier: Apache-2.0
// What clients measured themselves: DIR/results/PID.json. Foreign bytes: unknown members are left alone, numbers that make no sense are refused.
#pragma once
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

inline constexpr size_t kMaxClientFile = 64 << 20;
// In the order of the file. Fails (kCorrupt): no JSON, or not of this form; kUnsupported: another instrument than walltime.
Result<std::vector<ClientBenchmark>> parse_client_results(Bytes json, const std::string& name);

}  // namespace cicada::benchmark
