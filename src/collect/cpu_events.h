// SPDX-License-Identifier: Apache-2.0
// The sampling event of every CPU: hardware cycles where the machine has them, else cpu-clock. Counts, outside of BPF, how
// often it fired: the kernel skips a sampling program silently while another BPF program or a map system call runs on that
// CPU, and a counter inside BPF cannot know.
//
// Owns the descriptors; closing them detaches the program. Threads: one at a time.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cicada::collect {

enum class EventChoice : uint8_t { kAuto, kCycles, kCpuClock };

struct CpuEventOptions {
  EventChoice event = EventChoice::kAuto;
  uint64_t frequency_hz = 99;  // used when period is 0
  uint64_t period = 0;         // event units: cycles, or ns of cpu-clock
  std::vector<int> cpus;       // empty: all online
};

// One CPU's own account.
struct CpuCount {
  int cpu = 0;
  uint64_t count = 0;       // event units since enable()
  uint64_t enabled_ns = 0;  // since enable(). cpu-clock: what `count` would be, had the kernel never throttled the event
  uint64_t idle_ns = 0;     // that the CPU slept, by the kernel's own account, since enable(); to 10 ms
};

class CpuEvents {
 public:
  // Opens disabled events and attaches `program_fd` to each.
  // Fails: kPermission, kInvalid (no such CPU), kUnsupported.
  static Result<CpuEvents> open(const CpuEventOptions& options, int program_fd);

  const std::string& name() const { return name_; }  // "cycles" or "cpu-clock"
  bool is_cpu_clock() const { return cpu_clock_; }
  // Event units per sample; 0 for cycles at a frequency, where the kernel adapts it.
  uint64_t period() const { return period_; }
  uint64_t frequency_hz() const { return frequency_hz_; }  // as granted
  // Not empty: the rate was lowered, and to what.
  const std::string& warning() const { return warning_; }

  Result<void> enable();
  void disable();
  // CPUs that came online since get their event. Cheap; called once a second. Returns how many were added.
  int follow_hotplug();
  std::vector<CpuCount> counts() const;

 private:
  struct CpuEvent {
    int cpu;
    UniqueFd fd, link;
    uint64_t idle_ns_before = 0;
  };
  Result<CpuEvent> open_one(int cpu) const;

  bool cpu_clock_ = true;
  uint64_t period_ = 0, frequency_hz_ = 0;
  std::string name_, warning_;
  int program_fd_ = -1;
  bool all_cpus_ = false, enabled_ = false;
  std::vector<CpuEvent> events_;
};

}  // namespace cicada::collect
