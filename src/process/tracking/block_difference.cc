// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/block_difference.h"

#include <algorithm>
#include <bit>
#include <map>

#include "base/check.h"

namespace cicada::process {
namespace {

auto order(const PublishedBlock& block) { return std::pair(block.base, block.prefix_bits); }

void sort_longest_first(std::vector<BlockOperation>& operations) {
  std::sort(operations.begin(), operations.end(), [](const BlockOperation& a, const BlockOperation& b) {
    return a.prefix_bits != b.prefix_bits ? a.prefix_bits > b.prefix_bits : a.base < b.base;
  });
}

}  // namespace

bool same_value(const mapping_value& a, const mapping_value& b) {
  return a.begin == b.begin && a.end == b.end && a.bias == b.bias && a.image == b.image && a.flags == b.flags;
}

mapping_key to_mapping_key(uint32_t address_space, RuntimeAddr base, uint8_t prefix_bits) {
  static_assert(std::endian::native == std::endian::little);
  mapping_key key{};
  key.prefix_bits = MAPPING_KEY_BITS - 64 + prefix_bits;
  key.address_space_be = __builtin_bswap32(address_space);
  key.address_be = __builtin_bswap64(base.value);
  return key;
}

std::vector<BlockOperation> block_difference(std::span<const PublishedBlock> have, std::span<const PublishedBlock> want) {
  std::vector<BlockOperation> adds, overwrites, deletes;
  if (have.empty()) adds.reserve(want.size());
  if (want.empty()) deletes.reserve(have.size());
  size_t h = 0, w = 0;
  while (h < have.size() || w < want.size()) {
    if (h == have.size() || (w < want.size() && order(want[w]) < order(have[h]))) {
      adds.push_back({BlockChange::kAdd, want[w].base, want[w].prefix_bits, want[w].value});
      ++w;
    } else if (w == want.size() || order(have[h]) < order(want[w])) {
      deletes.push_back({BlockChange::kDelete, have[h].base, have[h].prefix_bits, have[h].value});
      ++h;
    } else {
      if (!same_value(have[h].value, want[w].value)) {
        overwrites.push_back({BlockChange::kOverwrite, want[w].base, want[w].prefix_bits, want[w].value});
      }
      ++h;
      ++w;
    }
  }
  sort_longest_first(adds);
  sort_longest_first(overwrites);
  sort_longest_first(deletes);
  adds.insert(adds.end(), overwrites.begin(), overwrites.end());
  adds.insert(adds.end(), deletes.begin(), deletes.end());
  return adds;
}

std::vector<PublishedBlock> after_operations(std::span<const PublishedBlock> blocks, std::span<const BlockOperation> operations,
                                             size_t applied) {
  CHECK(applied <= operations.size());
  std::map<std::pair<RuntimeAddr, uint8_t>, mapping_value> state;
  for (const PublishedBlock& block : blocks) state[order(block)] = block.value;
  for (const BlockOperation& operation : operations.first(applied)) {
    const std::pair at(operation.base, operation.prefix_bits);
    if (operation.change == BlockChange::kDelete) {
      state.erase(at);
    } else {
      state[at] = operation.value;
    }
  }
  std::vector<PublishedBlock> after;
  after.reserve(state.size());
  for (const auto& [at, value] : state) after.push_back({at.first, at.second, value});
  return after;
}

}  // namespace cicada::process
