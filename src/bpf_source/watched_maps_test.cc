// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/watched_maps.h"

#include <gtest/gtest.h>

#include <map>

namespace cicada::bpf_source {
namespace {

constexpr uint64_t kSecond = 1'000'000'000, kLater = ~uint64_t{0};

struct WatchedMapsTest : testing::Test {
  uint64_t now = 0;
  std::map<Pid, uint64_t> versions;  // of the kernel; absent: the process is gone
  std::vector<address_space_state> states = std::vector<address_space_state>(256);
  WatchedMaps maps{[this](map_version_batch& batch) {
                     for (map_version_query& query : batch.queries) query.version = versions.contains(query.pid) ? versions[query.pid] : 0;
                   },
                   states, [this] { return now; }};
  static bool always(uint32_t) { return true; }
  uint64_t known(uint32_t space) const { return states[space].known_version; }
};

TEST_F(WatchedMapsTest, ConfirmTheVersionThatWasReadNotALaterOne) {
  versions[10] = 100;
  maps.watch(1, 10);
  now = kSecond;
  maps.read();
  versions[10] = 101;  // mapped while the events were applied
  maps.confirm(kLater, always);
  EXPECT_EQ(known(1), 100u);
  now = 2 * kSecond;
  maps.read();
  maps.confirm(kLater, always);
  EXPECT_EQ(known(1), 101u);
}

TEST_F(WatchedMapsTest, ConfirmNothingWhileCodeWaitsToBePublished) {
  versions[10] = versions[11] = 100;
  maps.watch(1, 10);
  maps.watch(2, 11);
  now = kSecond;
  maps.read();
  maps.confirm(kLater, [](uint32_t space) { return space != 1; });
  EXPECT_EQ(known(1), 0u);
  EXPECT_EQ(known(2), 100u);
}

TEST_F(WatchedMapsTest, ConfirmNothingWhileEventsOfThatTimeWait) {
  versions[10] = 100;
  maps.watch(1, 10);
  now = kSecond;
  maps.read();
  maps.confirm(kSecond - 1, always);
  EXPECT_EQ(known(1), 0u);
  maps.confirm(kSecond, always);
  EXPECT_EQ(known(1), 100u);
}

TEST_F(WatchedMapsTest, AreForgottenAWhileAfterTheLastReplacement) {
  versions[10] = 100;
  maps.watch(1, 10);
  now = kSecond;
  maps.watch(1, 10);
  EXPECT_EQ(maps.size(), 1u);
  now = WatchedMaps::kWatchNs;
  maps.read();
  maps.confirm(kLater, always);
  EXPECT_EQ(known(1), 100u);
  now = WatchedMaps::kWatchNs + kSecond;
  maps.read();
  EXPECT_EQ(known(1), 0u);
  EXPECT_EQ(maps.size(), 0u);
}

TEST_F(WatchedMapsTest, AreBoundedTheOldestLeaves) {
  for (uint32_t space = 1; space <= WatchedMaps::kMax + 5; ++space) {
    versions[static_cast<Pid>(space)] = space;
    now = space;
    maps.watch(space, static_cast<Pid>(space));
    maps.read();
    maps.confirm(kLater, always);
  }
  EXPECT_EQ(maps.size(), WatchedMaps::kMax);
  EXPECT_EQ(known(5), 0u);
  EXPECT_EQ(known(6), 6u);
}

TEST_F(WatchedMapsTest, WhoseProcessIsGoneStayUnconfirmed) {
  maps.watch(1, 10);
  now = kSecond;
  maps.read();
  maps.confirm(kLater, always);
  EXPECT_EQ(known(1), 0u);
}

}  // namespace
}  // namespace cicada::bpf_source
