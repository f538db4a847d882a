# SPDX-License-Identifier: Apache-2.0
# What score.py counts as whole and as named, in the words of each tool.
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import score  # noqa: E402


def script(*frames, comm="child_1", remark=""):
    """A sample of perf script's layout; frames "name@image", leaf first."""
    return [f"{comm} 7/7 [000] 1.000000000: 1 cpu-clock:{remark}\n"] + ["\t 10 {} ({})\n".format(*frame.split("@")) for frame in frames] + ["\n"]


def map_entry(*frames, comm="child_1", count=1):
    return [f"@[{comm},\n"] + [f"    {frame}\n" for frame in frames] + [f"]: {count}\n"]


GOOD = script("leaf@/c", "main@/c", "_start@/c")
CUT = script("leaf@/c", "main@/c")
UNNAMED = script("c+0x12@/c", "main@/c", "_start@/c")


class Scores(unittest.TestCase):
    def scored(self, tool, lines, prefix="child", numbers=()):
        found = score.Score(tool, lines, prefix)
        self.assertEqual((found.total, found.whole, found.named, found.good), numbers)
        self.assertEqual(sum(found.reasons.values()), found.total - found.good)

    def test_cicada(self):
        self.scored("cicada", GOOD * 3 + CUT * 2 + UNNAMED, numbers=(6, 4, 5, 3))

    def test_perf_has_offsets_behind_names(self):
        self.scored("perf", script("leaf+0x1@/c", "_start+0x25@/c"), numbers=(1, 1, 1, 1))
        self.scored("perf", script("[unknown]@/c", "_start+0x25@/c"), numbers=(1, 1, 0, 0))

    def test_bpftrace(self):
        self.scored("bpftrace", map_entry("leaf+1", "main+4", "_start+37", count=5) + map_entry("leaf+1", "0x7f12", count=2), numbers=(7, 5, 5, 5))

    def test_others_are_not_counted(self):
        self.scored("cicada", GOOD + script("leaf@/c", comm="bash"), numbers=(1, 1, 1, 1))
        self.scored("cicada", GOOD + script("vfs_read@[kernel]", "ext4@ext4.ko"), numbers=(1, 1, 1, 1))
        self.scored("cicada", GOOD + script("leaf@/c", remark=" (incomplete: exec in progress)"), numbers=(1, 1, 1, 1))

    def test_kernel_frames_are_no_user_frames(self):
        self.scored("cicada", script("vfs_read@[kernel]", "leaf@/c", "_start@/c"), numbers=(1, 1, 1, 1))

    def test_everybody_by_the_same_judge(self):
        for tool, nameless in ("cicada", "cc1plus+0x1234@/usr/cc1plus"), ("perf", "[unknown]@/usr/cc1plus"):
            with self.subTest(tool):
                self.scored(tool, script("leaf@/c", "main@/c"), prefix="", numbers=(1, 0, 1, 0))
                self.scored(tool, script("leaf@/c", nameless), prefix="", numbers=(1, 0, 0, 0))
                self.scored(tool, script("leaf@/c", "__libc_start_main@/lib/libc.so.6", nameless), prefix="", numbers=(1, 1, 0, 0))
                self.scored(tool, script("leaf@/c", nameless.split("@")[0] + "@/lib64/ld-linux-x86-64.so.2"), prefix="", numbers=(0, 0, 0, 0))
                # Of named programs nothing nameless begins a stack.
                self.scored(tool, script("leaf@/c", "__libc_start_main@/lib/libc.so.6", nameless), prefix="child", numbers=(1, 0, 0, 0))
        self.assertFalse(score.is_whole([("leaf", "/c"), ("main", "/c")], everybody=True))
        self.assertTrue(score.is_whole([("leaf", "/c"), ("_start", "/c")], everybody=True))

    def test_nothing(self):
        for tool in "cicada", "perf", "bpftrace":
            self.scored(tool, [], numbers=(0, 0, 0, 0))


if __name__ == "__main__":
    unittest.main()
