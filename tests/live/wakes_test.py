# SPDX-License-Identifier: Apache-2.0
import unittest

import wakes

TRUTH = ["period 1000000\n", "woken asks io answers 1000000000 0 1000000000\n", "woken joins lock quits 900000000 0 1000000000\n", "woken forks other ends 400000000 0 450000000\n",
         "woken naps sleep interrupts 500000000 0 500000000\n", "woken buys sleep interrupts 100000000 100000000 100000000\n"]
FOLDED = ["answers (5);io;run;answers;write;[kernel] 995000000\n", "quits (6);lock;clone3;start_thread;do_exit 500000000\n", "quits (7);lock;clone3;start_thread;do_exit 480000000\n",
          "ends (8, main);other;do_exit 420000000\n", "interrupts (-1, main);sleep;asm_sysvec_apic_timer_interrupt;hrtimer_interrupt;hrtimer_wakeup 620000000\n",
          "answers (5);lock;run;printf 900000\n", "computes (9);io;run;computes 2000000\n", "cc1plus (10, main);sleep 9000000\n"]


class Wakes(unittest.TestCase):
    def faults(self, folded=FOLDED, truth=TRUTH):
        return " / ".join(wakes.faults_of(*wakes.read_truth(truth), wakes.read_wakeups(folded), 0.02))

    def test_accepts_what_the_threads_say(self):
        self.assertEqual(self.faults(), "")

    def test_sees_what_is_missing_and_too_much(self):
        self.assertIn("said nothing", self.faults(truth=[]))
        self.assertIn("answers woke who waited 1.0000 to 1.0000 s (io), found 0.0000 s", self.faults(FOLDED[1:]))
        self.assertIn("answers", self.faults([FOLDED[0].replace("995", "960")] + FOLDED[1:]))
        self.assertIn("answers", self.faults([FOLDED[0].replace("995", "1035")] + FOLDED[1:]))
        self.assertIn("quits woke who waited 0.9000 to 1.0000 s (lock), found 0.5000 s", self.faults(FOLDED[:2] + FOLDED[3:]))
        self.assertIn("quits", self.faults(FOLDED + [FOLDED[1]]))

    def test_what_is_shorter_than_the_period_strays(self):
        self.assertIn("interrupts", self.faults(truth=TRUTH[:4] + [TRUTH[4].replace(" 0 ", " 0 "), TRUTH[5].replace("100000000 100000000 ", "100000000 0 ")], folded=[line.replace("620", "660") for line in FOLDED]))
        self.assertEqual(self.faults([line.replace("620", "640") for line in FOLDED]), "")

    def test_sees_other_wakers_functions_and_states(self):
        self.assertIn("outside of its function", self.faults([FOLDED[0].replace(";answers;", ";asks;")] + FOLDED[1:]))
        self.assertIn("answers woke who waited 0.9950 s (lock)", self.faults([FOLDED[0].replace(";io;", ";lock;")] + FOLDED[1:]))
        self.assertIn("answers woke", self.faults([FOLDED[0].replace("answers (5)", "ksoftirqd/0 (5)").replace(";answers;", ";ksoftirqd/0;")] + FOLDED[1:]))
        self.assertIn("interrupts", self.faults([line.replace("hrtimer_interrupt", "sysvec_reschedule_ipi") for line in FOLDED]))
        self.assertIn("interrupts", self.faults([line.replace("interrupts (-1, main)", "naps (4)") for line in FOLDED]))

    def test_a_thread_of_the_kernel_may_deliver_some(self):
        delivered = lambda ns: [FOLDED[0].replace("995000000", str(995000000 - ns)), f"ksoftirqd/1 (20);io;run_ksoftirqd {ns}\n"] + FOLDED[1:]
        self.assertEqual(self.faults(delivered(200000000)), "")
        self.assertIn("answers woke", self.faults(delivered(300000000)))

    def test_the_kernels_locks_are_not_the_programs(self):
        forks = "forks (8);other;run;forks;__fork;copy_process;dup_mmap;%s;wake_up_q 90000000\n"
        self.assertEqual(self.faults(FOLDED + [forks % "rwsem_wake.isra.0"]), "")
        self.assertIn("by locks of the kernel", self.faults(FOLDED + 2 * [forks % "rwsem_wake"]))
        self.assertIn("forks woke who waited 0.0900 s (other)", self.faults(FOLDED + [forks % "complete"]))

    def test_who_computes_wakes_nobody(self):
        self.assertIn("computes woke who waited 0.0200 s", self.faults([line.replace(" 2000000\n", " 20000000\n") for line in FOLDED]))
        self.assertIn("computes woke", self.faults([line.replace("interrupts (-1, main);sleep", "computes (9);sleep") for line in FOLDED]))

    def test_few_are_without_a_stack(self):
        bare = ["answers (5);io 40000000\n", "cc1plus (10, main);sleep 800000000\n"]
        self.assertIn("without a stack", self.faults(FOLDED + bare))
        self.assertEqual(self.faults([FOLDED[0].replace("995", "960")] + FOLDED[1:] + bare[:1]), "")


if __name__ == "__main__":
    unittest.main()
