// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/address_blocks.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

namespace cicada::process {
namespace {

using Ranges = std::vector<Range<RuntimeAddr>>;
constexpr uint32_t kUnmapped = 0xffffffff;

bool covers(const AddressBlock& block, uint64_t address) {
  return block.prefix_bits == 0 || ((address ^ block.base.value) >> (64 - block.prefix_bits)) == 0;
}

// Longest match by linear scan.
uint32_t look_up(const std::vector<AddressBlock>& blocks, uint64_t address) {
  const AddressBlock* best = nullptr;
  for (const AddressBlock& block : blocks) {
    if (covers(block, address) && (best == nullptr || block.prefix_bits >= best->prefix_bits)) best = &block;
  }
  return best == nullptr ? kUnmapped : best->range;
}

// A tiny universe: 2^bits cells, each `cell` bytes, the whole at `base`.
struct Universe {
  unsigned bits;
  uint64_t base;
  unsigned cell_bits;

  std::vector<uint32_t> labels(const Ranges& ranges) const {
    std::vector<uint32_t> cells(size_t{1} << bits, kUnmapped);
    for (size_t cell = 0; cell < cells.size(); ++cell) {
      for (uint32_t i = 0; i < ranges.size(); ++i) {
        if (ranges[i].contains(RuntimeAddr(base + (uint64_t{cell} << cell_bits)))) cells[cell] = i;
      }
    }
    return cells;
  }
};

// The optimum by dynamic programming over every choice of an entry at every node: no insight of ORTC's in it.
size_t cheapest(const std::vector<uint32_t>& cells, size_t begin, size_t end, uint32_t inherited, uint32_t range_count,
                std::map<std::tuple<size_t, size_t, uint32_t>, size_t>& known) {
  const auto key = std::tuple(begin, end, inherited);
  if (const auto at = known.find(key); at != known.end()) return at->second;
  const auto below = [&](uint32_t with) -> size_t {
    if (end - begin == 1) return cells[begin] == kUnmapped || cells[begin] == with ? 0 : 1000;
    const size_t middle = (begin + end) / 2;
    return cheapest(cells, begin, middle, with, range_count, known) + cheapest(cells, middle, end, with, range_count, known);
  };
  size_t best = below(inherited);
  for (uint32_t i = 0; i < range_count; ++i) best = std::min(best, 1 + below(i));
  known.emplace(key, best);
  return best;
}

void expect_right(const Universe& universe, const Ranges& ranges) {
  const std::vector<AddressBlock> blocks = minimal_blocks(ranges);
  const std::vector<uint32_t> cells = universe.labels(ranges);
  for (size_t cell = 0; cell < cells.size(); ++cell) {
    if (cells[cell] == kUnmapped) continue;
    const uint64_t first = universe.base + (uint64_t{cell} << universe.cell_bits);
    ASSERT_EQ(look_up(blocks, first), cells[cell]);
    ASSERT_EQ(look_up(blocks, first + ((uint64_t{1} << universe.cell_bits) - 1)), cells[cell]);
  }
  std::map<std::tuple<size_t, size_t, uint32_t>, size_t> known;
  ASSERT_EQ(blocks.size(), cheapest(cells, 0, cells.size(), kUnmapped, static_cast<uint32_t>(ranges.size()), known));
}

// Every set of disjoint ranges over the cells.
void for_all_sets(const Universe& universe, const std::function<void(const Ranges&)>& visit) {
  const size_t cells = size_t{1} << universe.bits;
  Ranges ranges;
  const auto address = [&](size_t cell) { return RuntimeAddr(universe.base + (uint64_t{cell} << universe.cell_bits)); };
  const std::function<void(size_t)> from = [&](size_t cell) {
    if (cell == cells) return visit(ranges);
    from(cell + 1);
    for (size_t end = cell + 1; end <= cells; ++end) {
      if (address(end).value == 0) continue;  // 2^64 is no address: such a range cannot be written down
      ranges.push_back({address(cell), address(end)});
      from(end);
      ranges.pop_back();
    }
  };
  from(0);
}

TEST(MinimalBlocks, IsRightAndMinimalForEverySetOfRangesInEightCells) {
  for (const Universe universe : {Universe{3, 0, 0}, Universe{3, 0x7fff'ffff'8000, 12}, Universe{3, 0, 61}}) {
    size_t sets = 0;
    for_all_sets(universe, [&](const Ranges& ranges) {
      ++sets;
      expect_right(universe, ranges);
    });
    EXPECT_GT(sets, 600u);
    if (HasFatalFailure()) return;
  }
}

TEST(MinimalBlocks, IsRightAndMinimalAtTheEndOfTheAddressSpace) {
  const Universe universe{3, 0ull - (8ull << 12), 12};
  for_all_sets(universe, [&](const Ranges& ranges) { expect_right(universe, ranges); });
}

TEST(MinimalBlocks, IsRightAndMinimalForRandomSetsIn64Cells) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 150; ++round) {
    const Universe universe{6, uint64_t{1} << 40, 12};
    Ranges ranges;
    const unsigned density = 1 + static_cast<unsigned>(random() % 12);
    for (size_t cell = random() % density; cell < 64;) {
      const size_t end = std::min<size_t>(64, cell + 1 + random() % density);
      ranges.push_back({RuntimeAddr(universe.base + (uint64_t{cell} << 12)), RuntimeAddr(universe.base + (uint64_t{end} << 12))});
      cell = end + random() % density;
    }
    expect_right(universe, ranges);
    if (HasFatalFailure()) return;
  }
}

TEST(MinimalBlocks, IsSortedAndAligned) {
  std::mt19937_64 random(2);
  Ranges ranges;
  uint64_t at = 0x5555'0000'0000;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t begin = at + (random() % 16) * 4096;
    at = begin + (1 + random() % 64) * 4096;
    ranges.push_back({RuntimeAddr(begin), RuntimeAddr(at)});
  }
  const auto blocks = minimal_blocks(ranges);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const uint64_t rest = blocks[i].prefix_bits == 64 ? 0 : blocks[i].prefix_bits == 0 ? ~0ull : ~0ull >> blocks[i].prefix_bits;
    EXPECT_EQ(blocks[i].base.value & rest, 0u);
    if (i > 0) {
      EXPECT_LT(std::pair(blocks[i - 1].base, blocks[i - 1].prefix_bits), std::pair(blocks[i].base, blocks[i].prefix_bits));
    }
  }
}

TEST(MinimalBlocks, OneRangeIsOneBlockHoweverItLies) {
  const Ranges ranges{{RuntimeAddr(0x1000), RuntimeAddr(0x4000)}};
  const auto blocks = minimal_blocks(ranges);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0], (AddressBlock{RuntimeAddr(0), 50, 0}));
  const Ranges middle{{RuntimeAddr((uint64_t{1} << 63) - 1), RuntimeAddr((uint64_t{1} << 63) + 1)}};
  EXPECT_EQ(minimal_blocks(middle), (std::vector<AddressBlock>{{RuntimeAddr(0), 0, 0}}));
  const Ranges highest{{RuntimeAddr(~0ull - 1), RuntimeAddr(~0ull)}};
  EXPECT_EQ(minimal_blocks(highest), (std::vector<AddressBlock>{{RuntimeAddr(~0ull - 1), 64, 0}}));
}

TEST(MinimalBlocks, EmptyRangesGiveNone) {
  EXPECT_TRUE(minimal_blocks({}).empty());
  const Ranges ranges{{RuntimeAddr(5), RuntimeAddr(5)}, {RuntimeAddr(8), RuntimeAddr(9)}, {RuntimeAddr(9), RuntimeAddr(9)}};
  const auto blocks = minimal_blocks(ranges);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].range, 1u);
}

TEST(ExactBlocks, CoverEveryByteExactlyOnceAndNothingElse) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 500; ++round) {
    const uint64_t a = random(), b = random();
    const Ranges ranges{{RuntimeAddr(std::min(a, b)), RuntimeAddr(std::max(a, b))}};
    uint64_t at = ranges[0].begin.value;
    for (const AddressBlock& block : exact_blocks(ranges)) {
      EXPECT_EQ(block.base.value, at);
      at += uint64_t{1} << (64 - block.prefix_bits);
    }
    EXPECT_EQ(at, ranges[0].end.value);
  }
  EXPECT_EQ(exact_blocks(Ranges{{RuntimeAddr(0), RuntimeAddr(~0ull)}}).size(), 64u);
}

}  // namespace
}  // namespace cicada::process
