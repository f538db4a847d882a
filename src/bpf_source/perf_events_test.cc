// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/perf_events.h"

#include <gtest/gtest.h>

namespace cicada::bpf_source {
namespace {

PerfEvents::Event plan(std::string_view spec, const PerfEventOptions& options, std::string& warning) {
  const auto specs = parse_event_specs(spec);
  EXPECT_TRUE(specs && specs->size() == 1) << spec;
  return PerfEvents::plan(specs->front(), options, 4000, warning);
}

TEST(PerfEvents, HaveTheirOwnRateOrTheRecordings) {
  std::string warning;
  PerfEventOptions options{.frequency_hz = 100};
  EXPECT_EQ(plan("cpu-clock", options, warning).period, 10'000'000u);  // explicit, so that count / period is exact
  EXPECT_EQ(plan("page-faults", options, warning).period, 0u);
  EXPECT_EQ(plan("page-faults", options, warning).frequency_hz, 100u);
  EXPECT_EQ(plan("page-faults/period=7/", options, warning).period, 7u);
  EXPECT_EQ(plan("cycles/freq=250/", options, warning).frequency_hz, 250u);
  options.period = 50'000;
  EXPECT_EQ(plan("page-faults", options, warning).period, 50'000u);
  EXPECT_EQ(plan("cycles/freq=250/", options, warning).period, 0u);
  EXPECT_EQ(warning, "");
}

TEST(PerfEvents, OfATracepointEveryHitIsStoredUnlessItSaysOtherwise) {
  std::string warning;
  PerfEventOptions options{.frequency_hz = 100, .period = 5};
  EXPECT_EQ(plan("sched:sched_switch", options, warning).period, 1u);
  EXPECT_EQ(plan("sched:sched_switch", options, warning).value, 1u);
  EXPECT_EQ(plan("sched:sched_switch/period=7/", options, warning).value, 7u);
  EXPECT_EQ(plan("sched:sched_switch/period=7/", options, warning).frequency_hz, 0u);
  EXPECT_EQ(plan("sched:sched_switch/period=7,value=prev_pid/", options, warning).value, 0u);  // each says its own
  EXPECT_EQ(plan("sched:sched_switch/period=7,value=prev_pid,unit=ns/", options, warning).unit, profile::Unit::kNanoseconds);
  EXPECT_EQ(warning, "");
}

TEST(PerfEvents, ATimedCallSaysItsOwnTime) {
  std::string warning;
  const PerfEvents::Event timed = plan("u:f/return,period=7/", {}, warning);
  EXPECT_TRUE(timed.times_calls);
  EXPECT_EQ(timed.period, 7u);
  EXPECT_EQ(timed.value, 0u);
  EXPECT_EQ(timed.unit, profile::Unit::kNanoseconds);
}

TEST(PerfEvents, SamplesOfACounterAreWorthItsPeriodThoseOfAClockOne) {
  std::string warning;
  EXPECT_EQ(plan("page-faults/period=7/", {}, warning).value, 7u);
  EXPECT_EQ(plan("page-faults", {}, warning).value, 0u);  // the kernel adapts it: each says its own
  EXPECT_EQ(plan("cpu-clock/period=1000000/", {}, warning).value, 1u);
  EXPECT_EQ(plan("cycles", {}, warning).value, 1u);
}

TEST(PerfEvents, LowerTheRateToTheKernelsLimitAndSaySo) {
  std::string warning;
  EXPECT_EQ(plan("cycles/freq=5000/", {}, warning).frequency_hz, 4000u);
  EXPECT_NE(warning.find("cycles: 5000 Hz lowered to 4000"), std::string::npos) << warning;
  EXPECT_EQ(plan("cpu-clock/period=100/", {}, warning).period, 10'000u);
  EXPECT_NE(warning.find("raised to 10000"), std::string::npos) << warning;
}

TEST(PerfEvents, WaitsHaveAPeriodAndNoLimit) {
  std::string warning;
  EXPECT_EQ(plan("off-cpu", {.frequency_hz = 100}, warning).period, 10'000'000u);
  EXPECT_EQ(plan("off-cpu/freq=100000/", {}, warning).period, 10'000u);
  EXPECT_EQ(plan("off-cpu/period=1/", {}, warning).period, 1u);
  EXPECT_EQ(plan("off-cpu", {.frequency_hz = 99, .period = 1000}, warning).value, 1000u);
  EXPECT_EQ(warning, "");
  EXPECT_EQ(plan("off-cpu/period=9000000000000/", {}, warning).period, 3'600'000'000'000u);
  EXPECT_NE(warning.find("lowered to"), std::string::npos) << warning;
}

TEST(PerfEvents, AWakeupIsWorthTheWaitThatItEnds) {
  PerfEventOptions options;
  options.events = *parse_event_specs("wakeups/period=7/,off-cpu/period=1000/");
  const auto events = PerfEvents::plan(options);
  ASSERT_TRUE(events) << events.error().message();
  EXPECT_EQ(events->events()[0].period, 1000u);
  EXPECT_EQ(events->events()[0].value, 1000u);
  EXPECT_EQ(events->events()[0].type.name, "wakeups");
}

TEST(PerfEvents, NamesTheCpuThatIsNotThere) {
  PerfEventOptions options;
  options.cpus = {4000};
  const auto events = PerfEvents::plan(options);
  ASSERT_FALSE(events);
  EXPECT_NE(events.error().message().find("CPU 4000"), std::string::npos) << events.error().message();
}

}  // namespace
}  // namespace cicada::bpf_source
