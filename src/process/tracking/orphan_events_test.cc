// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/orphan_events.h"

#include <gtest/gtest.h>

namespace cicada::process {
namespace {

MappingEvent event(Pid pid, uint64_t time_ns, std::string_view name) {
  MappingEvent event;
  event.pid = event.tid = pid;
  event.time_ns = time_ns;
  event.name = name;
  return event;
}

std::vector<std::string> adopted(OrphanEvents& orphans, Pid pid) {
  std::vector<std::string> names;
  orphans.adopt(pid, [&](const MappingEvent& event) { names.emplace_back(event.name); });
  return names;
}

TEST(OrphanEvents, AreHandedOverOnceAndInOrder) {
  OrphanEvents orphans;
  {
    std::string name = "/lib/first";
    orphans.keep(event(5, 10, name));
    name = "overwritten";  // names live in a ring
  }
  orphans.keep(event(6, 11, "/lib/other"));
  orphans.keep(event(5, 12, "/lib/second"));
  EXPECT_EQ(adopted(orphans, 5), (std::vector<std::string>{"/lib/first", "/lib/second"}));
  EXPECT_TRUE(adopted(orphans, 5).empty());
  EXPECT_EQ(orphans.dropped(), 0u);
}

TEST(OrphanEvents, ExpectsWhoWasToldOfUntilItIsKnown) {
  OrphanEvents orphans;
  orphans.expect(5, 10);
  orphans.expect(6, 10);
  EXPECT_TRUE(orphans.expects(5));
  adopted(orphans, 5);
  EXPECT_FALSE(orphans.expects(5));
  orphans.expire(10 + OrphanEvents::kKeepNs);
  EXPECT_TRUE(orphans.expects(6));
  orphans.expire(11 + OrphanEvents::kKeepNs);
  EXPECT_FALSE(orphans.expects(6));
}

TEST(OrphanEvents, AreDroppedAndCountedByAge) {
  OrphanEvents orphans;
  orphans.keep(event(5, 10, "a"));
  orphans.keep(event(5, 20, "b"));
  orphans.expire(20 + OrphanEvents::kKeepNs);
  EXPECT_EQ(orphans.dropped(), 0u);
  orphans.expire(21 + OrphanEvents::kKeepNs);
  EXPECT_EQ(orphans.dropped(), 2u);
  EXPECT_TRUE(adopted(orphans, 5).empty());
}

TEST(OrphanEvents, AreBoundedAndThereIsRoomAgain) {
  OrphanEvents orphans;
  for (size_t i = 0; i < OrphanEvents::kMax + 10; ++i) orphans.keep(event(5, 10, "x"));
  EXPECT_EQ(orphans.dropped(), 10u);
  EXPECT_EQ(adopted(orphans, 5).size(), OrphanEvents::kMax);
  orphans.keep(event(6, 10, "y"));
  EXPECT_EQ(adopted(orphans, 6).size(), 1u);
  for (size_t i = 0; i < OrphanEvents::kMax + 10; ++i) orphans.expect(static_cast<Pid>(i + 1), 10);
  EXPECT_FALSE(orphans.expects(static_cast<Pid>(OrphanEvents::kMax + 5)));
}

}  // namespace
}  // namespace cicada::process
