// SPDX-License-Identifier: Apache-2.0
// Events as people ask for them:
//
//   -e cpu-clock                              at the recording's rate (-F, -c)
//   -e page-faults/period=1/                  each of them
//   -e counter:cycles                         the same as cycles, where a function has that name
//   -e cycles/freq=199/,context-switches      several, each at its own rate
//   -e sched:sched_process_exec               a tracepoint: each time the kernel passes it (docs/events.md)
//   -e malloc, -e libc:malloc                 functions, where nothing else has that name
//   -e t:block:block_rq_issue/period=10/      the same, one of ten
//   -e t:syscalls:sys_enter_write/fd==1,value=count,unit=bytes,by=fd/   by the numbers that it hands over
//   -e u:libc:malloc/value=arg0,unit=bytes/   a function of a program or library (bpf_source/function_place.h); ur: where it returns
//   -e 'u:libc:open/by=str(arg0)/'            by a text that it hands over
//   -e usdt:libc:libc:setjmp                  a USDT probe of a program or library
//   -e u:app:handle/value=bytes,priority>2/   an argument by its name in the source, where debug information has it
//   -e u:app:handle/return/                   each call when it returns; its value is how long it took
//   -e f:vfs_read, -e fr:vfs_read/retval<0/, -e rawtp:sched_switch   places in the kernel, by its types (bpf_source/kernel_places.h)
//   -e k:vfs_read, -e kr:vfs_read/s64(retval)<0/   a function of the kernel
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
#include "bpf_source/function_place.h"
#include "profile/event.h"

namespace cicada::bpf_source {

// A number that a probe hands over, compared with another one. Its name: as a tracepoint has it, or arg0 to arg5, an argument's, or retval; in TYPE(…), the low bits of it.
struct FieldComparison {
  std::string field;
  comparison is = IS_EQUAL;
  int64_t number = 0;
  bool operator==(const FieldComparison&) const = default;
};

struct EventSpec {
  EventType type;
  std::string maybe_function = {};            // of CATEGORY:NAME without a kind: what was written. If there is no such category, it is IMAGE:FUNCTION. Of a clock or counter
                                              // without a kind, too: a function may have that name (ambiguous_events.h)
  std::optional<uint64_t> period = {};        // a sample every so many event units (ns of a timer), more than 0. Of a probe: one of about so many hits
  std::optional<uint64_t> frequency_hz = {};  // or so many samples a second and CPU, more than 0; never both
  uint64_t stop_after = 0;                    // so many samples: then the recording ends; 0: it does not
  FunctionPlace place = {};                   // of a function
  bool times_calls = false;                   // of a function: a sample where a call returns that began at `place`, of the ns between
  // Of probes: a hit counts what this field says (empty: 1), in that unit, if all of these hold.
  std::string value = {};
  std::string group = {};  // hits are grouped by this field; empty: they are not
  bool group_is_text = false;  // by the text that it is, or is the address of
  profile::Unit unit = profile::Unit::kEvents;
  std::vector<FieldComparison> filters = {};
  std::vector<std::string> arguments = {};  // those of a function that the source has names for, each once: FIELD_OF_ARGUMENT in `fields`
  event_fields fields = {};  // the same; of tracepoints and of places in the kernel once they are looked up (bpf_source/tracepoints.h, kernel_places.h)
  size_t argument_count = 0;  // of a place in the kernel; the same
};

// One or more, a comma between them; at least one. Fails (kInvalid): with the column where it goes wrong, from 1, and what may have been meant.
Result<std::vector<EventSpec>> parse_event_specs(std::string_view text);

}  // namespace cicada::bpf_source
