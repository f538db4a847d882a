// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/sample_accounting.h"

#include <gtest/gtest.h>

#include "base/diagnostics.h"

namespace cicada::bpf_source {
namespace {

constexpr uint64_t kMs = 1'000'000;

uint64_t outcome_sum(const profile::Event& event) {
  uint64_t sum = 0;
  for (const profile::Count& count : event.counts) sum += count.outcome ? count.value : 0;
  return sum;
}

uint64_t value_of(const profile::Event& event, std::string_view name) {
  for (const profile::Count& count : event.counts) {
    if (count.name.find(name) != std::string::npos) return count.value;
  }
  ADD_FAILURE() << "no count named " << name;
  return 0;
}

PerfEvents::Event cpu_clock(uint64_t period) { return {*find_event_type("cpu-clock"), period, 0, 1}; }
PerfEvents::Event cycles(uint64_t period) { return {*find_event_type("cycles"), period, period == 0 ? 99U : 0U, 1}; }

TEST(SampleAccount, WhatTheProgramNeverSawIsSkippedByTheKernel) {
  profile::Event event;
  CpuCounters cpu0, cpu1;
  cpu1.cpu = 1;
  cpu0.counts[COUNTER_STORED] = 60;
  cpu0.counts[COUNTER_IDLE] = 30;
  cpu1.counts[COUNTER_FILTERED] = 100;
  const CpuCount fired[] = {{0, 100'999, 0}, {1, 100'000, 0}};
  const CpuCounters kernel[] = {cpu0, cpu1};
  fill_account(event, {fired, cpu_clock(1000)}, kernel, {});
  EXPECT_EQ(event.fired, 200U);
  EXPECT_EQ(value_of(event, "unknown reason"), 10U);
  EXPECT_EQ(outcome_sum(event), event.fired);
}

TEST(SampleAccount, ASampleWithoutItsStackIsLostNotStored) {
  profile::Event event;
  CpuCounters cpu;
  cpu.counts[COUNTER_STORED] = 10;
  const CpuCount fired[] = {{0, 10'000, 0}};
  const CpuCounters kernel[] = {cpu};
  ingest::AssemblyCounts decoder;
  decoder.lost_stack = 3;
  fill_account(event, {fired, cpu_clock(1000)}, kernel, decoder);
  EXPECT_EQ(value_of(event, "stored"), 7U);
  EXPECT_EQ(value_of(event, "stack record missing"), 3U);
  EXPECT_EQ(outcome_sum(event), event.fired);
}

TEST(SampleAccount, AWaitWithoutItsStackIsLostInTimeToo) {
  profile::Event running, waiting{.spent = profile::Spent::kWaiting};
  CpuCounters cpu;
  cpu.counts[COUNTER_STORED] = 10;
  cpu.counts[COUNTER_LOST_SAMPLE_RING_FULL] = 2;
  cpu.counts[COUNTER_LOST_WAITED_NS] = 500;
  const CpuCounters kernel[] = {cpu};
  const ingest::AssemblyCounts decoder{.samples = 10, .lost_stack = 3, .lost_value = 40};
  fill_account(waiting, {{}, cpu_clock(1000)}, kernel, decoder);
  EXPECT_EQ(value_of(waiting, "that were lost stand for"), 540U);
  EXPECT_EQ(lost_time(waiting), (LostTime{5, 540}));
  fill_account(running, {{}, cpu_clock(1000)}, kernel, decoder);
  EXPECT_EQ(value_of(running, "that were lost stand for"), 500U);
}

TEST(SampleAccount, HitsOfATracepointAreWhatItsProgramSawAndWhatTheKernelSaysThatItSkipped) {
  profile::Event event;
  CpuCounters cpu0, cpu1;
  cpu1.cpu = 1;
  cpu0.counts[COUNTER_STORED] = 60;
  cpu0.counts[COUNTER_SAMPLED_OUT] = 540;
  cpu1.counts[COUNTER_FILTERED] = 100;
  cpu1.counts[COUNTER_LOST_SAMPLE_RING_FULL] = 7;
  const CpuCounters kernel[] = {cpu0, cpu1};
  const PerfEvents::Event tracepoint{.type = {"sched:x", {}, EventKind::kTracepoint, 0, 0}, .period = 10, .frequency_hz = 0, .value = 10};
  fill_account(event, {{}, tracepoint, true, 3}, kernel, {});
  EXPECT_EQ(event.fired, 710U);
  EXPECT_EQ(value_of(event, "sampled out"), 540U);
  EXPECT_EQ(value_of(event, "ran another BPF program"), 3U);
  EXPECT_EQ(outcome_sum(event), event.fired);
}

TEST(SampleAccount, TimeThatTheClockCountedAndTheEventDidNotIsThrottled) {
  profile::Event event;
  CpuCounters cpu;
  cpu.counts[COUNTER_STORED] = 10;
  const CpuCount fired[] = {{0, 12'000, 17'500}};
  const CpuCounters kernel[] = {cpu};
  fill_account(event, {fired, cpu_clock(1000)}, kernel, {});
  EXPECT_EQ(event.fired, 17U);
  EXPECT_EQ(value_of(event, "unknown reason"), 2U);
  EXPECT_EQ(value_of(event, "throttled by the kernel"), 5U);
  EXPECT_EQ(outcome_sum(event), event.fired);
}

TEST(SampleAccount, WhatIsMissingWhileTheCpuSleptIsNotLost) {
  profile::Event event;
  CpuCounters cpu;
  cpu.counts[COUNTER_STORED] = 10;
  cpu.counts[COUNTER_IDLE] = 4;
  const CpuCount fired[] = {{0, 30'000 * kMs, 36'000 * kMs, {0, 18'980 * kMs, 0}}};  // 16 not seen, 6 throttled; 19 periods asleep but for a rounding, of which 4 were seen
  const CpuCounters kernel[] = {cpu};
  fill_account(event, {fired, cpu_clock(1000 * kMs)}, kernel, {});
  EXPECT_EQ(event.fired, 36U);
  EXPECT_EQ(value_of(event, "the CPU slept"), 15U);
  EXPECT_EQ(value_of(event, "throttled by the kernel"), 0U);
  EXPECT_EQ(value_of(event, "unknown reason"), 7U);
  EXPECT_EQ(outcome_sum(event), event.fired);
  fill_account(event, {fired, cpu_clock(1000 * kMs), false}, kernel, {});  // idle samples are stored: how many of them is not known here
  EXPECT_EQ(value_of(event, "the CPU slept"), 0U);
  EXPECT_EQ(value_of(event, "unknown reason"), 16U);
  EXPECT_EQ(outcome_sum(event), event.fired);
}

TEST(SampleAccount, WhatTheHypervisorTookIsStolenAndTheRestIsUnknown) {
  profile::Event event;
  CpuCounters cpu;
  cpu.counts[COUNTER_STORED] = 10;
  const CpuCount fired[] = {{0, 20'000 * kMs, 20'000 * kMs, {16'000 * kMs, 0, 4'000 * kMs}}};
  const CpuCounters kernel[] = {cpu};
  fill_account(event, {fired, cpu_clock(1000 * kMs)}, kernel, {});
  EXPECT_EQ(value_of(event, "stolen"), 4U);
  EXPECT_EQ(value_of(event, "unknown reason"), 6U);
  EXPECT_EQ(value_of(event, "the CPU slept"), 0U);
  EXPECT_EQ(outcome_sum(event), event.fired);
}

TEST(SampleAccount, CyclesAndTimeAreNotComparable) {
  profile::Event event;
  CpuCounters cpu;
  cpu.counts[COUNTER_STORED] = 10;
  const CpuCount fired[] = {{0, 10'000, 50'000}};
  const CpuCounters kernel[] = {cpu};
  fill_account(event, {fired, cycles(1000)}, kernel, {});
  EXPECT_EQ(event.fired, 10U);
  EXPECT_EQ(value_of(event, "throttled by the kernel"), 0U);
}

TEST(SampleAccount, EstimatesFromTheMeanPeriodWhereTheKernelAdaptsIt) {
  profile::Event event;
  CpuCounters cpu;
  cpu.counts[COUNTER_STORED] = 10;
  cpu.value_sum = 20'000;
  const CpuCount fired[] = {{0, 30'000, 0}};
  const CpuCounters kernel[] = {cpu};
  fill_account(event, {fired, cycles(0)}, kernel, {});
  EXPECT_EQ(event.fired, 15U);
  EXPECT_EQ(value_of(event, "unknown reason"), 5U);
}

TEST(SampleAccount, OfTimedCallsWhatBeganIsHeldAgainstWhatBecameOfIt) {
  profile::Event event{.name = "u:f/return"};
  CpuCounters began, returned;
  returned.cpu = 1;
  began.counts[COUNTER_CALLS_BEGUN] = 100;
  began.counts[COUNTER_FILTERED_OUT] = 40;
  began.counts[COUNTER_NEVER_RETURNED] = 6;
  returned.counts[COUNTER_STORED] = 45;
  returned.counts[COUNTER_BEGIN_NOT_SEEN] = 9;
  const CpuCounters kernel[] = {began, returned};
  EXPECT_EQ(calls_without_outcome(kernel), 9U);
  PerfEvents::Event timed{*find_event_type("cycles"), 1, 0, 0};
  timed.type.kind = EventKind::kUserFunction;
  timed.times_calls = true;
  int warnings = 0;
  diagnostics().set_handler([&](Severity, const std::string&) { ++warnings; });
  const auto account = [&](OpenCalls calls) { fill_account(event, {{}, timed, true, 0, calls}, kernel, {.samples = 45, .lost_stack = 5}); };
  account({.under_way = 7, .gone = 2});
  EXPECT_EQ(warnings, 0);
  EXPECT_EQ(event.fired, 100U);
  EXPECT_EQ(outcome_sum(event), event.fired);
  EXPECT_EQ(value_of(event, "never returned"), 8U);
  EXPECT_EQ(value_of(event, "under way at the end"), 7U);
  EXPECT_EQ(value_of(event, "stored"), 40U);
  account({.under_way = 6, .gone = 2, .is_counted = false});
  EXPECT_EQ(warnings, 0);
  EXPECT_EQ(outcome_sum(event), event.fired);
  account({.under_way = 6, .gone = 2});
  EXPECT_EQ(warnings, 1);
  diagnostics().set_handler({});
}

}  // namespace
}  // namespace cicada::bpf_source
