// SPDX-License-Identifier: Apache-2.0
#include "profile/event.h"

#include <fmt/format.h>

#include "base/number_text.h"

namespace cicada::profile {

ValueUnit value_unit(const Event& event) {
  switch (event.unit) {
    case Unit::kNanoseconds: return {event.name, "nanoseconds", 1};
    case Unit::kBytes: return {event.name, "bytes", 1};
    case Unit::kEvents: return {event.name, "count", 1};
    case Unit::kSamples: break;
  }
  if (event.sample_ns != 0) return {"cpu", "nanoseconds", event.sample_ns};
  return {event.name.empty() ? std::string_view("samples") : std::string_view(event.name), "count", event.period != 0 ? event.period : 1};
}

std::string rate_text(const Event& event) {
  if (event.frequency_hz != 0) return fmt::format("{} Hz {}", event.frequency_hz, event.name);
  if (event.period == 0) return "";
  return event.period == 1 ? fmt::format("{}, each", event.name) : fmt::format("{}, every {}", event.name, grouped_digits(event.period));
}

std::string_view unit_text(Unit unit) {
  switch (unit) {
    case Unit::kNanoseconds: return "ns";
    case Unit::kBytes: return "bytes";
    case Unit::kEvents: return "events";
    case Unit::kSamples: break;
  }
  return "samples";
}

}  // namespace cicada::profile
