// SPDX-License-Identifier: Apache-2.0
// How to turn the published blocks of one address space into the wanted ones, one map operation at a time.
//
// Order: adds, longest prefix first; then overwrites, longest first; then deletes, longest first. Because every value carries
// its mapping's begin and end, a lookup at any moment in between finds the old truth, the new truth, or nothing; never a lie.
// A block is the same block only if image and bias are the same too, not just the range.
// Threads: any.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "abi/mapping.h"
#include "base/address.h"

namespace cicada::process {

struct PublishedBlock {
  RuntimeAddr base;
  uint8_t prefix_bits = 0;
  mapping_value value{};
};

enum class BlockChange : uint8_t { kAdd, kOverwrite, kDelete };

struct BlockOperation {
  BlockChange change = BlockChange::kAdd;
  RuntimeAddr base;
  uint8_t prefix_bits = 0;   // of the address; the trie's key adds the 32 bits of the address space
  mapping_value value{};     // kDelete: what was there
};

bool same_value(const mapping_value& a, const mapping_value& b);
// The trie's key of a block, big-endian as abi/mapping.h wants it.
mapping_key to_mapping_key(uint32_t address_space, RuntimeAddr base, uint8_t prefix_bits);
// Both sorted by (base, prefix_bits), as AddressSpace::blocks() returns them.
std::vector<BlockOperation> block_difference(std::span<const PublishedBlock> have, std::span<const PublishedBlock> want);
// `blocks` after the first `applied` of `operations`: what is published if the rest failed.
std::vector<PublishedBlock> after_operations(std::span<const PublishedBlock> blocks, std::span<const BlockOperation> operations,
                                             size_t applied);

}  // namespace cicada::process
