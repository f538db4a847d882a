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
//
// Stolen: while the hypervisor runs something else the timer of a virtual CPU does not fire, and the program does not run either. The kernel says
// per CPU for how long. What no account explains is called so: the kernel skips a program silently while another BPF program or a map call
// runs on the same CPU.
#include "bpf_source/sample_accounting.h"

#include <algorithm>
#include <cmath>

#include "base/diagnostics.h"

namespace cicada::bpf_source {
namespace {

// Idle and I/O wait are each cut to a tick of 10 ms, at the start and at the end.
constexpr uint64_t kIdleRoundingNs = 20'000'000;

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
bool is_timer(const EventAccount& events) { return events.event.type.kind == EventKind::kTimer; }

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

// Interrupts of one CPU that no program saw, by what became of them.
struct Missing {
  uint64_t skipped = 0, throttled = 0, asleep = 0, stolen = 0;
};

// A sleeping CPU's event is throttled as often as skipped; a stolen one's is skipped.
void explain(const CpuCount& event, const CpuCounters& cpu, const EventAccount& events, Missing& missing) {
  if (!is_timer(events)) return;
  const auto move = [](uint64_t& from, uint64_t& to, uint64_t& budget) {
    const uint64_t moved = std::min(from, budget);
    from -= moved;
    to += moved;
    budget -= moved;
  };
  uint64_t stolen = event.time.stolen / events.event.period;
  move(missing.skipped, missing.stolen, stolen);
  if (!events.idle_is_counted || event.time.idle == 0) return;
  const uint64_t idle = (event.time.idle + kIdleRoundingNs) / events.event.period;
  uint64_t asleep = idle - std::min(idle, cpu.counts[COUNTER_IDLE]);
  move(missing.throttled, missing.asleep, asleep);
  move(missing.skipped, missing.asleep, asleep);
}

// What fired are the calls that began: the sum of outcomes is held against them.
void account_calls(profile::Event& row, const CpuCounters& sum, const OpenCalls& calls) {
  row.counts.push_back({"under way at the end, or left without a return", calls.under_way, true});
  const uint64_t seen = outcomes(sum) + calls.gone + calls.under_way;
  row.fired = calls.is_counted ? sum.counts[COUNTER_CALLS_BEGUN] : seen;
  if (calls.is_counted && seen != row.fired) diagnostics().warn(row.name, "sample accounting does not add up: {} calls began, of {} it is known what became of them", row.fired, seen);
}

}  // namespace

uint64_t calls_without_outcome(std::span<const CpuCounters> kernel) {
  uint64_t begun = 0, ended = 0;
  for (const CpuCounters& cpu : kernel) {
    begun += cpu.counts[COUNTER_CALLS_BEGUN];
    ended += outcomes(cpu);
  }
  return begun - std::min(begun, ended);
}

void fill_account(profile::Event& row, const EventAccount& events, std::span<const CpuCounters> kernel, const ingest::AssemblyCounts& assembled) {
  const std::span<const CpuCount> fired = events.cpus;
  const uint64_t period = events.event.period;
  CpuCounters sum;
  Missing all;
  row.fired = 0;
  for (const CpuCounters& cpu : kernel) {
    for (size_t i = 0; i < COUNTER_COUNT; ++i) sum.counts[i] += cpu.counts[i];
    const uint64_t seen = outcomes(cpu);
    const auto event = std::find_if(fired.begin(), fired.end(), [&](const CpuCount& c) { return c.cpu == cpu.cpu; });
    Missing missing;
    if (event != fired.end()) missing = {skipped_on(*event, cpu, period), throttled_on(*event, events)};
    const Missing unseen = missing;
    if (event != fired.end()) explain(*event, cpu, events, missing);
    for (uint64_t Missing::*kind : {&Missing::skipped, &Missing::throttled, &Missing::asleep, &Missing::stolen}) all.*kind += missing.*kind;
    // From the event alone where its period is fixed, so that the sum of outcomes can be held against it.
    row.fired += (event != fired.end() && period != 0 ? event->count / period : seen + unseen.skipped) + unseen.throttled;
  }
  row.counts.clear();
  for (size_t i = 0; i < COUNTER_COUNT; ++i) {
    uint64_t value = sum.counts[i];
    if (i == COUNTER_STORED) value -= std::min(value, assembled.lost_stack);
    if (i == COUNTER_LOST_WAITED_NS && row.spent != profile::Spent::kRunning) value += assembled.lost_value;
    if (i == COUNTER_NEVER_RETURNED && events.calls) value += events.calls->gone;
    row.counts.push_back({kCounterTexts[i].text, value, kCounterTexts[i].outcome});
  }
  if (events.calls) account_calls(row, sum, *events.calls);
  row.counts.push_back({"idle, without an interrupt (the CPU slept)", all.asleep, true});
  row.counts.push_back({"lost: stolen (the hypervisor ran something else on that CPU)", all.stolen, true});
  row.fired += events.skipped;
  const bool is_hit = is_probe(events.event.type.kind);
  row.counts.push_back({is_hit ? "lost: skipped by the kernel, which ran another BPF program on that CPU" : "lost: skipped by the kernel for an unknown reason", all.skipped + events.skipped, true});
  row.counts.push_back({"lost: throttled by the kernel (too many samples without a timer tick)", all.throttled, true});
  row.counts.push_back({"lost: stack record missing", assembled.lost_stack, true});
}

LostTime lost_time(const profile::Event& event) {
  LostTime lost;
  for (const profile::Count& count : event.counts) {
    if (count.outcome && count.name.starts_with("lost")) lost.waits += count.value;
    if (count.name == kCounterTexts[COUNTER_LOST_WAITED_NS].text) lost.ns = count.value;
  }
  return lost;
}

}  // namespace cicada::bpf_source
