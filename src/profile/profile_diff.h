// SPDX-License-Identifier: Apache-2.0
// What changed from one profile (A, before) to another (B, after): by function, and by stack for differential flame graphs.
//
// Two recordings of the same program never agree to the sample, so a change is called significant only if it is larger
// than chance makes it: a two-proportion z-test on sample counts with continuity correction, and over all functions a
// false-discovery rate of 1 % (Benjamini & Hochberg 1995). Two recordings without any difference then show no significant
// function in 99 of 100 comparisons.
#pragma once
#include <vector>

#include "profile/call_tree.h"

namespace cicada::profile {

// What is compared: the share of all samples, the cost of a second of recording, the cost of one run of a command.
enum class Per : uint8_t { kShare, kSecond, kRun };

struct DiffOptions {
  CallTreeOptions tree = {};
  Per per = Per::kShare;
  // A value is a number of samples: folded stacks and pprof keep one row for many. Significance is then computed on values.
  bool values_are_counts = false;
};

// A quantity in both profiles, in samples' value units.
struct DiffValue {
  uint64_t a = 0, b = 0;
};

struct FunctionDelta {
  StringId name;  // in ProfileDiff::tree.strings
  StringId image;
  DiffValue self, total;       // total: stacks that contain the function, once each, however often it recurses
  double self_change = 0;      // B − A, scaled: a share (−1…1), CPU seconds (of an event that counts none: values) per second or run
  double total_change = 0;
  double self_p = 1, total_p = 1;  // probability that chance alone makes a difference this large
  bool significant = false;        // self or total, after correction for the number of functions
  bool displaced = false;          // shares: would be significant, but shrank (grew) only as much as everything did because others grew (shrank)
};

struct ProfileDiff {
  CallTree tree;                  // the stacks of both; self and total are B's
  std::vector<DiffValue> self;    // by node
  std::vector<DiffValue> total;
  std::vector<FunctionDelta> functions;  // the largest absolute change of self first
  DiffValue samples;              // counted
  // What a value of A or B is multiplied by to be comparable.
  double scale_a = 0, scale_b = 0;

  double change(const DiffValue& value) const { return static_cast<double>(value.b) * scale_b - static_cast<double>(value.a) * scale_a; }
};

ProfileDiff diff(const ProfileSnapshot& a, const ProfileSnapshot& b, const DiffOptions& options);

// Two-sided probability that `a` of `all_a` and `b` of `all_b` are draws from one proportion.
double proportion_p_value(uint64_t a, uint64_t all_a, uint64_t b, uint64_t all_b);

}  // namespace cicada::profile
