// SPDX-License-Identifier: Apache-2.0
// Stacks of JIT code with frame pointers, in address spaces from a script.
#include "ingest/deferred_unwinder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <set>
#include <thread>

#include "abi/frame.h"
#include "base/monotonic_clock.h"
#include "unwind/rows/row_table.h"

namespace cicada::ingest {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kCode = 0x7e0000000000, kStack = 0x7ffc00001000;
constexpr uint32_t kSpace = 5;

// Answers under a lock: the walk asks from its thread.
class ScriptedMappings final : public MappingHistory {
 public:
  std::atomic<uint64_t> watermark = ~uint64_t{0};
  std::atomic<int> polls = 0;
  std::atomic<uint64_t> retained_since = 0;
  std::atomic<bool> mapped = true, expected = false;

  void map(mapping_value value) {
    const std::lock_guard lock(mutex_);
    value_ = value;
  }
  void replace(process::StaleMapping stale) {
    const std::lock_guard lock(mutex_);
    stale_.push_back(stale);
  }
  uint64_t watermark_ns() const override { return watermark; }
  void request_poll() override { ++polls; }
  void retain_exited_since(uint64_t submitted_ns) override { retained_since = submitted_ns; }
  std::optional<mapping_value> find_mapping(uint32_t address_space, RuntimeAddr address) const override {
    const std::lock_guard lock(mutex_);
    if (!mapped || address_space != kSpace || address.value < value_.begin || address.value >= value_.end) return std::nullopt;
    return value_;
  }
  bool is_expected(uint32_t, RuntimeAddr) const override { return expected; }
  std::vector<process::StaleMapping> find_stale(uint32_t, Pid, uint64_t, bool later) const override {
    const std::lock_guard lock(mutex_);
    return later ? stale_ : std::vector<process::StaleMapping>();
  }
  uint64_t stale_until_ns() const override {
    const std::lock_guard lock(mutex_);
    return stale_.empty() ? 0 : ~uint64_t{0};
  }

 private:
  mutable std::mutex mutex_;
  mapping_value value_{.begin = kCode, .end = kCode + 0x1000, .bias = 0, .image = 0, .flags = MAPPING_JIT};
  std::vector<process::StaleMapping> stale_;
};

class Tables final : public TableRequests {
 public:
  std::vector<uint32_t> requested;  // read after finish(); again with each attempt
  std::vector<std::pair<uint32_t, uint64_t>> newer;
  void request_again(uint32_t image) override { requested.push_back(image); }
  void request_newer(uint32_t image, uint64_t version) override { newer.emplace_back(image, version); }
};

class DeferredUnwinderTest : public testing::Test {
 protected:
  // The leaf at kCode + 0x10 was called by kCode + 0x20, that by nobody.
  static UnwindJob job(uint64_t time_ns, uint64_t number = 1, size_t stack_bytes = ARCH_RED_ZONE + 32) {
    UnwindJob job;
    job.sample = {};
    job.sample.time_ns = time_ns;
    job.sample.value = number;
    job.arrived_ns = monotonic_ns();
    unwind_request head{};
    head.kind = RECORD_UNWIND_REQUEST;
    head.time_ns = time_ns;
    head.address_space = kSpace;
    head.end_reason = END_NO_TABLE;
    head.all_registers = 1;
    head.gpr[ARCH_SP] = kStack;
    head.gpr[ARCH_FP] = kStack;
    head.ip = kCode + 0x10;
    head.stack_bytes = static_cast<uint32_t>(stack_bytes);
    head.pages = ~uint64_t{0};
    std::vector<uint8_t> record(sizeof head + stack_bytes);
    std::memcpy(record.data(), &head, sizeof head);
    const uint64_t words[] = {kStack + 16, kCode + 0x20, 0, 0};
    std::memcpy(record.data() + sizeof head + ARCH_RED_ZONE, words, sizeof words);
    job.record = BytePool().copy(record);
    return job;
  }
  // Of one job.
  FinishedWalk wait() {
    for (;;) {
      std::vector<FinishedWalk> finished = unwinder.take();
      if (!finished.empty()) {
        EXPECT_EQ(finished.size(), 1u);
        return finished[0];
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  static std::vector<uint64_t> both_frames() { return {frame_at(FRAME_JIT, kCode + 0x10), frame_at(FRAME_JIT, kCode + 0x1f)}; }

  ScriptedMappings mappings;
  process::ImageRegistry registry{{}};
  ImageUnwinders images{registry};
  Tables tables;
  DeferredUnwinder unwinder{mappings, images, tables};
};

TEST_F(DeferredUnwinderTest, FinishesAWalkOnItsCopy) {
  ASSERT_TRUE(unwinder.submit(job(monotonic_ns(), 77)));
  const FinishedWalk walk = wait();
  EXPECT_EQ(walk.sample.value, 77u);
  EXPECT_EQ(walk.frames, both_frames());
  EXPECT_EQ(walk.end_reason, END_DEFERRED);
  EXPECT_EQ(mappings.polls, 0);
}

TEST_F(DeferredUnwinderTest, WaitsForTheMappingsOfItsSubmission) {
  mappings.watermark = 0;
  mappings.mapped = false;
  const uint64_t begin = monotonic_ns();
  ASSERT_TRUE(unwinder.submit(job(begin + 600'000 * kMs)));
  while (mappings.polls == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(unwinder.take().empty());
  EXPECT_GE(mappings.retained_since, begin);
  mappings.mapped = true;
  mappings.watermark = monotonic_ns() + 1;
  EXPECT_EQ(wait().frames, both_frames());
  EXPECT_EQ(mappings.retained_since, 0u) << "nobody waits any more";
}

TEST_F(DeferredUnwinderTest, WaitsNotForEver) {
  mappings.watermark = 0;
  const uint64_t begin = monotonic_ns();
  ASSERT_TRUE(unwinder.submit(job(begin)));
  EXPECT_EQ(wait().frames, both_frames());
  EXPECT_GE(monotonic_ns() - begin, PendingSamples::kMaxWaitNs);
}

TEST_F(DeferredUnwinderTest, AtTheEndNobodyWaits) {
  mappings.watermark = 0;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(unwinder.submit(job(monotonic_ns())));
  unwinder.finish();
  EXPECT_EQ(unwinder.take().size(), 20u);
}

TEST_F(DeferredUnwinderTest, AMappingThatComesLateIsFound) {
  mappings.mapped = false;
  ASSERT_TRUE(unwinder.submit(job(monotonic_ns() + 600'000 * kMs)));
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  mappings.mapped = true;
  EXPECT_EQ(wait().frames, both_frames());
}

TEST_F(DeferredUnwinderTest, WhatIsExpectedIsWaitedForLonger) {
  mappings.mapped = false;
  mappings.expected = true;
  const uint64_t then = monotonic_ns() - 300 * kMs;  // another would not be awaited any more
  ASSERT_TRUE(unwinder.submit(job(then)));
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  mappings.mapped = true;
  EXPECT_EQ(wait().frames, both_frames());
}

TEST_F(DeferredUnwinderTest, OneThatNeverComesIsNamedAsTheReason) {
  mappings.mapped = false;
  ASSERT_TRUE(unwinder.submit(job(monotonic_ns() - 1000 * kMs)));  // old: nothing is awaited
  EXPECT_EQ(wait().end_reason, END_DEFERRED_FAILED);
}

TEST_F(DeferredUnwinderTest, WhatWasReplacedSinceTheSampleIsWhatItRan) {
  const uint64_t now = monotonic_ns();
  mappings.map({.begin = kCode, .end = kCode + 0x1000, .bias = kCode, .image = 9, .flags = 0});
  process::StaleMapping replaced;
  replaced.range = {RuntimeAddr(kCode), RuntimeAddr(kCode + 0x1000)};
  replaced.was.state = process::BindingState::kJit;
  replaced.since_ns = now;
  mappings.replace(replaced);
  ASSERT_TRUE(unwinder.submit(job(now - 1)));
  EXPECT_EQ(wait().frames, both_frames());
  ASSERT_TRUE(unwinder.submit(job(now + 1)));
  EXPECT_EQ(wait().frames, std::vector<uint64_t>{frame_in_image(9, 0x10)}) << "later ones ran the new code, which has no file here";
}

TEST_F(DeferredUnwinderTest, AnImageWhoseTableWasMissingIsAskedForAgain) {
  mappings.map({.begin = kCode, .end = kCode + 0x1000, .bias = kCode, .image = 9, .flags = 0});
  ASSERT_TRUE(unwinder.submit(job(monotonic_ns())));
  wait();
  unwinder.finish();
  EXPECT_EQ(std::set(tables.requested.begin(), tables.requested.end()), std::set<uint32_t>{9});
}

// Compiles when it is told to, or to stop.
class SlowReader final : public ImageUnwinders::Reader {
 public:
  std::atomic<int> asked = 0;
  std::atomic<bool> comes = false;
  Result<unwind::UnwindRows> compile_rows(const process::ImageInfo&, int, const std::stop_token& stop) override {
    ++asked;
    while (!comes && !stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return unwind::UnwindRows();
  }
  Result<std::vector<unwind::CodeRule>> read_code(const process::ImageInfo&, int, const unwind::CodeQuestion&, const std::stop_token&) override {
    return make_error(ErrorKind::kUnsupported, "no code");
  }
  Result<std::vector<unwind::ImageStep>> take_steps(const process::ImageInfo&, int, uint32_t, std::span<const unwind::StepQuestion>,
                                                    const std::stop_token&) override {
    return make_error(ErrorKind::kUnsupported, "no steps");
  }
};

class DeferredUnwinderOfASlowTable : public DeferredUnwinderTest {
 protected:
  void SetUp() override {
    image = registry.vdso_image();
    if (image == 0) GTEST_SKIP() << "no vDSO";
    in_image.image = image;
    mappings.map(in_image);
  }
  void wait_until_asked() const {
    while (reader->asked == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  FinishedWalk wait_for_one(DeferredUnwinder& from) const {
    for (;;) {
      std::vector<FinishedWalk> finished = from.take();
      if (finished.size() == 1) return finished[0];
      EXPECT_TRUE(finished.empty());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  uint32_t image = 0;
  mapping_value in_image{.begin = kCode, .end = kCode + 0x1000, .bias = kCode, .image = 0, .flags = 0};
  std::shared_ptr<SlowReader> reader = std::make_shared<SlowReader>();
  ImageUnwinders slow{registry, reader};
  DeferredUnwinder waits{mappings, slow, tables};
};

TEST_F(DeferredUnwinderOfASlowTable, OthersOfTheSameOwnerGoFirst) {
  ASSERT_TRUE(waits.submit(job(monotonic_ns(), 1)));
  wait_until_asked();
  mappings.map({.begin = kCode, .end = kCode + 0x1000, .bias = 0, .image = 0, .flags = MAPPING_JIT});
  ASSERT_TRUE(waits.submit(job(monotonic_ns(), 2)));
  const FinishedWalk first = wait_for_one(waits);
  EXPECT_EQ(first.sample.value, 2U);
  EXPECT_EQ(first.frames, both_frames());
  EXPECT_NE(mappings.retained_since, 0U) << "the first still waits";
  mappings.map(in_image);
  reader->comes = true;
  const FinishedWalk second = wait_for_one(waits);
  EXPECT_EQ(second.sample.value, 1U);
  EXPECT_EQ(second.end_reason, END_DEFERRED);
  EXPECT_EQ(second.frames, (std::vector<uint64_t>{frame_in_image(image, 0x10), frame_in_image(image, 0x1f)}));
  EXPECT_EQ(reader->asked, 1);
}

TEST_F(DeferredUnwinderOfASlowTable, WhoeverCompilesItTheyGoOn) {
  ASSERT_TRUE(waits.submit(job(monotonic_ns(), 1)));
  wait_until_asked();
  std::jthread loader([&] { static_cast<void>(slow.get(image)); });
  reader->comes = true;
  EXPECT_EQ(wait_for_one(waits).end_reason, END_DEFERRED);
  ASSERT_TRUE(waits.submit(job(monotonic_ns(), 2)));
  EXPECT_EQ(wait_for_one(waits).end_reason, END_DEFERRED) << "it is there now";
}

TEST_F(DeferredUnwinderOfASlowTable, NobodyWaitsForEverForIt) {
  UnwindJob old = job(monotonic_ns(), 1);
  old.arrived_ns -= static_cast<uint64_t>(std::chrono::nanoseconds(DeferredUnwinder::kMaxWaitForTables - std::chrono::milliseconds(500)).count());
  ASSERT_TRUE(waits.submit(std::move(old)));
  EXPECT_EQ(wait_for_one(waits).end_reason, END_DEFERRED_FAILED);
  EXPECT_EQ(waits.first_arrival_ns(), UINT64_MAX);
}

TEST_F(DeferredUnwinderOfASlowTable, TheEndDoesNotWaitForIt) {
  for (uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(waits.submit(job(monotonic_ns(), i)));
  wait_until_asked();
  waits.finish();
  const std::vector<FinishedWalk> finished = waits.take();
  ASSERT_EQ(finished.size(), 100U);
  for (const FinishedWalk& walk : finished) EXPECT_EQ(walk.end_reason, END_DEFERRED_FAILED);
}

TEST_F(DeferredUnwinderTest, NobodyWaitsForAnothersWalk) {
  for (int i = 0; i < 2; ++i) {
    UnwindJob waits = job(monotonic_ns() + 60'000 * kMs);
    reinterpret_cast<unwind_request*>(waits.record.data())->address_space = kSpace + 1;  // whose mapping never comes
    waits.sample.uid = 1000;
    ASSERT_TRUE(unwinder.submit(std::move(waits)));
  }
  UnwindJob others = job(monotonic_ns(), 77);
  others.sample.uid = 1001;
  ASSERT_TRUE(unwinder.submit(std::move(others)));
  const FinishedWalk first = wait();
  EXPECT_EQ(first.sample.value, 77U);
  EXPECT_EQ(first.frames, both_frames());
}

// Of a process that has ended, or whose memory does not come (process_memory_test.cc): no frame is a trampoline's then.
TEST_F(DeferredUnwinderTest, MemoryThatCannotBeReadCostsNoStack) {
  UnwindJob asks = job(monotonic_ns());
  auto* const start = reinterpret_cast<unwind_request*>(asks.record.data());
  start->pid = 0x7fffffff;
  start->all_registers = 0;  // a return address: is it a trampoline's?
  ASSERT_TRUE(unwinder.submit(std::move(asks)));
  const FinishedWalk walk = wait();
  EXPECT_EQ(walk.frames, (std::vector<uint64_t>{frame_at(FRAME_JIT, kCode + 0xf), frame_at(FRAME_JIT, kCode + 0x1f)}));
}

TEST_F(DeferredUnwinderTest, IsBoundedInBytesAndFinishesWhatItTook) {
  mappings.mapped = false;  // the first job waits meanwhile
  const uint64_t then = monotonic_ns() + 60'000 * kMs;
  constexpr size_t kBytes = 1 << 20;
  size_t taken = 0;
  while (taken <= DeferredUnwinder::kMaxBytes / kBytes && unwinder.submit(job(then, taken, kBytes))) ++taken;
  EXPECT_GE(taken, DeferredUnwinder::kMaxBytes / kBytes - 1);
  EXPECT_LE(taken, DeferredUnwinder::kMaxBytes / kBytes + 1);
  EXPECT_FALSE(unwinder.submit(job(then, 0, 2 * kBytes)));
  mappings.mapped = true;
  unwinder.finish();
  const std::vector<FinishedWalk> finished = unwinder.take();
  ASSERT_EQ(finished.size(), taken);
  for (size_t i = 0; i < taken; ++i) EXPECT_EQ(finished[i].sample.value, i);
}

// Rows that leave all code unread, and rules of it, or none.
class UnreadCode final : public ImageUnwinders::Reader {
 public:
  std::atomic<int> asked = 0;
  std::atomic<bool> fails = false, comes = true, has_end = true;
  Result<unwind::UnwindRows> compile_rows(const process::ImageInfo&, int, const std::stop_token&) override {
    unwind::RowTable table;
    table.rows = {{0, table.rules.insert(unwind::unread_rule())}};
    if (has_end) table.rows.push_back({0x1000, 0});
    else table.rows = {{0, table.rows[0].rule}, {1, 0}, {2, table.rows[0].rule}};
    return unwind::UnwindRows(std::move(table));
  }
  Result<std::vector<unwind::CodeRule>> read_code(const process::ImageInfo&, int, const unwind::CodeQuestion& question, const std::stop_token& stop) override {
    ++asked;
    while (!comes && !stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(question.pieces.size(), 1U);
    if (fails) return make_error(ErrorKind::kGone, "the parser is gone");
    return std::vector<unwind::CodeRule>{{0, 0x1000, unwind::stack_pointer_plus(16)}};
  }
  Result<std::vector<unwind::ImageStep>> take_steps(const process::ImageInfo&, int, uint32_t, std::span<const unwind::StepQuestion>, const std::stop_token&) override {
    return make_error(ErrorKind::kUnsupported, "no steps");
  }
};

class DeferredUnwinderOfUnreadCode : public DeferredUnwinderTest {
 protected:
  void SetUp() override {
    image = registry.vdso_image();
    if (image == 0) GTEST_SKIP() << "no vDSO";
    mappings.map({.begin = kCode, .end = kCode + 0x1000, .bias = kCode, .image = image, .flags = 0});
  }
  // The kernel had a table, which leaves the code unread as well. The frame pointer is data.
  static UnwindJob left_by_the_kernel(uint64_t frame_pointer) {
    UnwindJob asked = job(monotonic_ns());
    unwind_request head = asked.start();
    head.end_reason = END_UNSUPPORTED_RULE;
    head.gpr[ARCH_FP] = frame_pointer;
    std::vector<uint8_t> record(asked.record.data(), asked.record.data() + asked.record.size());
    std::memcpy(record.data(), &head, sizeof head);
    asked.record = BytePool().copy(record);
    return asked;
  }
  FinishedWalk walk_one(uint64_t frame_pointer) {
    EXPECT_TRUE(reads.submit(left_by_the_kernel(frame_pointer)));
    for (;;) {
      std::vector<FinishedWalk> finished = reads.take();
      if (!finished.empty()) return finished[0];
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  std::vector<uint64_t> frames() const { return {frame_in_image(image, 0x10), frame_in_image(image, 0x1f)}; }

  uint32_t image = 0;
  std::shared_ptr<UnreadCode> reader = std::make_shared<UnreadCode>();
  ImageUnwinders unread{registry, reader};
  DeferredUnwinder reads{mappings, unread, tables};
};

TEST_F(DeferredUnwinderOfUnreadCode, ReadsItAndBeginsAnew) {
  const FinishedWalk first = walk_one(7);
  EXPECT_EQ(first.end_reason, END_DEFERRED);
  EXPECT_EQ(first.frames, frames());
  EXPECT_EQ(walk_one(7).frames, frames());
  EXPECT_EQ(reader->asked, 1);
  reads.finish();
  ASSERT_FALSE(tables.newer.empty()) << "the kernel's table is older";
  EXPECT_EQ(tables.newer.back().first, image);
  EXPECT_GT(tables.newer.back().second, 0U);
}

TEST_F(DeferredUnwinderOfUnreadCode, GoesByFramePointerIfItCannotBeRead) {
  reader->fails = true;
  const FinishedWalk first = walk_one(kStack);
  EXPECT_EQ(first.end_reason, END_DEFERRED);
  EXPECT_EQ(first.frames, frames());
  EXPECT_NE(walk_one(7).end_reason, END_DEFERRED);
  EXPECT_EQ(reader->asked, 1) << "once is enough";
}

TEST_F(DeferredUnwinderOfUnreadCode, StacksThatComeMeanwhileWaitForTheSameAnswer) {
  reader->comes = false;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(reads.submit(left_by_the_kernel(7)));
  while (reader->asked == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(reads.submit(left_by_the_kernel(7)));
  reader->comes = true;
  std::vector<FinishedWalk> all;
  while (all.size() < 40) {
    for (FinishedWalk& walk : reads.take()) all.push_back(std::move(walk));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (const FinishedWalk& walk : all) EXPECT_EQ(walk.frames, frames());
  EXPECT_EQ(reader->asked, 1);
}

TEST_F(DeferredUnwinderOfUnreadCode, GoesByFramePointerIfReadingLeadsNowhere) {
  reader->has_end = false;  // rows that say nothing of where the unread code ends
  const FinishedWalk first = walk_one(kStack);
  EXPECT_EQ(first.end_reason, END_DEFERRED);
  EXPECT_EQ(first.frames, frames());
  EXPECT_EQ(reader->asked, 1) << "of the byte whose end is known";
}

}  // namespace
}  // namespace cicada::ingest
