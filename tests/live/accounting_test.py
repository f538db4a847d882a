# SPDX-License-Identifier: Apache-2.0
# What accounting.py lets pass and what it does not.
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import accounting  # noqa: E402

SUMMARY = """
7,976 samples in 2.0 s  (cpu-clock, 1994 Hz, 2 CPUs)
           976   12.24 %  stored
         6,000   75.23 %  idle
         1,000   12.54 %  lost: ring buffer full (sample record)
  99.9 % of 976 user stacks are complete
           976            outermost frame (undefined return address)
           320            stack records sent

12 samples in 2.0 s  (page-faults, every 1,000, 2 CPUs)
            12  100.00 %  stored
"""


class Accounting(unittest.TestCase):
    def setUp(self):
        self.clock, self.faults = accounting.read_accounts(SUMMARY)

    def test_runs_are_what_the_program_counted(self):
        self.assertEqual(accounting.runs_of(self.clock), 7976)
        for unseen in ("lost: skipped by the kernel for an unknown reason", "lost: stolen (…)", "lost: throttled by the kernel", "idle, without an interrupt"):
            self.assertEqual(accounting.runs_of(self.clock._replace(outcomes={**self.clock.outcomes, unseen: 7})), 7976)
        self.assertEqual(accounting.runs_of(self.clock._replace(outcomes={**self.clock.outcomes, "lost: no scratch slot free": 7})), 7983)

    def test_reads_what_belongs_to_the_account(self):
        self.assertEqual((self.clock.event, self.clock.fired, self.clock.seconds, self.clock.cpus), ("cpu-clock", 7976, 2.0, 2))
        self.assertEqual(self.clock.outcomes, {"stored": 976, "idle": 6000, "lost: ring buffer full (sample record)": 1000})
        self.assertEqual((self.faults.event, self.faults.outcomes), ("page-faults", {"stored": 12}))
        self.assertEqual(accounting.read_accounts("no samples\n"), [])

    def test_counts_samples_by_event(self):
        lines = ["a b 1/1 [000] 1.000000001: 1003009 cpu-clock:\n", "\t 10 f (a)\n", "\n", "  1/1 [001] 1.000000002: 1 cycles: (incomplete: x)\n"]
        self.assertEqual(accounting.count_written(lines * 2), {"cpu-clock": 2, "cycles": 2})

    def test_right_accounts(self):
        self.assertEqual(accounting.faults_of(self.clock, 976, 1994), [])
        self.assertEqual(accounting.faults_of(self.faults, 12), [])

    def test_a_sample_too_many_or_too_few(self):
        for fired in 7975, 7977:
            self.assertEqual(len(accounting.faults_of(self.clock._replace(fired=fired), 976, 1994)), 1)
        for written in 975, 977, 0:
            self.assertEqual(len(accounting.faults_of(self.clock, written, 1994)), 1)

    def test_a_clock_that_was_missed(self):
        self.assertEqual(len(accounting.faults_of(self.clock, 976, 2200)), 1)
        self.assertEqual(len(accounting.faults_of(self.clock, 976, 1800)), 1)

    def test_no_outcomes(self):
        self.assertNotEqual(accounting.faults_of(self.clock._replace(outcomes={}, fired=0), 0), [])


if __name__ == "__main__":
    unittest.main()
