// SPDX-License-Identifier: Apache-2.0
// Names by kernel: __do_softirq up to 6.8, handle_softirqs since; sysvec_* and asm_* entries since 5.8.
#include "profile/kernel_context.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace cicada::profile {
namespace {


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

std::optional<KernelContext> find_kernel_context(std::span<const std::string_view> frames) {
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
        if (const std::string_view action = text_of(kSoftirqActions, frames[k]); !action.empty()) return KernelContext{"[softirq: " + std::string(action) + "]", i};
      }
      return KernelContext{"[softirq]", i};
    }
    if (const std::string_view kind = text_of(kInterruptEntries, entry_name(frames[i])); !kind.empty()) {
      // the entry proper says more than a handler inside it: hrtimer_interrupt below a function call is that call
      for (size_t k = i; k-- > 0;) {
        const std::string_view outer = text_of(kInterruptEntries, entry_name(frames[k]));
        if (is_softirq_entry(frames[k])) break;
        if (!outer.empty() && i - k <= 4) return KernelContext{"[irq: " + std::string(outer) + "]", k};
      }
      return KernelContext{"[irq: " + std::string(kind) + "]", i};
    }
  }
  for (size_t i = 0; i < frames.size(); ++i) {
    if (contains(kIdle, frames[i])) return KernelContext{"[idle]", i};
  }
  return std::nullopt;
}

namespace {

bool says_context(std::string_view function) {
  return is_softirq_entry(function) || contains(kIdle, function) || !text_of(kInterruptEntries, entry_name(function)).empty();
}

std::string_view kernel_name(const ProfileSnapshot& profile, FrameId frame) {
  const auto locations = profile.locations(frame);
  return locations.empty() ? std::string_view() : profile.text(profile.functions()[locations.back().function.value].name);
}

bool is_kernel(const ProfileSnapshot& profile, StackId stack) {
  return profile.frames()[profile.stacks()[stack.value].frame.value].kind == FrameKind::kKernel;
}

}  // namespace

void KernelContexts::update(const ProfileSnapshot& profile) {
  profile_ = &profile;
  const SnapshotSizes before = std::exchange(seen_, profile.sizes());
  bool changed = false;
  const auto look_at = [&](FrameId frame) {
    if (profile.frames()[frame.value].kind != FrameKind::kKernel) return;
    const bool says = says_context(kernel_name(profile, frame));
    changed |= frame.value < before.frames && says != says_[frame.value];
    any_ |= says_[frame.value] = says;
  };
  says_.resize(profile.frames().size());
  for (size_t i = before.frames; i < says_.size(); ++i) look_at(FrameId(i));
  for (size_t i = before.renamed_frames; i < profile.renamed_frames().size(); ++i) look_at(profile.renamed_frames()[i]);
  if (!any_) return;
  if (changed) may_have_one_.clear();
  for (size_t i = may_have_one_.size(); i < profile.stacks().size(); ++i) {
    const Stack& stack = profile.stacks()[i];
    may_have_one_.push_back(is_kernel(profile, StackId(i)) && (says_[stack.frame.value] || (stack.parent.valid() && may_have_one_[stack.parent.value])));
  }
}

std::optional<KernelContexts::Label> KernelContexts::find(StackId stack) {
  if (!stack.valid() || stack.value >= may_have_one_.size() || !may_have_one_[stack.value]) return std::nullopt;
  kernel_.clear();
  names_.clear();
  StackId at = stack;
  for (; at.valid() && is_kernel(*profile_, at); at = profile_->stacks()[at.value].parent) kernel_.push_back(at);
  if (at.valid() && profile_->frames()[profile_->stacks()[at.value].frame.value].kind == FrameKind::kLabel) return std::nullopt;  // says it itself
  std::reverse(kernel_.begin(), kernel_.end());
  for (const StackId one : kernel_) names_.push_back(kernel_name(*profile_, profile_->stacks()[one.value].frame));
  const auto context = find_kernel_context(names_);
  if (!context) return std::nullopt;
  return Label{kernel_[context->entry], texts_.text(texts_.intern(context->text))};
}

}  // namespace cicada::profile
