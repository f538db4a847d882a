// SPDX-License-Identifier: Apache-2.0
// Against real BPF maps; needs root.
#include "bpf_source/table_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "bpf_source/table_maps_for_test.h"
#include "unwind/rows/code_rule.h"
#include "unwind/rows/row_table.h"

namespace cicada::bpf_source {
namespace {

class TableStoreTest : public TableMapsTest {
 protected:
  static unwind::UnwindRows table_of(size_t rows) {
    unwind::RowTable table;
    table.rules.insert(unwind::stack_pointer_plus(8));
    table.rules.insert(unwind::stack_pointer_plus(16));
    for (size_t i = 0; i < rows; ++i) table.rows.push_back({static_cast<uint32_t>(0x1000 + i * 16), static_cast<uint32_t>(1 + i % 2)});
    return unwind::UnwindRows(std::move(table));
  }
};

TEST_F(TableStoreTest, MakesATableVisible) {
  TableStore store(maps(), 1 << 20);
  ASSERT_TRUE(store.load(7, table_of(1000)));
  EXPECT_TRUE(store.is_loaded(7));
  EXPECT_EQ(places[7].image, 7U);
  EXPECT_EQ(store.stats().tables, 1U);
}

TEST_F(TableStoreTest, EvictsTheLeastRecentlySampledBeyondTheCap) {
  TableStore store(maps(), 128 << 10);
  usage[1] = 100;
  usage[2] = 50;  // the oldest
  usage[3] = 200;
  ASSERT_TRUE(store.load(1, table_of(12'000)));
  ASSERT_TRUE(store.load(2, table_of(12'000)));
  ASSERT_TRUE(store.load(3, table_of(12'000)));
  ASSERT_TRUE(store.load(4, table_of(12'000)));
  EXPECT_FALSE(store.is_loaded(2));
  EXPECT_TRUE(store.is_loaded(4));
  EXPECT_GT(store.stats().evictions, 0U);
  EXPECT_LE(store.stats().slab_bytes, 128U << 10);
  EXPECT_GT(epoch, 0U) << "cached frames must be told";
}

TEST_F(TableStoreTest, RefusesWhatCanNeverFitAndSaysWhichLimit) {
  TableStore store(maps(), 64 << 10);
  const auto loaded = store.load(1, table_of(200'000));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind(), ErrorKind::kLimit);
  EXPECT_NE(loaded.error().message().find("--max-map-memory"), std::string::npos);
}

TEST_F(TableStoreTest, NobodyLeavesForWhatFitsNoSlab) {
  TableStore store(maps(), 5 << 20);
  ASSERT_TRUE(store.load(1, table_of(100'000)));  // a slab of 1 MiB
  ASSERT_TRUE(store.load(2, table_of(400'000)));  // and one of 4
  const auto loaded = store.load(3, table_of(1'300'000));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind(), ErrorKind::kLimit);
  EXPECT_NE(loaded.error().message().find("no room"), std::string::npos) << loaded.error().message();  // not larger than the cap
  EXPECT_EQ(store.stats().slab_bytes, 5U << 20);
  EXPECT_EQ(store.stats().evictions, 0U);
  EXPECT_TRUE(store.is_loaded(1) && store.is_loaded(2));
}

// Those whose table was still being written when the kernel refused the slab stayed loaded for ever, and no walk found them.
TEST_F(TableStoreTest, NoTableIsLoadedInASlabThatTheKernelRefused) {
  LIBBPF_OPTS(bpf_map_create_opts, inner_options, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
  const UniqueFd inner(::bpf_map_create(BPF_MAP_TYPE_ARRAY, "inner", 4, UNWIND_CHUNK_BYTES, 1, &inner_options));
  LIBBPF_OPTS(bpf_map_create_opts, outer_options, .inner_map_fd = static_cast<__u32>(inner.get()));
  const UniqueFd narrow(::bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "narrow", 4, 4, 1, &outer_options));
  TableStore store({narrow.get(), places, usage, &epoch}, 64 << 20);
  const auto small = table_of(1000), large = table_of(400'000);
  ASSERT_TRUE(store.load(9, small));  // slab 0, of 1 MiB: no room for a large one
  {
    std::vector<std::jthread> loaders;
    for (uint32_t image = 1; image <= 4; ++image) loaders.emplace_back([&, image] { static_cast<void>(store.load(image, large)); });
  }
  for (uint32_t image = 1; image <= 4; ++image) EXPECT_FALSE(store.is_loaded(image)) << image;
  EXPECT_TRUE(store.is_loaded(9));
  EXPECT_EQ(store.stats().tables, 1U);
}

// What the thread sanitizer is for: tables come and go on two threads while a third asks, as the deferred unwinder does.
TEST_F(TableStoreTest, IsAskedWhileOthersLoad) {
  TableStore store(maps(), 8 << 20);
  std::atomic<bool> done{false};
  uint64_t seen = 0;
  std::jthread asker([&] {
    while (!done) {
      for (uint32_t image = 1; image < 300; ++image) seen += store.is_loaded(image) ? 1 : 0;
    }
  });
  {
    std::vector<std::jthread> loaders;
    for (uint32_t first = 1; first <= 2; ++first) {
      loaders.emplace_back([&, first] {
        for (uint32_t image = first; image < 300; image += 2) {  // beyond the number of places
          if (image % 16 == first) {
            store.load_without_cfi(image);
          } else {
            EXPECT_TRUE(store.load(image, table_of(4000 + image)));
          }
        }
      });
    }
  }
  while (!store.is_loaded(299)) std::this_thread::yield();
  done = true;
  asker.join();
  EXPECT_GT(seen, 0U);
  EXPECT_FALSE(store.is_loaded(43)) << "299 has its place";
  EXPECT_LE(store.stats().table_bytes, store.stats().slab_bytes);
}

TEST_F(TableStoreTest, AnImageWithoutCfiIsLoadedAsSuch) {
  TableStore store(maps(), 1 << 20);
  store.load_without_cfi(9);
  EXPECT_TRUE(store.is_loaded(9));
  EXPECT_NE(places[9].flags & UNWIND_PLACE_NO_CFI, 0);
}

}  // namespace
}  // namespace cicada::bpf_source
