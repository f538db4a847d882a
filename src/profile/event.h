// SPDX-License-Identifier: Apache-2.0
// What was sampled: a clock, a counter, later a probe or the time that threads wait. An event is data: whatever differs between two
// kinds of samples stands here, and nothing asks for an event by its name.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "abi/end_reason.h"

namespace cicada::profile {

// What a sample's value counts.
enum class Unit : uint8_t { kSamples, kNanoseconds, kBytes, kEvents };

// Whose time a sample's value is, or stands for.
enum class Spent : uint8_t {
  kRunning,          // its thread's, on a CPU; also of what is no time
  kWaiting,          // its thread's, which did not run
  kOthersWaiting,    // of another thread, whose wait this one ended
};

// A count with the text that people see: an outcome of samples ("stored"), or something worth knowing.
struct Count {
  std::string name;
  uint64_t value = 0;
  bool outcome = false;  // outcomes add up to Event::fired
};

struct Event {
  std::string name = "cpu-clock";
  Unit unit = Unit::kSamples;
  Spent spent = Spent::kRunning;
  uint64_t value = 1;         // of each sample that says no other; set before the first sample
  uint64_t period = 0;        // event units from one sample to the next; 0: the kernel adapts it to frequency_hz
  uint64_t frequency_hz = 0;  // as asked for; 0: a period was
  uint64_t sample_ns = 0;     // CPU time that one sample stands for; 0: the event is no clock
  uint64_t fired = 0;         // how often it came, by its own count
  std::vector<Count> counts = {};

  // Values of equal ones can be added up.
  bool is_comparable(const Event& other) const {
    return name == other.name && unit == other.unit && spent == other.spent && period == other.period && sample_ns == other.sample_ns;
  }
};

// One byte of a sample: the index in Header::events.
struct EventId {
  uint8_t value = 0;
  constexpr auto operator<=>(const EventId&) const = default;
};

// What one unit of a value is for formats that know few units: value × factor is in `unit`.
struct ValueUnit {
  std::string_view type;  // "cpu", or the event's name
  std::string_view unit;  // "nanoseconds", "bytes", "count"
  uint64_t factor = 1;
};
ValueUnit value_unit(const Event& event);

// "99 Hz cpu-clock", "cycles, every 1,000", "page-faults, each"; empty where it was read from a file that does not say.
std::string rate_text(const Event& event);

// "samples", "ns", "bytes", "events": what stands behind a number of values.
std::string_view unit_text(Unit unit);

// Running sums of what is stored.
struct EventSums {
  uint64_t samples = 0;
  uint64_t value = 0;  // idle samples left out
  std::array<uint64_t, END_REASON_COUNT> end_reasons{};  // in samples
};

}  // namespace cicada::profile
