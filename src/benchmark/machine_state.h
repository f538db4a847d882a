// SPDX-License-Identifier: Apache-2.0
// What of a machine makes times differ: its fingerprint, and what could be done about it.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace cicada::benchmark {

// host, kernel, cpu, cpus, governor: what results can be compared by. Members that the machine does not tell are missing.
std::map<std::string, std::string> machine_fingerprint(const std::string& root = "");
// Frequency scaling, turbo, SMT, load, swap, address space layout: each with its remedy. `root`: in front of /proc and /sys, for tests.
std::vector<std::string> machine_warnings(const std::string& root = "");

}  // namespace cicada::benchmark
