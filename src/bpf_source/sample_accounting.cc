// SPDX-License-Identifier: Apache-2.0
// With a fixed period (timers always) the number of interrupts of a CPU is its event count ÷ period. With a counter
// at a frequency the kernel adapts the period, and the units that no sample reported, divided by the mean period of those that
// did, tell how many are missing.
//
// Throttling: the kernel stops an event that fired more than max_sample_rate / HZ times since the last timer tick, until the next one. A CPU
// that is idle has no ticks, so at 4,999 Hz an idle CPU is stopped after 400 interrupts (80 ms) until something wakes it: a third of all
// interrupts on a machine with one busy CPU of two. The event's count stands still meanwhile, its enabled time does not.
//
// Asleep: some machines (virtual ones with few CPUs, seen under 6.18) do not run the timer of a CPU that has nothing to do; perf and bpftrace get
// no samples from it either. What is missing there, up to the time the kernel says the CPU slept, is not lost: there was nothing to see.
#include "bpf_source/sample_accounting.h"

#include <algorithm>
#include <cmath>

#include "base/diagnostics.h"

namespace cicada::bpf_source {
namespace {

struct CounterText {
  bool outcome;
  const char* text;
};
constexpr bool OUTCOME = true, NOTE = false;
constexpr CounterText kCounterTexts[] = {
#define X(name, cls, text) {cls, text},
    CICADA_COUNTERS(X)
#undef X
};

uint64_t outcomes(const CpuCounters& cpu) {
  uint64_t sum = 0;
  for (size_t i = 0; i < COUNTER_COUNT; ++i) sum += kCounterTexts[i].outcome ? cpu.counts[i] : 0;
  return sum;
}

// Its count is its time.
bool is_timer(const EventAccount& events) { return events.event.type->kind == PerfEventKind::kTimer; }

uint64_t skipped_on(const CpuCount& event, const CpuCounters& cpu, uint64_t period) {
  const uint64_t seen = outcomes(cpu);
  if (period != 0) {
    const uint64_t fired = event.count / period;
    if (seen > fired) {
      diagnostics().warn(fmt::format("CPU {}", cpu.cpu), "sample accounting does not add up: {} samples counted, {} interrupts", seen, fired);
      return 0;
    }
    return fired - seen;
  }
  if (seen == 0 || cpu.value_sum >= event.count) return 0;
  const double mean = static_cast<double>(cpu.value_sum) / static_cast<double>(seen);
  return static_cast<uint64_t>(std::floor(static_cast<double>(event.count - cpu.value_sum) / mean));
}

uint64_t throttled_on(const CpuCount& event, const EventAccount& events) {
  if (!is_timer(events) || event.enabled_ns <= event.count) return 0;
  return (event.enabled_ns - event.count) / events.event.period;
}

// How many of `missing` samples fell into sleep.
uint64_t asleep_on(const CpuCount& event, const CpuCounters& cpu, const EventAccount& events, uint64_t missing) {
  if (!is_timer(events) || !events.idle_is_counted) return 0;
  const uint64_t idle = event.idle_ns / events.event.period;
  return std::min(missing, idle - std::min(idle, cpu.counts[COUNTER_IDLE]));
}

}  // namespace

void fill_account(profile::Event& row, const EventAccount& events, std::span<const CpuCounters> kernel, const ingest::AssemblyCounts& assembled) {
  const std::span<const CpuCount> fired = events.cpus;
  const uint64_t period = events.event.period;
  CpuCounters sum;
  uint64_t skipped = 0, throttled = 0, asleep = 0;
  row.fired = 0;
  for (const CpuCounters& cpu : kernel) {
    for (size_t i = 0; i < COUNTER_COUNT; ++i) sum.counts[i] += cpu.counts[i];
    const uint64_t seen = outcomes(cpu);
    const auto event = std::find_if(fired.begin(), fired.end(), [&](const CpuCount& c) { return c.cpu == cpu.cpu; });
    const uint64_t missed = event == fired.end() ? 0 : skipped_on(*event, cpu, period);
    const uint64_t never_raised = event == fired.end() ? 0 : throttled_on(*event, events);
    const uint64_t in_sleep = event == fired.end() ? 0 : asleep_on(*event, cpu, events, missed + never_raised);
    const uint64_t throttled_in_sleep = std::min(in_sleep, never_raised);
    asleep += in_sleep;
    throttled += never_raised - throttled_in_sleep;
    skipped += missed - (in_sleep - throttled_in_sleep);
    // From the event alone where its period is fixed, so that the sum of outcomes can be held against it.
    row.fired += (event != fired.end() && period != 0 ? event->count / period : seen + missed) + never_raised;
  }
  row.counts.clear();
  for (size_t i = 0; i < COUNTER_COUNT; ++i) {
    uint64_t value = sum.counts[i];
    if (i == COUNTER_STORED) value -= std::min(value, assembled.lost_stack);
    row.counts.push_back({kCounterTexts[i].text, value, kCounterTexts[i].outcome});
  }
  row.counts.push_back({"idle, without an interrupt (the CPU slept)", asleep, true});
  row.counts.push_back({"lost: skipped by the kernel (another BPF program or map call on that CPU)", skipped, true});
  row.counts.push_back({"lost: throttled by the kernel (too many samples without a timer tick)", throttled, true});
  row.counts.push_back({"lost: stack record missing", assembled.lost_stack, true});
}

}  // namespace cicada::bpf_source
