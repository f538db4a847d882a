// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/maps_scanner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace cicada::process {
namespace {

constexpr uint64_t kMs = 1'000'000;

MapsEntry entry(uint64_t begin) {
  MapsEntry entry;
  entry.range = {RuntimeAddr(begin), RuntimeAddr(begin + 0x1000)};
  entry.executable = true;
  return entry;
}

class MapsScannerTest : public testing::Test {
 protected:
  uint64_t now = 1000 * kMs;
  uint64_t read_ns = 0;  // what reading takes
  std::vector<Pid> reads;
  std::map<Pid, uint32_t> spaces{{5, 1}, {6, 2}, {7, 3}};
  std::map<Pid, std::vector<MapsEntry>> maps{{5, {entry(0x4000)}}, {6, {entry(0x5000)}}, {7, {entry(0x6000)}}};
  MapsScanner scanner{{.read_maps = MapsScanner::one_by_one([this](Pid pid) -> Result<MapsFile> {
                         reads.push_back(pid);
                         now += read_ns;
                         if (!maps.contains(pid)) return make_error(ErrorKind::kGone, "gone");
                         return MapsFile{maps[pid], 0};
                       }),
                       .now_ns = [this] { return now; }},
                      [this](Pid pid) { return spaces[pid]; }};

  std::vector<MapsScanner::Found> finish() { return scanner.take_finished(now); }
};

TEST_F(MapsScannerTest, ReadsWhoIsWantedAndWaitsForTheEventsOfTheTime) {
  EXPECT_FALSE(scanner.start_due());
  scanner.want(5);
  EXPECT_TRUE(scanner.is_behind());
  read_ns = kMs;
  EXPECT_TRUE(scanner.start_due());
  EXPECT_EQ(reads, std::vector{5});
  EXPECT_TRUE(scanner.is_scanning(5));
  EXPECT_TRUE(scanner.take_finished(now - 1).empty());
  const auto found = scanner.take_finished(now);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].pid, 5);
  EXPECT_EQ(found[0].end_ns, now);
  EXPECT_EQ(found[0].entries.size(), 1u);
  EXPECT_FALSE(scanner.is_behind());
  EXPECT_FALSE(scanner.start_due());
  EXPECT_EQ(scanner.scans(), 1u);
}

TEST_F(MapsScannerTest, HandsOverWhatWasMappedSinceTheRead) {
  scanner.want(5);
  read_ns = kMs;
  const Mapping before{{RuntimeAddr(0x1000), RuntimeAddr(0x2000)}, FileOffset(), {}};
  const Mapping after{{RuntimeAddr(0x2000), RuntimeAddr(0x3000)}, FileOffset(), {}};
  scanner.note_mapping(5, after, now + 1);  // no scan yet
  const uint64_t begin = now;
  scanner.start_due();
  scanner.note_mapping(5, before, begin);
  scanner.note_mapping(5, after, begin + 1);
  scanner.note_mapping(6, after, begin + 1);
  const auto found = finish();
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].later.size(), 1u);
  EXPECT_EQ(found[0].later[0].range.begin.value, 0x2000u);
}

TEST_F(MapsScannerTest, DiscardsWhatMayBeOfAnotherProgram) {
  for (const Pid pid : {5, 6, 7}) scanner.want(pid);
  maps[7].clear();  // between its old mappings and its new ones
  scanner.start_due();
  spaces[5] = 9;
  scanner.cancel(6);
  EXPECT_TRUE(finish().empty());
  EXPECT_EQ(scanner.discarded(), 2u);  // and one that was called off
  spaces[5] = 0;
  scanner.want(5);
  now += 1000 * kMs;
  reads.clear();
  scanner.start_due();
  EXPECT_TRUE(reads.empty()) << "its records are on their way";
}

TEST_F(MapsScannerTest, LimitsTheRateOfEachProcess) {
  for (int ms = 0; ms < 2500; ++ms) {
    scanner.want(5);
    scanner.start_due();
    finish();
    now += kMs;
  }
  EXPECT_EQ(reads.size(), 3u);
  scanner.cancel(5);  // another program: at once
  scanner.want(5);
  scanner.start_due();
  EXPECT_EQ(reads.size(), 4u);
}

TEST_F(MapsScannerTest, WishDuringAScanIsAnotherScan) {
  scanner.want(5);
  scanner.start_due();
  scanner.want(5);
  finish();
  EXPECT_FALSE(scanner.start_due()) << "not soon";
  now += 1000 * kMs;
  scanner.start_due();
  EXPECT_EQ(reads.size(), 2u);
}

// A user's process that holds its memory lock keeps no other user's waiting, nor the caller.
TEST(MapsScannerWorkers, ReadWhileOthersHang) {
  const Pid ours = ::getpid(), nobodys = 0x3fffffff;
  std::promise<void> hold;
  const std::shared_future<void> held = hold.get_future().share();
  MapsScanner scanner{{.workers = 2,
                       .read_maps = MapsScanner::one_by_one([held, ours](Pid pid) -> Result<MapsFile> {
                         if (pid == ours) held.wait();
                         return MapsFile{{entry(0x4000)}, 0};
                       }),
                       .now_ns = [] { return uint64_t{1000}; }},
                      [](Pid) { return 1U; }};
  scanner.want(ours);
  scanner.want(nobodys);
  EXPECT_TRUE(scanner.start_due());
  std::vector<MapsScanner::Found> found;
  while (found.empty()) found = scanner.take_finished(1000);
  EXPECT_EQ(found[0].pid, nobodys);
  EXPECT_TRUE(scanner.is_scanning(ours));
  hold.set_value();
  for (found.clear(); found.empty();) found = scanner.take_finished(1000);
  EXPECT_EQ(found[0].pid, ours);
}

// Those of an owner, so many at a time.
TEST(MapsScannerWorkers, AskForManyTogether) {
  std::mutex mutex;
  std::multiset<size_t> asked;
  MapsScanner scanner{{.workers = 2,
                       .read_maps =
                           [&](uint32_t, std::span<const Pid> pids, const std::stop_token&) {
                             const std::lock_guard lock(mutex);
                             asked.insert(pids.size());
                             std::vector<Result<MapsFile>> all;
                             for (const Pid pid : pids) all.emplace_back(MapsFile{{entry(static_cast<uint64_t>(pid) << 12)}, 0});
                             return all;
                           },
                       .now_ns = [] { return uint64_t{1000}; }},
                      [](Pid) { return 1U; }};
  const int count = 2 * MapsScanner::kMaxAtOnce + 3;
  for (int i = 0; i < count; ++i) scanner.want(0x3fffff00 + i);
  EXPECT_TRUE(scanner.start_due());
  for (int found = 0; found != count;)
    for (const MapsScanner::Found& one : scanner.take_finished(1000)) {
      EXPECT_EQ(one.entries.at(0).range.begin.value, static_cast<uint64_t>(one.pid) << 12);
      ++found;
    }
  EXPECT_EQ(asked, (std::multiset<size_t>{3, MapsScanner::kMaxAtOnce, MapsScanner::kMaxAtOnce}));
}

TEST(MapsScannerWorkers, AreNotAwaitedAtTheEnd) {
  std::promise<void> began;
  MapsScanner scanner{{.workers = 2,
                       .read_maps =
                           [&](uint32_t, std::span<const Pid>, const std::stop_token& stop) {
                             began.set_value();
                             while (!stop.stop_requested()) std::this_thread::yield();
                             return std::vector<Result<MapsFile>>(1, make_error(ErrorKind::kIo, "the end"));
                           },
                       .now_ns = [] { return uint64_t{1000}; }},
                      [](Pid) { return 1U; }};
  scanner.want(5);
  EXPECT_TRUE(scanner.start_due());
  began.get_future().wait();
}

TEST_F(MapsScannerTest, WhoIsGoneIsForgotten) {
  maps.erase(5);
  scanner.want(5);
  scanner.want(6);
  scanner.forget(6);
  scanner.start_due();
  EXPECT_EQ(reads, std::vector{5});
  EXPECT_FALSE(scanner.is_scanning(5));
  EXPECT_TRUE(finish().empty());
}

}  // namespace
}  // namespace cicada::process
