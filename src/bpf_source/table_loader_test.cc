// SPDX-License-Identifier: Apache-2.0
// Against real BPF maps; needs root.
#include "bpf_source/table_loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/monotonic_clock.h"
#include "bpf_source/table_maps_for_test.h"
#include "unwind/rows/row_table.h"

namespace cicada::bpf_source {
namespace {

constexpr uint32_t kEnd = 0x2000000;

// Code that is unread at first; a piece gets `rows` rules.
class UnreadCode final : public ingest::ImageUnwinders::Reader {
 public:
  std::atomic<uint32_t> rows = 10;
  Result<unwind::UnwindRows> compile_rows(const process::ImageInfo&, int, const std::stop_token&) override {
    unwind::RowTable table;
    table.rows = {{0x10, table.rules.insert(unwind::stack_pointer_plus(8))}, {0x1000, table.rules.insert(unwind::unread_rule())}, {kEnd, 0}};
    table.stats.covered_bytes = kEnd / 2;
    return unwind::UnwindRows(std::move(table));
  }
  Result<std::vector<unwind::CodeRule>> read_code(const process::ImageInfo&, int, const unwind::CodeQuestion& question, const std::stop_token&) override {
    std::vector<unwind::CodeRule> rules;
    const auto begin = static_cast<uint32_t>(question.pieces.front().begin.value);
    for (uint32_t i = 0; i < rows; ++i) rules.push_back({begin + i * 8, begin + i * 8 + 8, unwind::stack_pointer_plus(static_cast<int32_t>(16 + 8 * (i % 2)))});
    return rules;
  }
  Result<std::vector<unwind::ImageStep>> take_steps(const process::ImageInfo&, int, uint32_t, std::span<const unwind::StepQuestion>, const std::stop_token&) override {
    return make_error(ErrorKind::kUnsupported, "no steps");
  }
};

class TableLoaderTest : public TableMapsTest {
 protected:
  void SetUp() override {
    TableMapsTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    image = registry.vdso_image();
    if (image == 0) GTEST_SKIP() << "no vDSO";
    store.emplace(maps(), 1 << 20);
    loader.emplace(*store, unwinders, 1, [this](uint32_t of, const unwind::UnwindRows& rows) { told.emplace_back(of, rows.rows().size()); });
  }
  void wait_until_idle() const {
    while (!loader->idle()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // The version that has it.
  uint64_t read(uint32_t address) {
    const LinkAddr at(address);
    unwinders.read_code(image, {&at, 1}, monotonic_ns());
    return (**unwinders.find(image))->version();
  }

  process::ImageRegistry registry{{}};
  std::shared_ptr<UnreadCode> reader = std::make_shared<UnreadCode>();
  ingest::ImageUnwinders unwinders{registry, reader};
  uint32_t image = 0;
  std::vector<std::pair<uint32_t, size_t>> told;  // images and their rows; one worker
  std::optional<TableStore> store;
  std::optional<TableLoader> loader;
};

TEST_F(TableLoaderTest, TellsOfEachTable) {
  loader->request(image);
  loader->request(image);
  wait_until_idle();
  EXPECT_EQ(told, (std::vector<std::pair<uint32_t, size_t>>{{image, 3}}));
}

TEST_F(TableLoaderTest, LoadsANewerTableOnce) {
  loader->request(image);
  wait_until_idle();
  ASSERT_TRUE(store->is_loaded(image));
  const uint64_t first = loader->compiled();
  loader->request_newer(image, 0);
  wait_until_idle();
  EXPECT_EQ(loader->compiled(), first) << "there is none";
  const uint64_t version = read(0x1000);
  ASSERT_GT(version, 0U);
  loader->request_newer(image, version);
  wait_until_idle();
  EXPECT_EQ(loader->compiled(), first + 1);
  for (int i = 0; i < 100; ++i) loader->request_newer(image, version);
  wait_until_idle();
  EXPECT_EQ(loader->compiled(), first + 1) << "that one is there";
}

TEST_F(TableLoaderTest, LoadsThoseOfManySamplesRarely) {
  loader->request(image);
  wait_until_idle();
  const uint64_t first = loader->compiled();
  const auto begin = std::chrono::steady_clock::now();
  uint32_t address = 0x1000;
  while (std::chrono::steady_clock::now() < begin + 5 * TableLoader::kNewerAfter && address < kEnd) {
    loader->request_newer(image, read(address));
    address += code::Pieces::kBytes;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  wait_until_idle();
  const uint64_t pauses = static_cast<uint64_t>((std::chrono::steady_clock::now() - begin) / TableLoader::kNewerAfter);
  EXPECT_GE(loader->compiled(), first + 1);
  EXPECT_LE(loader->compiled(), first + 2 + pauses / 2) << "at once, after one pause, after two more, after four more";
}

TEST_F(TableLoaderTest, ATableThatNoLongerFitsStays) {
  loader->request(image);
  wait_until_idle();
  reader->rows = 30'000;
  store.emplace(maps(), UNWIND_CHUNK_BYTES);
  loader.emplace(*store, unwinders, 1);
  loader->request(image);
  wait_until_idle();
  ASSERT_TRUE(store->is_loaded(image));
  loader->request_newer(image, read(0x1000));
  wait_until_idle();
  EXPECT_EQ(store->stats().refused, 1U);
  EXPECT_TRUE(store->is_loaded(image)) << "the longer one does not fit";
}

}  // namespace
}  // namespace cicada::bpf_source
