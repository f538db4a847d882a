// SPDX-License-Identifier: Apache-2.0
// Stacks as recorded, outermost first. Interrupt handlers are sampled only by NMIs, which virtual machines lack, so those were
// taken from the kernel's own traces (dump_stack in an interrupt) of 6.1 and 6.18.
#include "profile/kernel_context.h"

#include <gtest/gtest.h>

#include <sstream>

#include "profile/call_tree.h"
#include "profile/profile.h"

namespace cicada::profile {
namespace {

std::string context(const std::string& stack) {
  std::vector<std::string> words;
  std::istringstream in(stack);
  for (std::string word; in >> word;) words.push_back(word);
  const std::vector<std::string_view> names(words.begin(), words.end());
  const auto found = find_kernel_context(names);
  return found ? found->text : "none";
}

TEST(KernelContext, IsNothingInASystemCall) {
  EXPECT_EQ(context("entry_SYSCALL_64_after_hwframe do_syscall_64 ksys_read vfs_read ext4_file_read_iter filemap_read"), "none");
  EXPECT_EQ(context("asm_exc_page_fault exc_page_fault handle_mm_fault do_anonymous_page clear_page_erms"), "none");
  EXPECT_EQ(context("ret_from_fork kthread worker_thread process_one_work"), "none");
  EXPECT_EQ(context(""), "none");
}

TEST(KernelContext, NamesTheSoftirqByItsAction) {
  EXPECT_EQ(context("entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_sendto tcp_sendmsg __local_bh_enable_ip do_softirq handle_softirqs net_rx_action "
                    "__napi_poll process_backlog tcp_v4_rcv"),
            "[softirq: net_rx]");
  EXPECT_EQ(context("asm_sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt irq_exit_rcu __irq_exit_rcu __do_softirq rcu_core_si rcu_core kmem_cache_free"),
            "[softirq: rcu]");
  EXPECT_EQ(context("ret_from_fork_asm ret_from_fork kthread smpboot_thread_fn run_ksoftirqd handle_softirqs sched_balance_softirq"), "[softirq: sched]");
  EXPECT_EQ(context("asm_sysvec_apic_timer_interrupt irq_exit_rcu handle_softirqs run_timer_softirq __run_timers call_timer_fn"), "[softirq: timer]");
  EXPECT_EQ(context("asm_common_interrupt common_interrupt irq_exit_rcu handle_softirqs blk_done_softirq"), "[softirq: block]");
  EXPECT_EQ(context("handle_softirqs some_driver_thing"), "[softirq]");
}

TEST(KernelContext, NamesTheInterruptByItsEntry) {
  EXPECT_EQ(context("entry_SYSCALL_64_after_hwframe do_syscall_64 asm_sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt __sysvec_apic_timer_interrupt "
                    "hrtimer_interrupt __hrtimer_run_queues tick_nohz_handler update_process_times"),
            "[irq: timer]");
  EXPECT_EQ(context("asm_common_interrupt common_interrupt handle_edge_irq handle_irq_event __handle_irq_event_percpu nvme_irq"), "[irq: device]");
  EXPECT_EQ(context("asm_sysvec_call_function_single sysvec_call_function_single __flush_smp_call_function_queue flush_tlb_func"), "[irq: function call]");
  EXPECT_EQ(context("asm_sysvec_reschedule_ipi sysvec_reschedule_ipi"), "[irq: reschedule]");
  EXPECT_EQ(context("asm_sysvec_irq_work sysvec_irq_work irq_work_run"), "[irq: irq_work]");
}

TEST(KernelContext, LetsTheInnermostEntryWin) {
  EXPECT_EQ(context("handle_softirqs net_rx_action asm_sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt hrtimer_interrupt"), "[irq: timer]");
  EXPECT_EQ(context("start_secondary cpu_startup_entry do_idle default_idle_call asm_sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt irq_exit_rcu "
                    "handle_softirqs sched_balance_softirq"),
            "[softirq: sched]");
}

TEST(KernelContext, CallsTheIdleLoopIdle) {
  EXPECT_EQ(context("secondary_startup_64_no_verify start_secondary cpu_startup_entry do_idle default_idle_call default_idle pv_native_safe_halt"), "[idle]");
  EXPECT_EQ(context("cpu_startup_entry do_idle cpuidle_idle_call cpuidle_enter cpuidle_enter_state poll_idle"), "[idle]");
}

TEST(KernelContext, NeverReportsTheSamplingInterruptAsWork) {
  EXPECT_EQ(context("entry_SYSCALL_64_after_hwframe do_syscall_64 ksys_read vfs_read asm_sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt "
                    "__sysvec_apic_timer_interrupt hrtimer_interrupt __hrtimer_run_queues perf_swevent_hrtimer __perf_event_overflow bpf_overflow_handler"),
            "none");
  EXPECT_EQ(context("handle_softirqs net_rx_action asm_sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt hrtimer_interrupt perf_swevent_hrtimer"),
            "[softirq: net_rx]");
  EXPECT_EQ(context("cpu_startup_entry do_idle default_idle_call asm_exc_nmi exc_nmi default_do_nmi nmi_handle perf_event_nmi_handler x86_pmu_handle_irq"), "[idle]");
  EXPECT_EQ(context("asm_common_interrupt common_interrupt handle_edge_irq asm_exc_nmi exc_nmi nmi_handle perf_event_nmi_handler"), "[irq: device]");
}

class ShownContext : public testing::Test {
 protected:
  FrameId named(const char* name, FrameKind kind) {
    const FrameId frame = profile.intern_frame({kind, {}, 0, 0x1000 + profile.frames().size(), {}});
    const Location location[] = {{.function = profile.intern_function({profile.intern(name), {}, {}})}};
    profile.set_locations(frame, location);
    return frame;
  }
  void sample(std::vector<FrameId> frames) {
    const ThreadId thread = profile.intern_thread(profile.intern_process(1, 1), 1);
    profile.append_sample({.thread = thread, .stack = profile.intern_stack({}, frames)});
  }
  std::string path(const CallTree& tree, const char* leaf) const {
    std::string text;
    for (uint32_t i = 0; i < tree.nodes.size(); ++i) {
      if (tree.text(tree.nodes[i].name) != leaf) continue;
      for (uint32_t at = i; at != 0; at = tree.nodes[at].parent) text = std::string(tree.text(tree.nodes[at].name)) + (text.empty() ? "" : ";") + text;
    }
    return text;
  }
  Profile profile;
};

TEST_F(ShownContext, StandsWhereItWasEnteredAndLeavesTheSamplesAlone) {
  const FrameId main = named("main", FrameKind::kNative), call = named("entry_SYSCALL_64", FrameKind::kKernel), unlock = named("local_bh_enable", FrameKind::kKernel),
                softirq = named("handle_softirqs", FrameKind::kKernel), action = named("net_rx_action", FrameKind::kKernel);
  sample({main, call, unlock});
  sample({main, call, unlock, softirq, action});
  const CallTree tree = build_call_tree(profile, {});
  EXPECT_EQ(path(tree, "net_rx_action"), "main;entry_SYSCALL_64;local_bh_enable;[softirq: net_rx];handle_softirqs;net_rx_action");
  EXPECT_EQ(tree.total(), 2u);
  EXPECT_EQ(profile.stacks().size(), 5u);
  for (const CallNode& node : tree.nodes)
    EXPECT_EQ(node.kind == NodeKind::kMarker, tree.text(node.name) == "[softirq: net_rx]");
}

TEST_F(ShownContext, SystemCallsAreOnePathWithAndWithoutSoftirq) {
  const FrameId main = named("main", FrameKind::kNative), call = named("do_syscall_64", FrameKind::kKernel), softirq = named("handle_softirqs", FrameKind::kKernel),
                action = named("rcu_core", FrameKind::kKernel), other = named("vfs_read", FrameKind::kKernel);
  sample({main, call, softirq, action});
  sample({main, call, other});
  sample({main, call, softirq});  // what it did is not in its stack
  const CallTree tree = build_call_tree(profile, {});
  EXPECT_EQ(path(tree, "rcu_core"), "main;do_syscall_64;[softirq: rcu];handle_softirqs;rcu_core");
  EXPECT_EQ(path(tree, "[softirq]"), "main;do_syscall_64;[softirq]");
  for (const CallNode& node : tree.nodes)
    EXPECT_EQ(node.total == 3, tree.text(node.name) == "do_syscall_64" || tree.text(node.name) == "main" || &node == &tree.nodes[0]);
}

TEST_F(ShownContext, AUserFunctionOfThatNameMeansNothing) {
  sample({named("main", FrameKind::kNative), named("handle_softirqs", FrameKind::kNative)});
  EXPECT_EQ(path(build_call_tree(profile, {}), "handle_softirqs"), "main;handle_softirqs");
}

}  // namespace
}  // namespace cicada::profile
