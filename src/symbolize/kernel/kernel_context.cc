// SPDX-License-Identifier: Apache-2.0
// Names by kernel: __do_softirq up to 6.8, handle_softirqs since; sysvec_* and asm_* entries since 5.8.
#include "symbolize/kernel/kernel_context.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

namespace cicada::symbolize {
namespace {

using profile::FrameId;
using profile::FrameKind;
using profile::Profile;
using profile::StackId;

struct Named {
  std::string_view function, text;
};

constexpr std::array<Named, 18> kSoftirqActions{{{"net_rx_action", "net_rx"},
                                                 {"net_tx_action", "net_tx"},
                                                 {"run_timer_softirq", "timer"},
                                                 {"hrtimer_run_softirq", "hrtimer"},
                                                 {"tasklet_action", "tasklet"},
                                                 {"tasklet_action_common", "tasklet"},
                                                 {"tasklet_hi_action", "tasklet_hi"},
                                                 {"workqueue_softirq_action", "workqueue"},
                                                 {"blk_done_softirq", "block"},
                                                 {"irq_poll_softirq", "irq_poll"},
                                                 {"run_rebalance_domains", "sched"},
                                                 {"sched_balance_softirq", "sched"},
                                                 {"rcu_core", "rcu"},
                                                 {"rcu_core_si", "rcu"},
                                                 {"rcu_process_callbacks", "rcu"},
                                                 {"__run_timers", "timer"},
                                                 {"net_rx_do_softirq", "net_rx"},
                                                 {"__napi_poll", "net_rx"}}};

// Entry functions without their "asm_" and "__" in front.
constexpr std::array<Named, 24> kInterruptEntries{{{"sysvec_apic_timer_interrupt", "timer"},
                                                   {"smp_apic_timer_interrupt", "timer"},
                                                   {"apic_timer_interrupt", "timer"},
                                                   {"sysvec_hyperv_stimer0", "timer"},
                                                   {"hrtimer_interrupt", "timer"},
                                                   {"tick_handle_periodic", "timer"},
                                                   {"sysvec_call_function_single", "function call"},
                                                   {"sysvec_call_function", "function call"},
                                                   {"flush_smp_call_function_queue", "function call"},
                                                   {"generic_smp_call_function_single_interrupt", "function call"},
                                                   {"sysvec_reschedule_ipi", "reschedule"},
                                                   {"sysvec_irq_work", "irq_work"},
                                                   {"sysvec_error_interrupt", "error"},
                                                   {"sysvec_spurious_apic_interrupt", "spurious"},
                                                   {"sysvec_thermal", "thermal"},
                                                   {"sysvec_threshold", "threshold"},
                                                   {"sysvec_kvm_asyncpf_interrupt", "kvm page"},
                                                   {"sysvec_hyperv_callback", "hypervisor"},
                                                   {"sysvec_xen_hvm_callback", "hypervisor"},
                                                   {"xen_pv_evtchn_do_upcall", "hypervisor"},
                                                   {"common_interrupt", "device"},
                                                   {"do_IRQ", "device"},
                                                   {"handle_edge_irq", "device"},
                                                   {"handle_fasteoi_irq", "device"}}};

// Below an interrupt entry, these say that the interrupt is the sampling itself.
constexpr std::array<std::string_view, 9> kSampling{"perf_swevent_hrtimer", "perf_event_overflow",    "__perf_event_overflow", "bpf_overflow_handler", "perf_event_nmi_handler",
                                                    "intel_pmu_handle_irq", "amd_pmu_v2_handle_irq", "x86_pmu_handle_irq",    "amd_pmu_handle_irq"};

constexpr std::array<std::string_view, 10> kIdle{"do_idle",      "default_idle_call", "cpuidle_enter",     "cpuidle_enter_state", "cpu_startup_entry",
                                                 "default_idle", "acpi_safe_halt",    "pv_native_safe_halt", "intel_idle",        "mwait_idle"};

template <size_t N>
std::string_view text_of(const std::array<Named, N>& table, std::string_view function) {
  for (const Named& named : table) {
    if (named.function == function) return named.text;
  }
  return {};
}

std::string_view entry_name(std::string_view function) {
  if (function.starts_with("asm_")) function.remove_prefix(4);
  if (function.starts_with("__sysvec_") || function == "__common_interrupt") function.remove_prefix(2);
  return function;
}

bool is_softirq_entry(std::string_view function) {
  return function == "handle_softirqs" || function == "__do_softirq" || function == "__softirqentry_text_start";
}

template <size_t N>
bool contains(const std::array<std::string_view, N>& table, std::string_view function) {
  return std::find(table.begin(), table.end(), function) != table.end();
}

}  // namespace

std::optional<std::string> find_kernel_context(std::span<const std::string_view> frames) {
  // Cut the sampling interrupt off: from the outermost frame of the entry it came through.
  for (size_t i = 0; i < frames.size(); ++i) {
    if (!contains(kSampling, frames[i])) continue;
    size_t entry = i;
    while (entry > 0 && text_of(kInterruptEntries, entry_name(frames[entry])) != "timer" && frames[entry] != "exc_nmi" && frames[entry] != "nmi_handle" &&
           frames[entry] != "asm_exc_nmi") {
      --entry;
    }
    while (entry > 0 && (text_of(kInterruptEntries, entry_name(frames[entry - 1])) == "timer" || frames[entry - 1] == "asm_exc_nmi" ||
                         frames[entry - 1] == "end_repeat_nmi" || frames[entry - 1] == "exc_nmi" || frames[entry - 1] == "default_do_nmi")) {
      --entry;
    }
    frames = frames.first(entry);
    break;
  }
  for (size_t i = frames.size(); i-- > 0;) {
    if (is_softirq_entry(frames[i])) {
      for (size_t k = i + 1; k < frames.size(); ++k) {
        if (const std::string_view action = text_of(kSoftirqActions, frames[k]); !action.empty()) return "[softirq: " + std::string(action) + "]";
      }
      return "[softirq]";
    }
    if (const std::string_view kind = text_of(kInterruptEntries, entry_name(frames[i])); !kind.empty()) {
      // the entry proper says more than a handler inside it: hrtimer_interrupt below a function call is that call
      for (size_t k = i; k-- > 0;) {
        const std::string_view outer = text_of(kInterruptEntries, entry_name(frames[k]));
        if (is_softirq_entry(frames[k])) break;
        if (!outer.empty() && i - k <= 4) return "[irq: " + std::string(outer) + "]";
      }
      return "[irq: " + std::string(kind) + "]";
    }
  }
  for (const std::string_view frame : frames) {
    if (contains(kIdle, frame)) return "[idle]";
  }
  return std::nullopt;
}

}  // namespace cicada::symbolize
