// SPDX-License-Identifier: Apache-2.0
// Which span of time belongs to which benchmark: out of what clients said, in the order in which it came.
//
// Start and Stop carry no pid. Those of one writer are matched with each other, then what is left, as if one client had said it: CurrentBenchmark
// names the newest finished window that has no name, else the next. Rounds are placed by their time, never by their arrival: several clients tell
// them at the end.
//
//   tinybench   Start ······ Stop Current(a) Marker Marker
//   playwright  Current(b) Start Marker Marker Stop
//
// Pure; times are ns of CLOCK_MONOTONIC.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/process_key.h"

namespace cicada::benchmark {

// A process as the kernel knows it. 0: unknown.
struct ProcessId {
  Pid pid = 0;
  uint64_t start_ns = 0;  // since boot; to 10 ms
  bool operator==(const ProcessId&) const = default;
};

struct Announcement {
  enum class Kind : uint8_t { kStart, kStop, kCurrent, kRoundStart, kRoundEnd, kNobody };  // kNobody: no client was connected
  Kind kind;
  uint64_t time_ns = 0;       // of markers: what the client says
  uint64_t writer = 0;        // the process whose message it is, by the ns since boot at which it began; 0: unknown
  Pid told_pid = 0;           // kCurrent, markers: as the client knows it
  ProcessId process = {};     // kCurrent
  std::string uri = {};       // kCurrent
};

struct Round {
  uint64_t begin_ns = 0, end_ns = 0;
};

// Between two pauses.
struct Span {
  uint64_t begin_ns = 0, end_ns = 0;
  uint64_t cpu_ns = 0;  // that the command used in it, by the scheduler's account
};

struct Window {
  uint64_t begin_ns = 0, end_ns = 0;  // half-open
  std::string uri;                    // empty: never named
  Pid told_pid = 0;
  ProcessId process;
  std::vector<Round> rounds;          // by time
  bool overlaps = false;              // with another window
};

struct Windows {
  std::vector<Window> windows;  // by begin
  uint64_t stray_stops = 0, unnamed = 0, abandoned = 0, stray_rounds = 0;
};

// The CPU time of a window that has a span to itself. Nothing: it has not.
std::optional<uint64_t> find_cpu_time(std::span<const Window> windows, const Window& window, std::span<const Span> spans);

// `end_ns`: when the run ended; windows that are open then are abandoned.
Windows assign_windows(std::span<const Announcement> said, uint64_t end_ns);

}  // namespace cicada::benchmark
