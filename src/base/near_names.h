// SPDX-License-Identifier: Apache-2.0
// What somebody may have meant who wrote a name that is not there: for messages.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace cicada {

// "a, b, c": those of `names` that differ by few letters, or that `name` is a part of; the nearest first, three at most. Empty: none is near.
std::string near_names(std::string_view name, std::span<const std::string> names);

}  // namespace cicada
