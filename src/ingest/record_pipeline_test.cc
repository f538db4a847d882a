// SPDX-License-Identifier: Apache-2.0
// Records to samples beside a /proc that does not answer.
#include "ingest/record_pipeline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "abi/frame.h"
#include "base/monotonic_clock.h"
#include "process/procfs/proc_fs.h"
#include "process/tracking/process_fixture_for_test.h"

namespace cicada::ingest {
namespace {

// Whoever reads waits for the answer; a minute at most, so that a test that waits for a reader fails and does not hang.
class SilentProc {
 public:
  template <typename Answer>
  Answer read(Answer answer) {
    std::unique_lock lock(mutex_);
    ++readers_;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::minutes(1), [&] { return answers_; });
    answers_ = true;
    return answer;
  }
  void answer() {
    const std::lock_guard lock(mutex_);
    answers_ = true;
    changed_.notify_all();
  }
  void wait_for_readers(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return readers_ >= count; });
  }
  bool is_silent() {
    const std::lock_guard lock(mutex_);
    return !answers_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t readers_ = 0;
  bool answers_ = false;
};

class NoEvents final : public process::MappingEventSource {
 public:
  int poll_fd() const override { return -1; }
  Result<void> follow_cpus() override { return {}; }
  uint64_t drain(uint64_t, const Wants&, const Consumer&) override { return 0; }
  const process::MappingEventCounts& counts() const override { return counts_; }

 private:
  process::MappingEventCounts counts_;
};

class NoTables final : public TableRequests {
 public:
  void request_again(uint32_t) override {}
  void request_newer(uint32_t, uint64_t) override {}
};

class RecordPipelineTest : public testing::Test {
 protected:
  RecordPipelineTest() {
    process::ProcessMetadataCache::Options options;
    options.read_file = [this](const std::string&, size_t) { return maps_.read(Result<std::string>(std::string())); };
    metadata = std::make_shared<process::ProcessMetadataCache>(options);
    metadata_reader = std::make_unique<MetadataReader>(metadata, true);
    Tracker::Options tracking;
    tracking.metadata = metadata;
    tracking.read_maps = process::MapsScanner::one_by_one([this](Pid) { return maps_.read(Result<process::MapsFile>(process::MapsFile())); });
    auto opened = Tracker::open(std::make_unique<NoEvents>(), kernel, images, std::move(tracking));
    CHECK(opened);
    tracker = std::move(*opened);
    profile.header.events = {{.name = "clock"}};
    pipeline = std::make_unique<RecordPipeline>(
        profile, RecordPipeline::Parts{*tracker, images, unwinders, tables, jit, java, *metadata_reader, *metadata});
  }
  ~RecordPipelineTest() override {
    maps_.answer();
    tracker->stop();
  }

  template <typename Record>
  void take(const Record& record, std::span<const uint64_t> frames = {}) {
    std::vector<uint8_t> bytes(sizeof record + frames.size_bytes());
    std::memcpy(bytes.data(), &record, sizeof record);
    if (!frames.empty()) std::memcpy(bytes.data() + sizeof record, frames.data(), frames.size_bytes());
    pipeline->take(bytes, monotonic_ns());
  }
  void take_stack() {
    stack_record stack{};
    stack.kind = RECORD_STACK;
    stack.frame_count = 1;
    stack.side = STACK_USER;
    stack.hash = 42;
    const uint64_t frame = frame_at(FRAME_UNKNOWN, 0x1000);
    take(stack, {&frame, 1});
  }
  void take_sample(uint32_t start_ticks_low, Tid tid, uint64_t text_hash = 0) {
    sample_record sample{};
    sample.group = text_hash != 0 ? GROUP_TEXT : GROUP_NONE;
    sample.begin_ns = text_hash;
    sample.kind = RECORD_SAMPLE;
    sample.pid = ::getpid();
    sample.tid = tid;
    sample.time_ns = monotonic_ns();
    sample.user_stack = 42;
    sample.value = 1;
    sample.address_space = kernel.processes[::getpid()].address_space;
    sample.end_reason = END_OUTERMOST;
    sample.start_ticks_low = start_ticks_low;
    take(sample);
  }

  SilentProc maps_;
  process::FakeKernel kernel;
  process::ImageRegistry images{{}};
  ImageUnwinders unwinders{images};
  NoTables tables;
  JitRecorder jit;
  JavaMachines java{{[](uint32_t) { return 0; }, [](uint32_t, const java_code*) {}, [](uint32_t) {}}};
  std::shared_ptr<process::ProcessMetadataCache> metadata;
  std::unique_ptr<MetadataReader> metadata_reader;
  std::unique_ptr<Tracker> tracker;
  profile::Profile profile;
  std::unique_ptr<RecordPipeline> pipeline;
};

// Maps of a process, its command line and environment do not come. The ring is emptied all the same, and what was sampled is stored.
TEST_F(RecordPipelineTest, NeverWaitsForProc) {
  ASSERT_TRUE(tracker->adopt(::getpid()));
  tracker->start();
  maps_.wait_for_readers(1);
  const auto ticks = static_cast<uint32_t>(process::read_stat(::getpid())->start_ticks);
  constexpr size_t kSamples = 2000;
  take_stack();
  for (size_t i = 0; i < kSamples; ++i) {
    take_sample(ticks, ::getpid() + static_cast<Tid>(i % 7));
    if (i % 100 == 0) pipeline->end_batch(monotonic_ns(), true);
    if (i % 500 == 0) pipeline->end_cycle();
  }
  maps_.wait_for_readers(2);  // the metadata's, too
  while (profile.sample_count() < kSamples && maps_.is_silent()) {
    pipeline->end_batch(monotonic_ns(), true);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(maps_.is_silent());
  EXPECT_EQ(profile.sample_count(), kSamples);
  maps_.answer();
  pipeline->finish();
  EXPECT_EQ(profile.sample_count(), kSamples);
}

// Samples wait; texts are there by then, and after a compaction.
TEST_F(RecordPipelineTest, GroupsHaveTheirTexts) {
  ASSERT_TRUE(tracker->adopt(::getpid()));
  tracker->start();
  const auto ticks = static_cast<uint32_t>(process::read_stat(::getpid())->start_ticks);
  take_stack();
  text_record text{};
  text.kind = RECORD_TEXT;
  text.bytes = 5;
  text.hash = 99;
  const uint64_t word = 0x6f6c6c6568;  // "hello"
  take(text, {&word, 1});
  text.bytes = LONGEST_TEXT + 1;  // a lie
  take(text, {&word, 1});
  EXPECT_EQ(pipeline->malformed(), 1u);
  take_sample(ticks, ::getpid(), 99);
  take_sample(ticks, ::getpid(), 98);
  maps_.answer();
  pipeline->finish();
  ASSERT_EQ(profile.sample_count(), 2u);
  std::multiset<std::string> groups;
  for (size_t i = 0; i < profile.sample_count(); ++i)
    for (const profile::Label& label : profile.labels(profile.sample(i).labels))
      if (profile.text(label.key) == profile::kGroupLabel) groups.emplace(profile.text(label.value));
  EXPECT_EQ(groups, (std::multiset<std::string>{"hello", "[others]"}));
}

}  // namespace
}  // namespace cicada::ingest
