// SPDX-License-Identifier: Apache-2.0
// How whole the user stacks of a profile are. The one place that counts it: summary, report, captions and JSON all ask here.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "abi/end_reason.h"
#include "profile/profile.h"

namespace cicada::profile {

struct EndReasonText {
  std::string_view text;
  bool complete;
};
inline constexpr std::array<EndReasonText, END_REASON_COUNT> kEndReasons = {{
#define X(name, complete, text) {text, complete != 0},
    CICADA_END_REASONS(X)
#undef X
}};

// What stands at the root of a user stack whose outermost frames are not there: "[truncated]" at the depth limit, else "[incomplete: reason]".
// Empty for whole ones, and where there is none.
std::string_view cut_text(uint8_t end_reason);

// In samples, by end_reason. From the samples themselves, so that a part of a recording tells of that part; a profile without
// samples has its header's counts.
std::array<uint64_t, END_REASON_COUNT> count_end_reasons(const ProfileSnapshot& profile);

// Of the samples with a user address space outside an exec, those whose user stack is whole. 0 of 0 is nothing to complain about.
struct Completeness {
  uint64_t complete = 0, of = 0;
};
Completeness completeness(const ProfileSnapshot& profile);

// "12 depth limit, 3 no unwind rule for the address": why the others are not. Empty if all are.
std::string cut_reasons(const ProfileSnapshot& profile);

// "99.97 %", rounded down: 9,999 of 10,000 is 99.99 %, never 100. "100 %" if all.
std::string percent_complete(const Completeness& completeness);

}  // namespace cicada::profile
