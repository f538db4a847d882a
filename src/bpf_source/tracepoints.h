// SPDX-License-Identifier: Apache-2.0
// The kernel's tracepoints by name, as tracefs lists them. Source: Documentation/trace/events.rst.
//
// Threads: any.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "bpf_source/event_spec.h"

namespace cicada::bpf_source {

// For who may not read tracefs.
inline constexpr const char* kTracefsRemedy = "run cicada as root, or let root do: mount -t tracefs nodev /sys/kernel/tracing; chmod -R o+rX /sys/kernel/tracing";

class Tracepoints {
 public:
  // Where tracefs is mounted; else by a mount of our own, which is in no name space.
  // Fails: kPermission, kUnsupported (the kernel has none).
  static Result<Tracepoints> open();
  // `events`: its directory of that name.
  explicit Tracepoints(UniqueFd events) : events_(std::move(events)) {}
  // perf_event_attr.config of CATEGORY:NAME. Fails: kNotFound, with names that may have been meant; kPermission.
  Result<uint64_t> id(std::string_view name) const;
  // Neither it nor one that is nearly called so.
  bool is_no_category(const std::string& category) const;
  // CATEGORY:NAME of all, by name.
  std::vector<std::string> names() const;
  // The numbers that it hands over, in order.
  std::vector<std::string> fields(std::string_view name) const;
  // Where it hands over that number (bpf_source/field_name.h). Fails: kNotFound, with names that may have been meant; kUnsupported (it is text, or a list).
  Result<event_field> field(std::string_view name, std::string_view field) const;
  // Groups its hits by the text that this field is, or is the address of. Fails: as above; kUnsupported (it is neither).
  Result<void> group_by_text(std::string_view name, std::string_view field, event_fields& fields) const;

 private:
  std::vector<std::string> list(const std::string& directory) const;
  std::string format_of(std::string_view name) const;
  UniqueFd events_;
};

// Looks up what is not yet: perf_event_attr.config, and fields. What may be a function (EventSpec) and is no tracepoint becomes one. Where tracefs is mounted nowhere, it takes CAP_SYS_ADMIN, which a recording gives up.
Result<void> find_tracepoints(std::span<EventSpec> events);

}  // namespace cicada::bpf_source
