// SPDX-License-Identifier: Apache-2.0
#include "ingest/sample_assembler.h"

#include <gtest/gtest.h>

#include "abi/frame.h"
#include "ingest/metadata_reader.h"
#include "process/metadata/metadata_cache.h"

namespace cicada::ingest {
namespace {

constexpr uint64_t kMs = 1'000'000;

class ScriptedMappings final : public MappingHistory {
 public:
  uint64_t watermark = 0;
  std::vector<process::StaleMapping> stale;
  uint64_t watermark_ns() const override { return watermark; }
  void request_poll() override {}
  void retain_exited_since(uint64_t) override {}
  bool is_expected(uint32_t, RuntimeAddr) const override { return false; }
  std::optional<mapping_value> find_mapping(uint32_t, RuntimeAddr) const override { return std::nullopt; }
  std::vector<process::StaleMapping> find_stale(uint32_t, Pid, uint64_t time_ns, bool later) const override {
    std::vector<process::StaleMapping> found;
    for (const auto& one : stale)
      if (one.since_ns <= time_ns ? time_ns < one.published_ns : later) found.push_back(one);
    return found;
  }
  uint64_t stale_until_ns() const override { return stale.empty() ? 0 : ~uint64_t{0}; }
};

class SampleAssemblerTest : public testing::Test {
 protected:
  SampleAssemblerTest() {
    profile.header.events = {{.name = "clock"}, {.name = "faults", .unit = profile::Unit::kEvents}};
    stack_record user{};
    user.side = STACK_USER;
    user.hash = 1;
    user.address_space = 5;
    const uint64_t frames[] = {frame_in_image(1, 0x10), frame_in_image(1, 0x20)};
    stacks.add(user, frames);
  }
  sample_record sample(uint64_t time_ns, uint8_t flags = 0, int32_t tid = 7, uint8_t event = 0) const {
    sample_record s{};
    s.kind = RECORD_SAMPLE;
    s.pid = 7;
    s.tid = tid;
    s.event = event;
    s.time_ns = time_ns;
    s.user_stack = 1;
    s.value = 1;
    s.address_space = 5;
    s.end_reason = END_OUTERMOST;
    s.flags = flags;
    return s;
  }
  struct Request {
    unwind_request head{};
    UnwindRequest view() const { return {&head, {reinterpret_cast<const uint8_t*>(&head), sizeof head}}; }
  };
  static Request request(uint64_t time_ns, int32_t tid = 7) {
    Request r;
    r.head.kind = RECORD_UNWIND_REQUEST;
    r.head.time_ns = time_ns;
    r.head.tid = tid;
    return r;
  }

  profile::Profile profile;
  process::ImageRegistry images{{}};
  std::shared_ptr<process::ProcessMetadataCache> metadata = std::make_shared<process::ProcessMetadataCache>();
  MetadataReader reader{metadata, false};
  StackTable stacks{profile, images};
  ThreadTable threads{profile, reader};
  ScriptedMappings mappings;
  std::vector<UnwindJob> submitted;
  bool accepts = true;
  SampleAssembler assembler{profile, stacks, threads, mappings, [this](UnwindJob job) {
                              if (accepts) submitted.push_back(std::move(job));
                              return accepts;
                            }};
};

TEST_F(SampleAssemblerTest, ASampleIsStoredOnceWhatHappenedBeforeItsArrivalIsApplied) {
  assembler.add(sample(10 * kMs), 12 * kMs);
  mappings.watermark = 12 * kMs;
  assembler.flush_ready(13 * kMs);
  EXPECT_EQ(profile.sample_count(), 0u);
  mappings.watermark = 12 * kMs + 1;
  assembler.flush_ready(13 * kMs);
  ASSERT_EQ(profile.sample_count(), 1u);
  EXPECT_EQ(profile.sample(0).time_ns, 10 * kMs);
  EXPECT_EQ(profile.sample(0).end_reason, END_OUTERMOST);
  assembler.flush_ready(14 * kMs);
  assembler.flush();
  EXPECT_EQ(profile.sample_count(), 1u);
}

// A thread may change its rights; nobody runs idle.
TEST_F(SampleAssemblerTest, LabelsEachSampleWithItsUser) {
  mappings.watermark = 100;
  for (const uint32_t uid : {0U, 4'000'000'001U, 0U}) {
    sample_record s = sample(1);
    s.uid = uid;
    assembler.add(s, 1);
  }
  assembler.add(sample(1, SAMPLE_IDLE), 1);
  assembler.flush();
  ASSERT_EQ(profile.sample_count(), 4u);
  const auto user_of = [&](size_t i) { return profile.text(profile.labels(profile.sample(i).labels)[0].value); };
  EXPECT_EQ(user_of(0), "root");
  EXPECT_EQ(user_of(1), "4000000001");
  EXPECT_EQ(profile.sample(2).labels, profile.sample(0).labels);
  EXPECT_FALSE(profile.sample(3).labels.valid());
}

// So a wait and what ended it have their beginning in common.
TEST_F(SampleAssemblerTest, KeepsHowLongAWaitHasLasted) {
  mappings.watermark = 100 * kMs;
  for (const auto& [begin, time] : {std::pair<uint64_t, uint64_t>{0, 5}, {5, 12}, {13, 12}}) {
    sample_record s = sample(time);
    s.begin_ns = begin;
    assembler.add(s, 1);
  }
  assembler.flush();
  ASSERT_EQ(profile.sample_count(), 3u);
  EXPECT_EQ(profile.sample(0).lasted_ns, 0u);
  EXPECT_EQ(profile.sample(1).lasted_ns, 7u);
  EXPECT_EQ(profile.sample(2).lasted_ns, 0u);  // not believed
}

TEST_F(SampleAssemblerTest, KeepsEventAndValue) {
  sample_record s = sample(1);
  s.event = 1;
  s.value = uint64_t{1} << 50;
  assembler.add(s, 1);
  mappings.watermark = 10;
  assembler.flush_ready(10);
  ASSERT_EQ(profile.sample_count(), 1u);
  EXPECT_EQ(profile.sample(0).event.value, 1);
  EXPECT_EQ(profile.sample(0).value, uint64_t{1} << 50);
  EXPECT_EQ(assembler.counts(1).samples, 1u);
  EXPECT_EQ(assembler.counts(0).samples, 0u);
}

TEST_F(SampleAssemblerTest, AnOverdueOneIsNeverNamedFromOlderMappings) {
  assembler.add(sample(10 * kMs), 12 * kMs);
  mappings.watermark = 9 * kMs;
  assembler.flush_ready(12 * kMs + PendingSamples::kMaxWaitNs);
  EXPECT_EQ(profile.sample_count(), 0u);
  assembler.flush_ready(12 * kMs + PendingSamples::kMaxWaitNs + 1);
  ASSERT_EQ(profile.sample_count(), 1u);
  EXPECT_EQ(profile.sample(0).end_reason, END_MAPPING_LATE);
  EXPECT_FALSE(profile.sample(0).stack.valid());
  EXPECT_EQ(assembler.late(), 1u);
}

TEST_F(SampleAssemblerTest, AtTheEndWhatIsKnownKeepsItsStack) {
  assembler.add(sample(10 * kMs), 20 * kMs);
  assembler.add(sample(18 * kMs), 20 * kMs);
  mappings.watermark = 15 * kMs;
  assembler.flush();
  ASSERT_EQ(profile.sample_count(), 2u);
  EXPECT_EQ(profile.sample(0).end_reason, END_OUTERMOST);
  EXPECT_EQ(profile.sample(1).end_reason, END_MAPPING_LATE);
}

TEST_F(SampleAssemblerTest, AWalkThatUserSpaceFinishesIsStoredWithWhatItFound) {
  assembler.add(sample(10, SAMPLE_DEFERRED), 10);
  EXPECT_TRUE(assembler.add(request(10).view()));
  ASSERT_EQ(submitted.size(), 1u);
  assembler.flush_ready(1000 * kMs);
  EXPECT_EQ(profile.sample_count(), 0u);
  assembler.add(FinishedWalk{submitted[0].sample, submitted[0].arrived_ns, {frame_in_image(1, 0x20), frame_in_image(1, 0x30)}, END_DEFERRED});
  mappings.watermark = 11;
  assembler.flush_ready(1000 * kMs);
  ASSERT_EQ(profile.sample_count(), 1u);
  EXPECT_EQ(profile.sample(0).end_reason, END_DEFERRED);
  EXPECT_EQ(profile.stacks()[profile.sample(0).stack.value].depth, 3u);
}

// A walk that gave up waiting has named what it found; whether that was there, the mappings say that came since.
TEST_F(SampleAssemblerTest, AFinishedWalkWaitsForItsMappingsLikeAllOthers) {
  const FinishedWalk walk{sample(50, SAMPLE_DEFERRED), 60, {frame_in_image(1, 0x20), frame_in_image(1, 0x30)}, END_DEFERRED};
  mappings.watermark = 60;
  assembler.add(walk);
  assembler.flush_ready(100);
  EXPECT_EQ(profile.sample_count(), 0u);
  process::StaleMapping stale;
  stale.range = {RuntimeAddr(0x1000), RuntimeAddr(0x2000)};
  stale.was = {process::BindingState::kImage, 1, 0x1000 - 0x20};
  stale.now = {process::BindingState::kImage, 2, 0x1000};
  stale.since_ns = 40;
  mappings.stale = {stale};
  mappings.watermark = 61;
  assembler.flush_ready(100);
  ASSERT_EQ(profile.sample_count(), 1u);
  EXPECT_EQ(profile.sample(0).end_reason, END_STALE_MAPPING);

  mappings.watermark = 30;
  assembler.add(walk);
  assembler.flush_ready(60 + PendingSamples::kMaxWaitNs);
  EXPECT_EQ(profile.sample_count(), 1u);
  assembler.flush_ready(61 + PendingSamples::kMaxWaitNs);
  ASSERT_EQ(profile.sample_count(), 2u);
  EXPECT_EQ(profile.sample(1).end_reason, END_MAPPING_LATE);
  EXPECT_FALSE(profile.sample(1).stack.valid());
  EXPECT_EQ(assembler.late(), 1u);
}

// The library is loaded at another address by then: what happened there after the sample says nothing of it.
TEST_F(SampleAssemblerTest, AFinishedWalkIsNotCutWhereItsImageCameLater) {
  process::StaleMapping stale;
  stale.range = {RuntimeAddr(0x1000), RuntimeAddr(0x2000)};
  stale.was = {process::BindingState::kImage, 2, 0x1000};
  stale.now = {process::BindingState::kImage, 1, 0x1000 - 0x20};
  stale.since_ns = 90;
  stale.published_ns = 95;
  mappings.stale = {stale};
  mappings.watermark = 100;
  assembler.add(FinishedWalk{sample(50, SAMPLE_DEFERRED), 60, {frame_in_image(1, 0x20), frame_in_image(1, 0x30)}, END_DEFERRED});
  assembler.flush_ready(100);
  ASSERT_EQ(profile.sample_count(), 1u);
  EXPECT_EQ(profile.sample(0).end_reason, END_DEFERRED);
  EXPECT_EQ(profile.stacks()[profile.sample(0).stack.value].depth, 3u);
}

TEST_F(SampleAssemblerTest, ARequestThatIsRefusedLostOrStrayCostsNoSample) {
  mappings.watermark = 1000 * kMs;
  accepts = false;
  assembler.add(sample(10, SAMPLE_DEFERRED), 10);
  EXPECT_TRUE(assembler.add(request(10).view()));
  EXPECT_EQ(assembler.requests_refused(), 1u);
  accepts = true;
  assembler.add(sample(20, SAMPLE_DEFERRED), 20);
  EXPECT_FALSE(assembler.add(request(20, 3).view()));  // another thread's
  EXPECT_FALSE(assembler.add(request(21).view()));     // another time's
  assembler.add(sample(30, SAMPLE_DEFERRED), 30);      // the request of 20 was lost
  assembler.flush();                                   // and that of 30
  EXPECT_EQ(profile.sample_count(), 3u);
  EXPECT_TRUE(submitted.empty());
}

// One event interrupts another's program, and threads that are preempted in theirs take turns on a CPU.
TEST_F(SampleAssemblerTest, RequestsComeInAnyOrder) {
  mappings.watermark = 1000 * kMs;
  assembler.add(sample(10, SAMPLE_DEFERRED), 10);
  assembler.add(sample(11, SAMPLE_DEFERRED, 7, 1), 11);
  assembler.add(sample(12, SAMPLE_DEFERRED, 8), 12);
  for (const auto& [time_ns, tid] : {std::pair<uint64_t, int32_t>{11, 7}, {12, 8}, {10, 7}}) EXPECT_TRUE(assembler.add(request(time_ns, tid).view())) << time_ns;
  ASSERT_EQ(submitted.size(), 3u);
  EXPECT_EQ(submitted[0].sample.event, 1);
  EXPECT_EQ(submitted[1].sample.tid, 8);
  EXPECT_EQ(submitted[2].sample.time_ns, 10u);
  assembler.flush();
  EXPECT_EQ(profile.sample_count(), 0u);  // they are being finished
}

// Of a thread that has no other sample: it is not held to the end.
TEST_F(SampleAssemblerTest, AThreadsLastRequestIsNotWaitedForLong) {
  mappings.watermark = 1000'000 * kMs;
  assembler.add(sample(10, SAMPLE_DEFERRED), 10);
  assembler.give_up_requests(10 + PendingSamples::kMaxWaitNs);
  assembler.flush_ready(11 + PendingSamples::kMaxWaitNs);
  EXPECT_EQ(profile.sample_count(), 0u);
  assembler.give_up_requests(11 + PendingSamples::kMaxWaitNs);
  assembler.flush_ready(11 + PendingSamples::kMaxWaitNs);
  EXPECT_EQ(profile.sample_count(), 1u);
  EXPECT_FALSE(assembler.add(request(10).view()));
}

TEST_F(SampleAssemblerTest, FramesOfCodeThatHadBeenReplacedAreCutOff) {
  process::StaleMapping stale;
  stale.range = {RuntimeAddr(0x1000), RuntimeAddr(0x2000)};
  stale.was = {process::BindingState::kImage, 1, 0x1000 - 0x10};
  stale.now = {process::BindingState::kImage, 2, 0x1000};
  stale.since_ns = 5;
  stale.published_ns = 100;
  mappings.stale = {stale};
  mappings.watermark = 1000;
  assembler.add(sample(50), 60);
  assembler.add(sample(200), 210);
  assembler.flush_ready(1000);
  ASSERT_EQ(profile.sample_count(), 2u);
  EXPECT_EQ(profile.sample(0).end_reason, END_STALE_MAPPING);
  EXPECT_EQ(profile.stacks()[profile.sample(0).stack.value].depth, 1u);
  EXPECT_EQ(profile.sample(1).end_reason, END_OUTERMOST);
  EXPECT_EQ(assembler.stale(), 1u);
}

TEST_F(SampleAssemblerTest, AStackThatNeverCameIsALoss) {
  mappings.watermark = 1000;
  sample_record s = sample(1);
  s.user_stack = 99;
  s.value = 7;
  assembler.add(s, 1);
  assembler.flush_ready(1000);
  EXPECT_EQ(profile.sample_count(), 0u);
  EXPECT_EQ(assembler.counts(0).lost_stack, 1u);
  EXPECT_EQ(assembler.counts(0).lost_value, 7u);
}

}  // namespace
}  // namespace cicada::ingest
