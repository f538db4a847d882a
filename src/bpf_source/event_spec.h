// SPDX-License-Identifier: Apache-2.0
// Events as people ask for them:
//
//   -e cpu-clock                              at the recording's rate (-F, -c)
//   -e page-faults/period=1/                  each of them
//   -e cycles/freq=199/,context-switches      several, each at its own rate
//   -e sched:sched_process_exec               a tracepoint: each time the kernel passes it (docs/events.md)
//   -e t:block:block_rq_issue/period=10/      the same, one of ten
//   -e t:syscalls:sys_enter_write/fd==1,value=count,unit=bytes,by=fd/   by the numbers that it hands over
//
// Threads: any.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "abi/event_fields.h"
#include "bpf_source/event_types.h"
#include "profile/event.h"

namespace cicada::bpf_source {

// A number that a tracepoint hands over, compared with another one.
struct FieldComparison {
  std::string field;
  comparison is = IS_EQUAL;
  int64_t number = 0;
  bool operator==(const FieldComparison&) const = default;
};

struct EventSpec {
  EventType type;
  std::optional<uint64_t> period = {};        // a sample every so many event units (ns of a timer), more than 0. Of a tracepoint: one of about so many hits
  std::optional<uint64_t> frequency_hz = {};  // or so many samples a second and CPU, more than 0; never both
  // Of tracepoints: a hit counts what this field says (empty: 1), in that unit, if all of these hold.
  std::string value = {};
  std::string group = {};  // hits are grouped by this field; empty: they are not
  profile::Unit unit = profile::Unit::kEvents;
  std::vector<FieldComparison> filters = {};
  event_fields fields = {};  // the same, once they are looked up (bpf_source/tracepoints.h)
};

// One or more, a comma between them; at least one. Fails (kInvalid): with the column where it goes wrong, from 1, and what may have been meant.
Result<std::vector<EventSpec>> parse_event_specs(std::string_view text);

}  // namespace cicada::bpf_source
