// SPDX-License-Identifier: Apache-2.0
// The tracker between mapping events from a script and a kernel of containers.
#include "ingest/tracker.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <thread>

#include "base/monotonic_clock.h"
#include "process/tracking/process_fixture_for_test.h"

namespace cicada::ingest {
namespace {

class ScriptedEvents final : public process::MappingEventSource {
 public:
  void add(process::MappingEvent event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  void lose(uint64_t count) {
    const std::lock_guard lock(mutex_);
    lost_ += count;
  }
  int poll_fd() const override { return -1; }
  Result<void> follow_cpus() override { return {}; }
  uint64_t drain(uint64_t until_ns, const Wants& wants, const Consumer& consumer) override {
    const std::lock_guard lock(mutex_);
    while (!events_.empty() && events_.front().time_ns <= until_ns) {
      if (wants(events_.front())) consumer(events_.front());
      events_.pop_front();
      ++counts_.delivered;
    }
    return std::exchange(lost_, 0);
  }
  const process::MappingEventCounts& counts() const override { return counts_; }

 private:
  std::mutex mutex_;
  std::deque<process::MappingEvent> events_;
  process::MappingEventCounts counts_;
  uint64_t lost_ = 0;
};

class TrackerTest : public testing::Test {
 protected:
  TrackerTest() {
    auto source = std::make_unique<ScriptedEvents>();
    events = source.get();
    Tracker::Options options;
    options.metadata = std::make_shared<process::ProcessMetadataCache>();
    options.callbacks.on_exec = [this](const process::ProcessInfo& process) { execs.push_back(process.comm); };
    options.callbacks.on_exit = [this](const process::ProcessInfo& process) { exits.push_back(process.pid); };
    auto opened = Tracker::open(std::move(source), kernel, images, std::move(options));
    CHECK(opened);
    tracker = std::move(*opened);
  }
  static lifecycle_record record(uint32_t kind, Pid pid, uint64_t time_ns, uint32_t space, const char* comm = "prog") {
    lifecycle_record r{};
    r.kind = kind;
    r.pid = r.tid = pid;
    r.time_ns = time_ns;
    r.start_ns = 1000 * process::kMs;
    r.address_space = space;
    r.flags = PROCESS_TARGET;
    std::strncpy(r.comm, comm, sizeof r.comm - 1);
    return r;
  }
  static process::MappingEvent mapping(Pid pid, uint64_t time_ns, uint64_t begin, uint64_t end, uint64_t inode) {
    process::MappingEvent event;
    event.kind = process::MappingEventKind::kMap;
    event.time_ns = time_ns;
    event.pid = event.tid = pid;
    event.range = {RuntimeAddr(begin), RuntimeAddr(end)};
    event.file.inode = inode;
    event.name = "/usr/lib/x.so";
    return event;
  }
  void exec(Pid pid, uint32_t space, uint64_t time_ns) {
    process::MappingEvent comm;
    comm.kind = process::MappingEventKind::kExec;
    comm.time_ns = time_ns;
    comm.pid = comm.tid = pid;
    comm.name = "prog";
    events->add(comm);
    events->add(mapping(pid, time_ns + 1000, 0x400000, 0x500000, 11));
    process_value value{};
    value.start_ns = 1000 * process::kMs;
    value.address_space = space;
    kernel.processes[pid] = value;
    kernel.next_id = space + 1;
    tracker->push(record(RECORD_EXEC, pid, time_ns + 2000, space));
  }

  process::FakeKernel kernel;
  process::FakeImages images;
  ScriptedEvents* events = nullptr;
  std::vector<std::string> execs;
  std::vector<Pid> exits;
  std::unique_ptr<Tracker> tracker;
};

TEST_F(TrackerTest, AfterSyncWhatAProgramMappedIsKnownAndPublished) {
  exec(500000, 9, monotonic_ns());
  tracker->start();
  tracker->sync(5000);
  tracker->stop();
  const auto found = tracker->find_mapping(9, RuntimeAddr(0x410000));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->image, 11u);
  EXPECT_EQ(kernel.image(500000, 0x410000), 11u);
  EXPECT_EQ(execs, std::vector<std::string>{"prog"});
}

TEST_F(TrackerTest, TheWatermarkPassesWhatHadHappened) {
  tracker->start();
  const uint64_t before = monotonic_ns();
  tracker->sync(5000);
  EXPECT_GE(tracker->watermark_ns(), before);
  tracker->stop();
  EXPECT_LE(tracker->watermark_ns(), monotonic_ns());
}

TEST_F(TrackerTest, TellsOfExitsAfterWhatWasMappedBeforeThem) {
  const uint64_t now = monotonic_ns();
  exec(500000, 9, now);
  events->add(mapping(500000, now + 3000, 0x7f0000000000, 0x7f0000010000, 12));
  tracker->push(record(RECORD_EXIT, 500000, now + 4000, 9));
  tracker->start();
  tracker->sync(5000);
  tracker->stop();
  EXPECT_EQ(exits, std::vector<Pid>{500000});
  const auto library = tracker->find_mapping(9, RuntimeAddr(0x7f0000000100));  // late walks still find it
  ASSERT_TRUE(library);
  EXPECT_EQ(library->image, 12u);
}

TEST_F(TrackerTest, AMappingInPlaceOfAnotherMakesOlderWalksStale) {
  const uint64_t now = monotonic_ns();
  exec(500000, 9, now);
  tracker->start();
  tracker->sync(5000);
  const uint64_t later = monotonic_ns();
  events->add(mapping(500000, later, 0x400000, 0x500000, 13));
  tracker->sync(5000);
  tracker->stop();
  EXPECT_EQ(tracker->event_counts().delivered, 3u) << "those of the last second, too";
  EXPECT_EQ(kernel.image(500000, 0x410000), 13u);
  EXPECT_FALSE(tracker->find_stale(9, 500000, later, false).empty());
  EXPECT_TRUE(tracker->find_stale(9, 500000, now, false).empty());
}

// Cycles are a second long; without stacks that wait, the second one after the end forgets.
TEST_F(TrackerTest, WhoEndedKeepsTheNameWhileStacksWait) {
  const uint64_t now = monotonic_ns();
  exec(500000, 9, now);
  process::MappingEvent event;
  event.kind = process::MappingEventKind::kComm;
  event.time_ns = now + 3000;
  event.pid = 500000;
  event.tid = 500001;
  event.name = "worker";
  events->add(event);
  event.kind = process::MappingEventKind::kThreadExit;
  event.time_ns = now + 4000;
  events->add(event);
  tracker->retain_exited_since(now);
  tracker->start();
  tracker->sync(5000);
  std::this_thread::sleep_for(std::chrono::milliseconds(3500));
  EXPECT_EQ(tracker->names().find(500001, now + 3500), "worker");
  tracker->retain_exited_since(0);
  for (int i = 0; i < 600 && tracker->names().find(500001, now + 3500); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(tracker->names().find(500001, now + 3500));
  tracker->stop();
}

}  // namespace
}  // namespace cicada::ingest
