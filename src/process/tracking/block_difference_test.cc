// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/block_difference.h"

#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <random>

#include "base/unique_fd.h"
#include "process/tracking/address_space.h"

namespace cicada::process {
namespace {

Mapping image_at(uint64_t begin, uint64_t end, uint32_t image, uint64_t bias) {
  Mapping mapping;
  mapping.range = {RuntimeAddr(begin), RuntimeAddr(end)};
  mapping.binding = {BindingState::kImage, image, bias};
  return mapping;
}

// What the walk does: longest match, then begin/end.
std::optional<mapping_value> look_up(const std::vector<PublishedBlock>& blocks, uint64_t address) {
  const PublishedBlock* best = nullptr;
  for (const PublishedBlock& block : blocks) {
    const bool covers = block.prefix_bits == 0 || ((address ^ block.base.value) >> (64 - block.prefix_bits)) == 0;
    if (covers && (best == nullptr || block.prefix_bits > best->prefix_bits)) best = &block;
  }
  if (best == nullptr || address < best->value.begin || address >= best->value.end) return std::nullopt;
  return best->value;
}

constexpr uint64_t kBase = 0x7f00'0000'0000;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kPages = 96;

void change_at_random(AddressSpace& space, std::mt19937_64& random) {
  const uint64_t begin = random() % kPages;
  const uint64_t end = std::min(kPages, begin + 1 + random() % 24);
  const auto image = static_cast<uint32_t>(1 + random() % 5);
  space.insert(image_at(kBase + begin * kPage, kBase + end * kPage, image, (random() % 3) * kPage));
}

TEST(BlockDifference, NeverLiesInBetween) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    AddressSpace before;
    for (int i = 0; i < 8; ++i) change_at_random(before, random);
    AddressSpace after = before;
    for (uint64_t i = 0; i <= random() % 4; ++i) change_at_random(after, random);
    const auto have = before.blocks();
    const auto want = after.blocks();
    const auto operations = block_difference(have, want);
    for (size_t applied = 0; applied <= operations.size(); ++applied) {
      const auto state = after_operations(have, operations, applied);
      for (uint64_t page = 0; page < kPages; ++page) {
        const RuntimeAddr address(kBase + page * kPage);
        const auto seen = look_up(state, address.value);
        if (!seen) continue;
        const auto old_truth = before.find(address);
        const auto new_truth = after.find(address);
        ASSERT_TRUE((old_truth && same_value(*seen, *old_truth)) || (new_truth && same_value(*seen, *new_truth)));
      }
    }
    const auto end = after_operations(have, operations, operations.size());
    for (uint64_t page = 0; page < kPages; ++page) {
      const RuntimeAddr address(kBase + page * kPage);
      const auto seen = look_up(end, address.value);
      const auto truth = after.find(address);
      ASSERT_EQ(seen.has_value(), truth.has_value());
      ASSERT_TRUE(!seen || same_value(*seen, *truth));
    }
  }
}

TEST(BlockDifference, SameRangeOfAnotherImageIsAnOverwrite) {
  AddressSpace before, after;
  before.insert(image_at(kBase, kBase + kPage, 1, kBase));
  after.insert(image_at(kBase, kBase + kPage, 2, kBase));
  auto operations = block_difference(before.blocks(), after.blocks());
  ASSERT_EQ(operations.size(), 1u);
  EXPECT_EQ(operations[0].change, BlockChange::kOverwrite);
  EXPECT_EQ(operations[0].value.image, 2u);
  AddressSpace moved;
  moved.insert(image_at(kBase, kBase + kPage, 1, kBase - kPage));
  EXPECT_EQ(block_difference(before.blocks(), moved.blocks()).size(), 1u);
  EXPECT_TRUE(block_difference(before.blocks(), before.blocks()).empty());
}

TEST(BlockDifference, AddsComeBeforeDeletesAndLongPrefixesFirst) {
  AddressSpace before, after;
  for (uint64_t i = 0; i < 20; ++i) before.insert(image_at(kBase + i * 3 * kPage, kBase + (i * 3 + 2) * kPage, 1, i * kPage));
  for (uint64_t i = 0; i < 20; ++i) after.insert(image_at(kBase + i * 5 * kPage, kBase + (i * 5 + 3) * kPage, 2, i * kPage));
  const auto operations = block_difference(before.blocks(), after.blocks());
  for (size_t i = 1; i < operations.size(); ++i) {
    EXPECT_LE(operations[i - 1].change, operations[i].change);
    EXPECT_TRUE(operations[i - 1].change != operations[i].change || operations[i - 1].prefix_bits >= operations[i].prefix_bits);
  }
}

TEST(ToMappingKey, IsBigEndianAndCountsTheAddressSpaceBits) {
  const mapping_key key = to_mapping_key(0x01020304, RuntimeAddr(0x0a0b0c0d0e0f1011), 64);
  EXPECT_EQ(key.prefix_bits, 96u);
  const uint8_t expected[] = {1, 2, 3, 4, 10, 11, 12, 13, 14, 15, 16, 17};
  EXPECT_EQ(std::memcmp(reinterpret_cast<const uint8_t*>(&key) + 4, expected, sizeof expected), 0);
}

// The same property with the kernel's own trie, two address spaces in it that must not see each other.
TEST(BlockDifference, AgreesWithAKernelTrie) {
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
  const UniqueFd trie(bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, "blocks_test", sizeof(mapping_key), sizeof(mapping_value), 100000, &options));
  if (!trie) GTEST_SKIP() << "no permission to create BPF maps (needs root)";
  std::mt19937_64 random(7);
  std::map<uint32_t, AddressSpace> spaces;
  std::map<uint32_t, std::vector<PublishedBlock>> published;
  size_t looked_up = 0;
  for (int round = 0; round < 200; ++round) {
    const uint32_t id = 1 + static_cast<uint32_t>(random() % 3);
    change_at_random(spaces[id], random);
    if (random() % 20 == 0) spaces[id] = {};
    auto want = spaces[id].blocks();
    for (const BlockOperation& operation : block_difference(published[id], want)) {
      const mapping_key key = to_mapping_key(id, operation.base, operation.prefix_bits);
      const int error = operation.change == BlockChange::kDelete ? bpf_map_delete_elem(trie.get(), &key)
                                                                 : bpf_map_update_elem(trie.get(), &key, &operation.value, BPF_ANY);
      ASSERT_EQ(error, 0);
    }
    published[id] = std::move(want);
    for (const auto& [space, truth] : spaces) {
      for (uint64_t page = 0; page < kPages; ++page) {
        const RuntimeAddr address(kBase + page * kPage + random() % kPage);
        const mapping_key key = to_mapping_key(space, address, 64);
        mapping_value value{};
        const bool found = bpf_map_lookup_elem(trie.get(), &key, &value) == 0 && address.value >= value.begin && address.value < value.end;
        const auto expected = truth.find(address);
        ASSERT_EQ(found, expected.has_value());
        ASSERT_TRUE(!found || same_value(value, *expected));
        ++looked_up;
      }
    }
  }
  EXPECT_GT(looked_up, 10000u);
}

// Addresses at both ends of the 64 bits, where shifts by 64 and sums beyond 2^64 would show.
TEST(BlockDifference, AgreesWithAKernelTrieAtTheEndsOfTheAddressSpace) {
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
  const UniqueFd trie(bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, "blocks_test", sizeof(mapping_key), sizeof(mapping_value), 1000, &options));
  if (!trie) GTEST_SKIP() << "no permission to create BPF maps (needs root)";
  AddressSpace space;
  space.insert(image_at(0, 1, 1, 0));
  space.insert(image_at(1, kPage, 2, 0));
  space.insert(image_at(uint64_t{1} << 63, (uint64_t{1} << 63) + 1, 3, 0));
  space.insert(image_at(~0ull - kPage, ~0ull - 1, 4, 0));
  space.insert(image_at(~0ull - 1, ~0ull, 5, 0));
  for (const PublishedBlock& block : space.blocks()) {
    const mapping_key key = to_mapping_key(9, block.base, block.prefix_bits);
    ASSERT_EQ(bpf_map_update_elem(trie.get(), &key, &block.value, BPF_ANY), 0);
  }
  for (const auto& [address, image] : std::map<uint64_t, uint32_t>{{0, 1}, {1, 2}, {kPage - 1, 2}, {uint64_t{1} << 63, 3},
                                                                    {~0ull - kPage, 4}, {~0ull - 2, 4}, {~0ull - 1, 5}}) {
    const mapping_key key = to_mapping_key(9, RuntimeAddr(address), 64);
    mapping_value value{};
    ASSERT_EQ(bpf_map_lookup_elem(trie.get(), &key, &value), 0) << address;
    EXPECT_EQ(value.image, image) << address;
    EXPECT_TRUE(value.begin <= address && address < value.end);
  }
}

}  // namespace
}  // namespace cicada::process
