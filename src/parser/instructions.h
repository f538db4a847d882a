// SPDX-License-Identifier: Apache-2.0
// Where instructions begin. Threads: any.
#pragma once
#include <cstdint>
#include <span>

namespace cicada::parser {

// Whether one begins at `offset`, if one begins at 0 and nothing but instructions lies between.
bool begins_instruction(std::span<const uint8_t> code, uint64_t offset);

}  // namespace cicada::parser
