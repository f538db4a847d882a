// SPDX-License-Identifier: Apache-2.0
// What can be sampled, by name. One table; -e, doctor and the documents list it. Source: perf_event_open(2).
// Threads: any.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cicada::bpf_source {

enum class EventKind : uint8_t {
  kTimer,    // a timer of the kernel's: counts ns, exists everywhere
  kClock,    // a counter of the CPU's that runs as its clock does: stands for CPU time, as a timer
  kCounter,  // counts what happens; a sample is worth as many as its period
  kWait,     // time between two turns of a thread, in ns; no perf event
  kWake,     // the same, of whoever ends such a time; with kWait
  kTracepoint,  // a place in the kernel that says when it is passed
  kUserFunction,    // where a function of a program begins or returns
  kKernelFunction,  // the same of the kernel
  kKernelPlace,     // the same where the kernel's types describe it, or a raw tracepoint (bpf_source/kernel_places.h)
};

struct EventType {
  std::string name;   // of a tracepoint CATEGORY:NAME; of a function KIND:PLACE, with the short kind
  std::string alias;  // perf's other name; empty: none
  EventKind kind = EventKind::kTimer;
  uint32_t type = 0;    // perf_event_attr.type
  uint64_t config = 0;  // perf_event_attr.config; of a place in the kernel enum bpf_attach_type; of a tracepoint 0, until it is looked up (bpf_source/tracepoints.h)
  bool operator==(const EventType&) const = default;
};

// Of a place in code: each hit is an event.
inline bool is_probe(EventKind kind) { return kind == EventKind::kTracepoint || kind == EventKind::kUserFunction || kind == EventKind::kKernelFunction || kind == EventKind::kKernelPlace; }

// All but probes, of which each kernel and program has others.
std::span<const EventType> event_types();
// By name or alias. Null: none has it.
const EventType* find_event_type(std::string_view name);
// Names that `name` may have been meant to be, the nearest first; for messages. Empty: none is near.
std::string near_event_types(std::string_view name);

}  // namespace cicada::bpf_source
