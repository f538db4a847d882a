# SPDX-License-Identifier: Apache-2.0
# What score.py counts as another program's name or function.
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import score  # noqa: E402

LIVES = [(7, 1_000_000_000, 2_000_000_000, 0), (7, 3_000_000_000, 4_000_000_000, 1)]


def sample(time, comm, *frames, pid=7):
    return [f"{comm} {pid}/{pid} [000] {time:.9f}: 1 cpu-clock:\n"] + [f"\t 10 {frame}\n" for frame in frames] + ["\n"]


class Scores(unittest.TestCase):
    def scored(self, lines, *numbers):
        found = score.Score(lines, LIVES)
        self.assertEqual((found.samples, found.wrong_name, found.wrong_code, found.without), numbers)

    def test_right_ones(self):
        self.scored(sample(1.5, "storm_child_0", "leaf_0 (/c)", "main (/c)") + sample(3.5, "storm_child_1", "leaf_1 (/c)"), 2, 0, 0, 0)
        self.scored(sample(1.5, "reuse_pid", "execve ([kernel])"), 1, 0, 0, 0)

    def test_the_program_before(self):
        self.scored(sample(3.5, "storm_child_0", "leaf_1 (/c)"), 1, 1, 0, 0)
        self.scored(sample(3.5, "storm_child_1", "leaf_0 (/c)"), 1, 0, 1, 0)
        self.scored(sample(3.5, "storm_child_1", "leaf_1 (/c)", "work_0 (/c)"), 1, 0, 1, 0)

    def test_nothing_of_its_own(self):
        self.scored(sample(1.5, "storm_child_0", "[unknown] ([unknown])"), 1, 0, 0, 1)

    def test_other_times_and_processes(self):
        self.scored(sample(0.5, "storm_child_1") + sample(2.0, "storm_child_1") + sample(9.0, "storm_child_0") + sample(1.5, "bash", pid=8), 0, 0, 0, 0)


if __name__ == "__main__":
    unittest.main()
