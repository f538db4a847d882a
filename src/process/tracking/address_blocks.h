// SPDX-License-Identifier: Apache-2.0
// Cuts the mappings of one address space into the fewest aligned power-of-two blocks such that the longest matching block of
// every mapped address belongs to its mapping. Unmapped addresses are don't-care: the value's begin/end rejects them.
//
//   [0x1000, 0x4000) alone   ->  0x0/50              (one block, where exact cutting needs two)
//
// Ranges are half-open, in bytes, disjoint and ascending; an empty range gives no block. No arithmetic overflows near 2^64.
// Threads: any. Source: Draves et al. 1999 (ORTC); why it is linear here: address_blocks.cc.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"

namespace cicada::process {

struct AddressBlock {
  RuntimeAddr base;          // low (64 - prefix_bits) bits are zero
  uint8_t prefix_bits = 0;   // 0 … 64: how many leading address bits decide
  uint32_t range = 0;        // index into the ranges that were cut
  auto operator<=>(const AddressBlock&) const = default;
};

// The minimal cover. Ascending by base, shorter prefixes first.
std::vector<AddressBlock> minimal_blocks(std::span<const Range<RuntimeAddr>> ranges);
// The usual cutting: every block lies inside its range. For comparison, and for tables that do not check begin/end.
std::vector<AddressBlock> exact_blocks(std::span<const Range<RuntimeAddr>> ranges);

}  // namespace cicada::process
