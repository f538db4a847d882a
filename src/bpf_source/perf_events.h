// SPDX-License-Identifier: Apache-2.0
// The events of a recording, each at its own rate, and the perf events among them, on every CPU: timers, hardware and software counters. Counts, outside of BPF, how often
// each fired: the kernel skips a sampling program silently while another BPF program or a map system call runs on that CPU, and a counter inside
// BPF cannot know. A tracepoint, or a function of the kernel, is opened once, and its program runs on whatever CPU it is passed. Functions of programs are not
// opened here (bpf_source/function_probes.h).
//
// Owns the descriptors; closing them detaches the program. Threads: one at a time.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "abi/event_cookie.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "bpf_source/cpu_times.h"
#include "bpf_source/sampling_config.h"

namespace cicada::bpf_source {

// One CPU's own account of one event.
struct CpuCount {
  int cpu = 0;
  uint64_t count = 0;       // event units since enable()
  uint64_t enabled_ns = 0;  // since enable(). A timer: what `count` would be, had the kernel never throttled the event
  CpuTime time = {};        // since enable()
};

class PerfEvents {
 public:
  struct Event {
    EventType type;
    uint64_t period = 0;        // event units a sample; 0: the kernel adapts it to the frequency
    uint64_t frequency_hz = 0;  // as granted; 0: a period was asked for
    uint64_t value = 0;         // of each sample; 0: each says its own
    profile::Unit unit = profile::Unit::kEvents;  // of a probe's values
    event_fields fields = {};   // what is asked of a probe's numbers
    FunctionPlace place = {};   // of a function
    bool times_calls = false;   // of a function (event_spec.h)
    size_t argument_count = 0;  // of a place in the kernel (event_spec.h)
    uint64_t stop_after = 0;  // samples; 0: none
    std::vector<std::string> arguments = {};  // of a function of a program, by name (event_spec.h)
  };
  // File descriptors; negative: no event needs it.
  struct Programs {
    int perf_event = -1, tracepoint = -1, kernel_function = -1;
    std::vector<int> kernel_places = {};  // one of each such event, in order
  };

  // At what rate an event is sampled: its own, or the recording's; no faster than `max_hz` and what the kernel's timers do.
  static Event plan(const EventSpec& spec, const PerfEventOptions& options, uint64_t max_hz, std::string& warning);
  // Which events, and how often; none is open yet. Fails: kInvalid (no such CPU), and as find_tracepoints().
  static Result<PerfEvents> plan(const PerfEventOptions& options);
  // Opens them disabled and attaches their program to each, with its index as the event id; that of probes is attached by enable().
  // Fails: kPermission, kInvalid (a CPU went offline), kUnsupported (no such counter here), kNotFound (no such function of the kernel).
  Result<void> open(const Programs& programs);

  std::span<const Event> events() const { return events_; }
  size_t cpu_count() const { return planned_cpus_.size(); }
  // Of rates that were lowered, and to what.
  const std::vector<std::string>& warnings() const { return warnings_; }

  Result<void> enable();
  void disable();
  // Events only, and at once: what fires meanwhile is not counted either. Between enable() and disable().
  void pause(bool paused);
  // CPUs that came online since, or again, get their events. Cheap; called once a second. Returns how many were added.
  int follow_hotplug();
  // Of a place in the kernel, whose program is its own; negative: it is no such event. After open().
  int program_of_place(size_t event) const;
  // Empty: nobody counts them but the program.
  std::vector<CpuCount> counts(size_t event) const;

 private:
  struct OnCpu {
    int cpu;
    std::vector<UniqueFd> fds, links;  // by event; none of one that is not opened on every CPU
    CpuTime before = {};
    uint64_t seen_enabled_ns = 0;  // by follow_hotplug()
    bool gone = false;             // the kernel takes events away with their CPU, and does not bring them back
  };
  // The link is there from enable() to disable().
  struct Probe {
    size_t event = 0;
    uint32_t role = ROLE_HIT;  // enum probe_role
    UniqueFd fd, link;
  };
  Result<OnCpu> open_on(int cpu) const;
  Result<void> enable(OnCpu& cpu, const CpuTimes& now) const;
  void control(unsigned long request) const;

  std::vector<Event> events_;
  std::vector<std::string> warnings_;
  std::vector<int> planned_cpus_;
  Programs programs_;
  bool all_cpus_ = false, enabled_ = false, paused_ = false;
  std::vector<OnCpu> cpus_;
  std::vector<Probe> probes_;
};

}  // namespace cicada::bpf_source
