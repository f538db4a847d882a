// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/kernel_functions.h"

#include <algorithm>

namespace cicada::bpf_source {
namespace {

// How their names begin, without underscores before.
constexpr std::string_view kNames[] = {"bpf_ringbuf", "bpf_get_stack", "bpf_map_", "bpf_prog_", "bpf_perf_", "bpf_probe_read", "bpf_find_vma", "bpf_task_storage", "htab_", "pcpu_freelist", "trie_",     "array_map_",
                                       "stack_map_",  "raw_spin_",     "queued_spin", "native_queued_spin", "pv_queued", "pv_wait", "pv_kick", "rqspin",  "resilient_", "perf_callchain", "get_perf_callchain",
                                       "trace_call_bpf", "irq_work_", "copy_from_user_nofault", "copy_from_kernel_nofault", "unwind_next_frame", "unwind_start", "prandom_u32", "kprobe_", "uprobe_"};

}  // namespace

bool is_used_by_programs(std::string_view function) {
  const std::string_view name = function.substr(std::min(function.find_first_not_of('_'), function.size()));
  return std::any_of(std::begin(kNames), std::end(kNames), [&](std::string_view one) { return name.starts_with(one); });
}

bool is_passed_under_locks(std::string_view tracepoint) { return tracepoint == "contention_end" || tracepoint == "lock_acquired" || tracepoint == "lock_release"; }

}  // namespace cicada::bpf_source
