// SPDX-License-Identifier: Apache-2.0
// The kernel's lookup in a table that TableLayout has written into a vector: `tables` is that std::vector<uint8_t>.
#pragma once
#include <cstdint>
#include <vector>

#include "abi/unwind_lookup.h"

static inline const __u8* unwind_chunk(void* tables, __u32, __u32 chunk) {
  const auto& slab = *static_cast<const std::vector<uint8_t>*>(tables);
  const uint64_t begin = uint64_t{chunk} << UNWIND_CHUNK_SHIFT;
  return begin + UNWIND_CHUNK_BYTES <= slab.size() ? slab.data() + begin : nullptr;
}
