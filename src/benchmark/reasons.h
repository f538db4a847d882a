// SPDX-License-Identifier: Apache-2.0
// Why a benchmark takes longer: the functions whose time changed.
//
// The time of a function in a run is its share of the run's samples times what the run took. How much that varies by chance is seen from run to run; a
// clock that samples regularly makes it vary less than independent draws would. Few runs show it badly for each function, but functions resemble each
// other: the spread of one is drawn towards what is usual (as for the expression of genes). Named are functions whose change could not be chance
// (Student's t, 5 % of false ones among all functions: Benjamini and Hochberg) and is a good part of the whole. Where their own times do not explain half
// of it, a function with all that it calls may. Where nothing is sure, the best guess. Pure.
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
  struct Count {
    double own = 0, total = 0;  // total: with what it calls
  };
  std::map<std::string, Count> functions;
  double all = 0;
  double time = 1;  // that the run took, in any unit
};
FunctionSamples count_functions(const profile::ProfileSnapshot& profile, double time);

struct Reason {
  std::string function;
  double change = 0;         // of its time, in parts of the whole time before: 0.05 is 5 % of the benchmark
  double error = 0;          // standard error
  bool with_callees = false;
  bool sure = true;          // else a guess
};
// The most first; at most three.
std::vector<Reason> find_reasons(std::span<const FunctionSamples> before, std::span<const FunctionSamples> after, const Comparison& comparison);
// "+5.1 % (± 0.4) in parse", "perhaps …", "… in parse and what it calls". `shown`: the function's name for people.
std::string reason_text(const Reason& reason, std::string_view shown);

}  // namespace cicada::benchmark
