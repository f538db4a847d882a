// SPDX-License-Identifier: Apache-2.0
// The kernel's lookup against the row table it was made from, and over tables that are garbage.
#include <gtest/gtest.h>

#include <random>

#include "elf/elf_file.h"
#include "host_reader.h"
#include "unwind/row_compiler.h"
#include "unwind/rows/table_layout.h"

namespace cicada {
namespace {

struct Loaded {
  unwind::UnwindRows rows;
  HostSlab slab;
  unwind_place place{};
};

Loaded load(const std::string& path, uint64_t start) {
  Loaded loaded;
  auto elf = elf::ElfFile::open(path);
  if (!elf) throw std::runtime_error(elf.error().message());
  loaded.rows = *unwind::compile_rows(*elf);
  const auto layout = unwind::TableLayout::plan(loaded.rows, start);
  loaded.slab.words.resize(((start + layout.size_bytes() + 65535) & ~uint64_t{65535}) / 4);
  layout.write(loaded.rows, 7, {reinterpret_cast<uint8_t*>(loaded.slab.words.data()), loaded.slab.words.size() * 4}, loaded.place);
  loaded.place.image = 7;
  loaded.place.flags |= UNWIND_PLACE_LOADED;
  return loaded;
}

int look_up(Loaded& loaded, uint64_t address, unwind_rule& rule) {
  const unwind_rule* found = nullptr;
  const int reason = unwind_lookup(&loaded.slab, &loaded.place, 7, address, &found);
  if (reason == END_NONE) rule = *found;
  return reason;
}

TEST(UnwindLookup, EqualsLinearTruthAtEveryRowOfLibc) {
  for (const uint64_t start : {uint64_t{64}, uint64_t{65536 - 64}}) {
    Loaded loaded = load("/lib/x86_64-linux-gnu/libc.so.6", start);
    ASSERT_GT(loaded.rows.rows().size(), 10000u);
    size_t wrong = 0;
    for (const unwind::Row& row : loaded.rows.rows()) {
      for (const uint64_t delta : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
        const LinkAddr address = loaded.rows.base() + (row.begin + delta);
        const unwind_rule& truth = loaded.rows.find(address);
        unwind_rule rule{};
        const int reason = look_up(loaded, address.value, rule);
        if (truth.cfa_kind == CFA_NONE)
          wrong += reason == END_NONE && rule.cfa_kind != CFA_NONE;
        else
          wrong += reason != END_NONE || std::memcmp(&rule, &truth, sizeof rule) != 0;
      }
    }
    EXPECT_EQ(wrong, 0u);
  }
}

TEST(UnwindLookup, SaysNoTableWhenThePlaceHasAnotherOwner) {
  Loaded loaded = load("/lib/x86_64-linux-gnu/libc.so.6", 64);
  const uint64_t address = (loaded.rows.base() + loaded.rows.rows()[10].begin).value;
  const unwind_rule* found = nullptr;
  EXPECT_EQ(unwind_lookup(&loaded.slab, &loaded.place, 8, address, &found), END_NO_TABLE);
  loaded.place.flags = 0;
  EXPECT_EQ(unwind_lookup(&loaded.slab, &loaded.place, 7, address, &found), END_NO_TABLE);
}

TEST(UnwindLookup, SaysNoRuleOutsideTheImage) {
  Loaded loaded = load("/lib/x86_64-linux-gnu/libc.so.6", 64);
  unwind_rule rule;
  for (const uint64_t address : {uint64_t{0}, ~uint64_t{0}, uint64_t{1} << 40}) EXPECT_EQ(look_up(loaded, address, rule), END_NO_RULE);
}

// Under ASan: whatever the bytes say, nothing outside the chunks is read.
TEST(UnwindLookup, StaysInsideItsChunksOverGarbage) {
  std::mt19937_64 random(20261121);
  Loaded loaded;
  loaded.slab.words.resize(3 * 65536 / 4);
  for (int round = 0; round < 300; round++) {
    for (uint32_t& word : loaded.slab.words) word = static_cast<uint32_t>(random()) >> (random() % 32);
    for (size_t i = 0; i < loaded.slab.words.size(); i += 10) loaded.slab.words[i] = 7;  // an owner here and there
    for (int i = 0; i < 1000; i++) {
      loaded.place = {7, static_cast<uint8_t>(random()), UNWIND_PLACE_LOADED, 0, static_cast<uint32_t>(random() % 60000), static_cast<uint32_t>(random()),
                      random() % 16, 1u << 20, static_cast<uint32_t>(random())};
      unwind_rule rule;
      look_up(loaded, random() >> (random() % 64), rule);
    }
  }
}

}  // namespace
}  // namespace cicada
