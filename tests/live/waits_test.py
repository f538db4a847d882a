# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import unittest

import waits

TRUTH = ["waited sleeps 1000000000\n", "waited computes 300000000\n", "waited computes 300000000\n", "moved 7\n"]
FOLDED = ["sleeps (5);sleep;run;sleeps;[kernel] 995000000\n", "sleeps (5);runnable;run;sleeps 5000000\n",
          "computes (6);preempted;run;computes 290000000\n", "computes (7);preempted;run;computes 305000000\n", "waits (4, main);sleep;main 9\n"]


class Waits(unittest.TestCase):
    def faults(self, folded=FOLDED, truth=TRUTH):
        said = waits.read_truth(truth)
        return " / ".join(waits.faults_of(said, *waits.read_waits(folded, said), 0.02, 4e6))

    def test_accepts_what_the_threads_say(self):
        self.assertEqual(self.faults(), "")

    def test_sees_what_is_missing(self):
        self.assertIn("found 0.0050", self.faults(FOLDED[1:]))
        self.assertIn("said nothing", self.faults(truth=[]))

    def test_sees_other_functions_and_states(self):
        self.assertIn("outside of sleeps()", self.faults([FOLDED[0].replace(";sleeps;", ";locks;")] + FOLDED[1:]))
        self.assertIn("not ['sleep']", self.faults([FOLDED[0].replace(";sleep;", ";lock;")] + FOLDED[1:]))
        self.assertIn("not preempted", self.faults(FOLDED[:2] + [line.replace("preempted", "sleep") for line in FOLDED[2:4]]))

    def test_sees_what_the_workload_left_out(self):
        said = [f"waited {name} 1\n" for name in waits.STATES]
        self.assertEqual(waits.missing_in(said), [])
        self.assertEqual(waits.missing_in(said[1:]), ["sleeps"])
        self.assertEqual(waits.missing_in(["without sleeps: no bed\n"] + said[1:]), ["sleeps"])
        others = [line for line in said if line != "waited syncs 1\n"]
        self.assertEqual(waits.missing_in(others), ["syncs"])
        self.assertEqual(waits.missing_in(others + ["without syncs:\n"]), ["syncs"])
        self.assertEqual(waits.missing_in(others + ["without syncs: no device\n"]), [])

    def test_a_device_is_waited_for_in_its_own_state(self):
        for state, is_right in (("disk", True), ("page fault", False), ("io", False), ("runnable", False)):
            folded = [f"syncs (5);{state};run;syncs 60000000\n", "syncs (5);runnable;run;syncs 940000000\n"]
            self.assertEqual(self.faults(folded, ["waited syncs 1000000000\n"]) == "", is_right, state)

    def test_of_short_waits_a_period_is_allowed_for(self):
        said = waits.read_truth(["waited syncs 1000000000\n"])
        found = waits.read_waits(["syncs (5);disk;run;syncs 930000000\n"], said)
        self.assertEqual(waits.faults_of(said, *found, 0.02, 4e6), [])
        self.assertIn("found 0.93", waits.faults_of(said, *found, 0.02, 4e6, 1)[0])

    def test_all_along(self):
        lines = [f"{name} (7);{'lock' if name.startswith('stays') else 'io'};start;run;{name};futex 1980000000\n" for name in waits.ALL_ALONG]
        lines[-1] = lines[-1].replace(";run;stays_on_a_file", "")
        ran = waits.read_ran(["polls 5\n", "moves 7000000000\n"], ["moves 7300000000\n", "polls 5\n"])
        faults = lambda of: " / ".join(waits.faults_all_along(of, 2, 0.06, ran))
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(faults(lines), "")
            self.assertIn("sleeps: waited 0.0000", faults(lines[1:]))
            self.assertIn("polls: waited 1.7", faults([line.replace("1980", "1780") for line in lines]))
            self.assertIn("polls: waited 2.1", faults([line.replace("1980", "2100") for line in lines]))
            self.assertNotIn("moves: ", faults([line.replace("1980", "1600") for line in lines]))
            self.assertIn("stays: not one whole", faults([line.replace(";stays;", ";[unknown];") for line in lines]))
            self.assertIn("was read", faults([line.replace(";start;futex", ";start;stays_on_a_file;futex") for line in lines]))


if __name__ == "__main__":
    unittest.main()
