// SPDX-License-Identifier: Apache-2.0
// Profiles out of profiles: put together, or reduced to a part.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace cicada::profile {

// Appends everything that `from` recorded. Times are moved to the clock of `into` (by wall clock time); counts add up; address
// spaces of JIT code are kept apart. What cannot be compared (another event, another period) becomes a header warning. Waits that went on when `from` ended
// are marked (kEndLabel).
void merge(Profile& into, const ProfileSnapshot& from);

// Which samples are wanted. Empty members ask for everything; several members must all hold.
struct FilterOptions {
  std::vector<std::string> processes;  // pids, or names (exact)
  std::vector<std::string> threads;    // tids, or names (exact)
  std::optional<uint64_t> from_ns;     // since Header::start_monotonic_ns
  std::optional<uint64_t> to_ns;       // half-open
  std::string function;                // POSIX extended regular expression; a stack matches if one of its frames does
  std::vector<std::string> states;     // state_text(): "lock", "disk", "on CPU"

  // A thread may be wanted in part.
  bool cuts_threads() const { return from_ns || to_ns || !function.empty() || !states.empty(); }

  bool operator==(const FilterOptions&) const = default;
};

using SampleFilter = std::function<bool(const ProfileSnapshot&, size_t sample_index)>;

// For CallTreeOptions::filter. Answers for `profile` as it is now: samples and stacks that come later are not wanted.
// Fails (kInvalid): the regular expression is malformed, a time range is empty.
Result<SampleFilter> make_sample_filter(const ProfileSnapshot& profile, const FilterOptions& options);

// A profile of one event alone, whole otherwise.
// Fails (kNotFound): there is none of this name; the message lists those there are.
Result<Profile> extract_event(const ProfileSnapshot& profile, std::string_view name);

// A profile of the wanted samples and of what they refer to. The header stays, with a warning that says it is a part.
Profile extract(const ProfileSnapshot& profile, const SampleFilter& wanted);

}  // namespace cicada::profile
