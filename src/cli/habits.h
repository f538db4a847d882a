// SPDX-License-Identifier: Apache-2.0
// Options of other tools that fingers type by themselves, and what cicada has in their place.
#pragma once
#include <string>
#include <string_view>

namespace cicada::cli {

// What to do instead of `option` ("-g", "--export-json=x"); empty: nobody's habit.
std::string_view find_habit(std::string_view command, std::string_view option);

}  // namespace cicada::cli
