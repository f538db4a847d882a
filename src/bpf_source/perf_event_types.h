// SPDX-License-Identifier: Apache-2.0
// The perf events that can be asked for by name. One table; -e, doctor and the documents list it. Source: perf_event_open(2).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cicada::bpf_source {

enum class PerfEventKind : uint8_t {
  kTimer,    // a timer of the kernel's: counts ns, exists everywhere
  kClock,    // a counter of the CPU's that runs as its clock does: stands for CPU time, as a timer
  kCounter,  // counts what happens; a sample is worth as many as its period
};

struct PerfEventType {
  std::string_view name;
  std::string_view alias;  // perf's other name; empty: none
  PerfEventKind kind;
  uint32_t type;    // perf_event_attr.type
  uint64_t config;  // perf_event_attr.config
};

std::span<const PerfEventType> perf_event_types();
// By name or alias. Null: none has it.
const PerfEventType* find_perf_event_type(std::string_view name);
// Names that `name` may have been meant to be, the nearest first; for messages. Empty: none is near.
std::string near_perf_event_types(std::string_view name);

}  // namespace cicada::bpf_source
