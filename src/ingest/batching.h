// SPDX-License-Identifier: Apache-2.0
// Spaces the turns of a loop when very much happens. Usually a wake is answered at once; in a storm of processes, turns gather what came
// in a few milliseconds, because a context switch for each event costs more than the work, and most processes are gone by then and need none
// (2026-11-21, 2,000 dynamic programs a second: 28 % of a core without, 8 % with pauses of 3 ms).
// Threads: one.
#pragma once
#include <time.h>

#include <algorithm>
#include <cstdint>

#include "base/monotonic_clock.h"

namespace cicada::ingest {

// How long a loop sleeps at most that nobody wakes: while `samples` of a CPU come, 10 ms to longest_ms. frequency_hz 0: unknown, 10 ms.
// Each look at empty rings is two context switches (2026-11-21, the whole machine for 5 s at 99 Hz: 0.24 s of CPU with 220 looks a
// second, 0.18 with 50).
constexpr int sleep_ms(uint64_t frequency_hz, int samples, int longest_ms) {
  if (frequency_hz == 0) return 10;
  return static_cast<int>(std::clamp<uint64_t>(static_cast<uint64_t>(samples) * 1000 / frequency_hz, 10, static_cast<uint64_t>(longest_ms)));
}

class Pace {
 public:
  static constexpr uint64_t kWindowNs = 50'000'000;
  static constexpr uint64_t kStorm = 200;  // events in a window: 1,300 processes a second, of three events each; with 500 already, those of a few ms lost 3 % of their stacks

  explicit Pace(long pause_ns) : pause_ns_(pause_ns) {}

  bool storm() const { return storm_; }
  // After each turn, with the number of events it brought.
  void turn(uint64_t events) {
    const uint64_t now = monotonic_ns();
    events_ += events;
    if (now - window_begin_ns_ >= kWindowNs) {
      storm_ = events_ > kStorm && now - window_begin_ns_ < 2 * kWindowNs;
      window_begin_ns_ = now;
      events_ = 0;
    }
    if (!storm_) return;
    const timespec pause{0, pause_ns_};
    ::nanosleep(&pause, nullptr);
  }

 private:
  long pause_ns_;
  uint64_t window_begin_ns_ = 0, events_ = 0;
  bool storm_ = false;
};

}  // namespace cicada::ingest
