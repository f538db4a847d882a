// SPDX-License-Identifier: Apache-2.0
// The minimal cover in linear time.
//
// ORTC gives every node of the binary trie the set S of ranges that may be inherited there at no extra cost: a leaf inside range
// r has {r}, an unmapped leaf has all; a node has the intersection of its children's sets, or their union where they share nothing.
// Going down, a node whose inherited range is in S needs no entry; else it takes one of S.
//
// Three facts make the sets vanish:
//  1. A block that meets only one range is a leaf {r}: all the rest of it is don't-care. So the trie has O(ranges) leaves.
//  2. Ranges are disjoint, so at most one of them, the straddler of a node's middle, meets both children: the intersection is
//     {straddler} or nothing, and it needs two bits per node: "is the first (last) range of this block in S?"
//  3. Where the intersection is empty, an entry at the node saves nothing over entries further down (either child needs its own
//     anyway), so entries stand only at leaves and at nodes whose straddler is in both sets.
#include "process/tracking/address_blocks.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace cicada::process {
namespace {

constexpr uint32_t kNone = 0xffffffff;

// Of the aligned block with this base: the last address, for any number of free bits up to 64.
constexpr uint64_t last_of(uint64_t base, unsigned free_bits) {
  return free_bits == 64 ? ~uint64_t{0} : base | ((uint64_t{1} << free_bits) - 1);
}

// The smallest aligned block with both addresses.
AddressBlock smallest_block(uint64_t first, uint64_t last, uint32_t range) {
  const unsigned prefix = first == last ? 64 : static_cast<unsigned>(std::countl_zero(first ^ last));
  const uint64_t base = prefix == 64 ? first : prefix == 0 ? 0 : first & ~last_of(0, 64 - prefix);
  return {RuntimeAddr(base), static_cast<uint8_t>(prefix), range};
}

struct Cover {
  std::span<const Range<RuntimeAddr>> ranges;  // no empty ones
  std::vector<uint32_t> index;                 // of the caller's range
  std::vector<uint32_t> entry;                 // of each inner node in preorder: its straddler if that is in both sets

  uint64_t first(size_t i) const { return ranges[index[i]].begin.value; }
  uint64_t last(size_t i) const { return ranges[index[i]].end.value - 1; }

  struct InSet {
    bool first = true, last = true;
  };

  // Ranges [begin, end) meet the block: at least two. Children that meet only one are leaves, children that meet none vanish.
  InSet plan(uint64_t base, unsigned free_bits, size_t begin, size_t end) {
    if (end - begin == 1) return {};
    const size_t node = entry.size();
    entry.push_back(kNone);
    const auto [middle, left_end, right_begin] = split(base, free_bits, begin, end);
    if (left_end == begin || right_begin == end) {
      entry.pop_back();  // one child is all don't-care: the node is its other child
      return left_end == begin ? plan(middle, free_bits - 1, begin, end) : plan(base, free_bits - 1, begin, end);
    }
    const InSet left = plan(base, free_bits - 1, begin, left_end);
    const InSet right = plan(middle, free_bits - 1, right_begin, end);
    if (left_end > right_begin && left.last && right.first) {
      entry[node] = static_cast<uint32_t>(right_begin);
      return {right_begin == begin, right_begin + 1 == end};
    }
    return {left.first, right.last};
  }

  void emit(uint64_t base, unsigned free_bits, size_t begin, size_t end, uint32_t inherited, size_t& node,
            std::vector<AddressBlock>& blocks) const {
    if (end - begin == 1) {
      if (inherited == begin) return;
      blocks.push_back(smallest_block(std::max(base, first(begin)), std::min(last_of(base, free_bits), last(begin)), index[begin]));
      return;
    }
    const auto [middle, left_end, right_begin] = split(base, free_bits, begin, end);
    if (left_end == begin) return emit(middle, free_bits - 1, begin, end, inherited, node, blocks);
    if (right_begin == end) return emit(base, free_bits - 1, begin, end, inherited, node, blocks);
    const uint32_t straddler = entry[node++];
    if (straddler != kNone && straddler != inherited) {
      blocks.push_back({RuntimeAddr(base), static_cast<uint8_t>(64 - free_bits), index[straddler]});
      inherited = straddler;
    }
    emit(base, free_bits - 1, begin, left_end, inherited, node, blocks);
    emit(middle, free_bits - 1, right_begin, end, inherited, node, blocks);
  }

  struct Split {
    uint64_t middle;
    size_t left_end, right_begin;  // left: [begin, left_end); right: [right_begin, end); the straddler is in both
  };
  Split split(uint64_t base, unsigned free_bits, size_t begin, size_t end) const {
    const uint64_t middle = base | (uint64_t{1} << (free_bits - 1));
    const auto from = index.begin();
    const auto at = std::partition_point(from + static_cast<ptrdiff_t>(begin), from + static_cast<ptrdiff_t>(end),
                                         [&](uint32_t i) { return ranges[i].end.value - 1 < middle; });
    const auto right_begin = static_cast<size_t>(at - from);
    const bool straddles = right_begin < end && first(right_begin) < middle;
    return {middle, right_begin + (straddles ? 1 : 0), right_begin};
  }
};

}  // namespace

std::vector<AddressBlock> minimal_blocks(std::span<const Range<RuntimeAddr>> ranges) {
  Cover cover{ranges, {}, {}};
  cover.index.reserve(ranges.size());
  cover.entry.reserve(ranges.size());
  for (uint32_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].empty()) continue;
    CHECK(cover.index.empty() || ranges[cover.index.back()].end <= ranges[i].begin);
    cover.index.push_back(i);
  }
  std::vector<AddressBlock> blocks;
  if (cover.index.empty()) return blocks;
  blocks.reserve(cover.index.size() + cover.index.size() / 4);
  cover.plan(0, 64, 0, cover.index.size());
  size_t node = 0;
  cover.emit(0, 64, 0, cover.index.size(), kNone, node, blocks);
  return blocks;
}

std::vector<AddressBlock> exact_blocks(std::span<const Range<RuntimeAddr>> ranges) {
  std::vector<AddressBlock> blocks;
  for (uint32_t i = 0; i < ranges.size(); ++i) {
    uint64_t begin = ranges[i].begin.value;
    const uint64_t end = ranges[i].end.value;
    while (begin < end) {
      // The largest block that begins here, is aligned, and does not reach beyond the end.
      const auto aligned = static_cast<unsigned>(begin == 0 ? 63 : std::countr_zero(begin));
      const auto fits = static_cast<unsigned>(63 - std::countl_zero(end - begin));
      const unsigned free_bits = std::min(aligned, fits);
      blocks.push_back({RuntimeAddr(begin), static_cast<uint8_t>(64 - free_bits), i});
      begin += uint64_t{1} << free_bits;
    }
  }
  return blocks;
}

}  // namespace cicada::process
