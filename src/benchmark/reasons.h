// SPDX-License-Identifier: Apache-2.0
// Why a benchmark takes longer: the functions whose own time changed.
//
// With the shares a and b of a function's samples before and after, and the ratio r of the times, its change is r·b − a, in parts of the time before.
// Its error: the shares vary from run to run, but never less than draws of so many samples do; and r has an interval. Named are functions whose
// change could not be chance (Student's t, 5 % of false ones among all functions: Benjamini and Hochberg) and is a good part of the whole. Pure.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "benchmark/comparison.h"
#include "profile/profile.h"

namespace cicada::benchmark {

// The samples of one run.
struct FunctionSamples {
  std::map<std::string, double> own;  // by function
  double all = 0;
};
FunctionSamples count_functions(const profile::ProfileSnapshot& profile);

struct Reason {
  std::string function;
  double change = 0;  // of its own time, in parts of the time before: 0.05 is 5 % of the benchmark
  double error = 0;   // standard error
};
// The most first; at most three.
std::vector<Reason> find_reasons(std::span<const FunctionSamples> before, std::span<const FunctionSamples> after, const Comparison& comparison, double confidence);

}  // namespace cicada::benchmark
