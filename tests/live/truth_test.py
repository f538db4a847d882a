# SPDX-License-Identifier: Apache-2.0
# What truth.py lets pass and what it does not: each statement with recordings that hold it and recordings that contradict it.
import contextlib
import io
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import truth  # noqa: E402

SUMMARY = "  100 % of 1,000 user stacks are complete\n"
WHOLE = "_start;main;first;leaf"


def text(*stacks, comm="program", event="cpu-clock", time=1.0):
    """A recording: (stack, how many) each. A frame "name@image", or "name" of the program's image."""
    lines = []
    for stack, count in stacks:
        frames = [frame.split("@") if "@" in frame else [frame, "/bin/program"] for frame in stack.split(";")]
        one = [f"{comm} 7/7 [001] {time:.9f}: 1 {event}:\n"] + [f"\t          {16 + i:x} {name} ({image})\n" for i, (name, image) in enumerate(frames[::-1])] + ["\n"]
        lines += one * count
    return lines


def found(statement, *stacks, summary=SUMMARY, **options):
    judge = truth.Truth(truth.read_samples(text(*stacks, **options)), summary)
    with contextlib.redirect_stdout(io.StringIO()):
        judge.check(statement)
    return judge


class Statements(unittest.TestCase):
    def holds(self, statement, *stacks, **options):
        self.assertEqual(found(statement, *stacks, **options).failures, 0, statement)

    def fails(self, statement, *stacks, **options):
        self.assertGreater(found(statement, *stacks, **options).failures, 0, statement)

    def test_chain(self):
        chain = "chain main;first;leaf"
        self.holds(chain, (WHOLE, 1000), ("_start;main;other", 500))
        self.holds(chain, (WHOLE, 997), ("_start;main;leaf", 3))
        self.fails(chain, (WHOLE, 990), ("_start;main;leaf", 10))
        self.fails(chain, (WHOLE, 990), ("main;first;leaf", 10))  # the outermost frame is lost
        self.fails(chain, (WHOLE, 990), ("first;leaf", 10))
        self.fails(chain, (WHOLE, 990), ("_start;main;other;first;leaf", 4), ("_start;main;first;other;leaf", 4))
        self.fails(chain, (WHOLE, truth.ENOUGH - 1))  # too few to say
        self.fails(chain)
        self.holds("chain main;first;leaf min 95", (WHOLE, 950), ("leaf", 50))
        self.fails("chain main;first;leaf min 95", (WHOLE, 949), ("leaf", 51))
        self.holds("chain ~ma.*;~f?irst;leaf", (WHOLE, 1000))
        self.fails("chain ~ma;first;leaf", (WHOLE, 1000))  # of the whole name

    def test_through(self):
        self.holds("through main;leaf", (WHOLE, 1000))
        self.fails("through main;leaf", (WHOLE, 990), ("_start;first;leaf", 10))
        self.fails("through main;leaf", (WHOLE, 990), ("main;leaf", 10))
        self.fails("through first;main;leaf", (WHOLE, 1000))

    def test_inside(self):
        deeper = WHOLE + ";below"
        self.holds("inside leaf main;first", (deeper, 900), ("_start;main;leaf", 100))
        self.fails("inside leaf main;first", (deeper, 900), ("_start;main;leaf;below", 100))
        self.fails("inside leaf main;first", (WHOLE, 1000))  # nobody is deeper: this tests nothing

    def test_addresses(self):
        # text() numbers the frames from the leaf on: 16, 17, …
        self.holds("addresses 11-12;10-11", (WHOLE, 1000))
        self.fails("addresses 12-13;10-11", (WHOLE, 1000))
        self.fails("addresses 11-12;10-11", ("main;leaf", 1000))  # nothing outside them
        self.fails("addresses 11-12;20-21", (WHOLE, 1000))

    def test_depth(self):
        self.holds("depth first 2", ("_start;main;first;first", 1000), (WHOLE.replace("first", "other"), 500))
        self.fails("depth first 2", ("_start;main;first;first", 990), (WHOLE, 10))
        self.holds("depth first 2 min 99", ("_start;main;first;first", 990), (WHOLE, 10))

    def test_complete(self):
        self.holds("complete", (WHOLE, 1000))
        self.holds("complete", (WHOLE, 998), ("leaf", 2), summary="  99.8 % of 1,000 user stacks are complete\n")
        self.fails("complete", (WHOLE, 990), ("leaf", 10))
        self.fails("complete", (WHOLE, 1000), summary="  99 % of 1,000 user stacks are complete\n")
        self.fails("complete", (WHOLE, 1000), summary="nothing")
        self.holds("complete min 90", (WHOLE, 900), ("leaf", 100), summary="  90 % of 1,000 user stacks are complete\n")

    def test_only(self):
        self.holds("only leaf 0.5-1.5 3-4", (WHOLE, 100))
        self.fails("only leaf 0.5-0.9 1.1-4", (WHOLE, 100))
        self.fails("only leaf 0.5-1.5", (WHOLE, truth.ENOUGH - 1))

    def test_order(self):
        self.holds("order main;vfs_read", ("_start;main;leaf;vfs_read@[kernel]", 5))
        self.fails("order main;vfs_read", ("_start;main;leaf;vfs_read@[kernel]", 4))
        self.fails("order vfs_read;main", ("_start;main;leaf;vfs_read@[kernel]", 5))

    def test_split(self):
        self.holds("split hot 70 warm 30", ("_start;hot", 690), ("_start;warm", 310))
        self.fails("split hot 70 warm 30", ("_start;hot", 600), ("_start;warm", 400))
        self.holds("split hot 70 warm 30 tolerance 10", ("_start;hot", 600), ("_start;warm", 400))
        self.fails("split hot 70 warm 30", ("_start;other", 1000))

    def test_share_and_absent(self):
        self.holds("share leaf 90", (WHOLE, 900), ("_start;main;other", 100))
        self.fails("share leaf 90", (WHOLE, 899), ("_start;main;other", 101))
        self.holds("absent other 10", (WHOLE, 900), ("_start;main;other", 100))
        self.fails("absent other 10", (WHOLE, 899), ("_start;main;other", 101))
        self.fails("absent other 10")

    def test_unknown_statement(self):
        with self.assertRaises(SystemExit):
            found("chains main;leaf", (WHOLE, 1000))


class Reading(unittest.TestCase):
    def test_events_of_any_name(self):
        for event in "cpu-clock", "cycles", "cpu_core/cycles/u":
            self.assertEqual(len(truth.read_samples(text((WHOLE, 3), event=event))), 3)

    def test_threads_by_name(self):
        lines = text((WHOLE, 2), comm="a name") + text((WHOLE, 3), comm="another")
        self.assertEqual(len(truth.read_samples(lines, "a name")), 2)
        self.assertEqual(len(truth.read_samples(lines, "another")), 3)
        self.assertEqual(len(truth.read_samples(lines)), 5)
        self.assertEqual(len(truth.read_samples(text((WHOLE, 4), comm="fifteen_letters"), "fifteen_letters_and_more")), 4)

    def test_last_sample_without_blank_line(self):
        self.assertEqual(len(truth.read_samples(text((WHOLE, 2))[:-1])), 2)

    def test_kernel_frames_and_contexts_are_no_user_frames(self):
        sample = truth.read_samples(text(("_start;main;[softirq]@[unknown];vfs_read@[kernel];ext4_read@ext4.ko", 1)))[0]
        self.assertEqual(sample.user, ["_start", "main"])
        self.assertEqual(sample.all, ["_start", "main", "[softirq]", "vfs_read", "ext4_read"])

    def test_rubbish(self):
        for lines in ["\tno frame\n"], ["no head\n"], ["\t 10 frame (without a head)\n"]:
            with self.assertRaises(SystemExit):
                truth.read_samples(lines)


class Pools(unittest.TestCase):
    def judge(self, *lines):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            failures = truth.judge_pool(lines)
        self.assertEqual(failures == 0, bool(lines) and re.search("WRONG", out.getvalue()) is None)
        return failures

    def test_what_one_recording_cannot_tell(self):
        self.assertEqual(self.judge("exec 10000 5"), 0)  # 99.95 %
        self.assertEqual(self.judge("exec 10000 10"), 0)
        self.assertEqual(self.judge("exec 10000 11"), 1)
        self.assertEqual(self.judge("exec 10000 30"), 1)  # 99.7 %
        self.assertEqual(self.judge(*["exec 1000 1"] * 10), 0)
        self.assertEqual(self.judge(*["exec 1000 3"] * 10), 1)

    def test_too_few(self):
        self.assertEqual(self.judge("exec 9999 0"), 1)
        self.assertEqual(self.judge(), 1)

    def test_a_red_test_is_red_once(self):
        self.assertEqual(self.judge("short 1200 0", "missing survives-exec-storm"), 0)
        self.assertEqual(self.judge("short 1200 30", "missing survives-exec-storm"), 1)
        self.assertEqual(self.judge("missing survives-exec-storm"), 0)

    def test_one_class_does_not_hide_another(self):
        self.assertEqual(self.judge("exec 100000 0", "short 10000 30"), 1)
        self.assertEqual(self.judge("exec 100000 0", "short 10000 0", "running 5000 0"), 1)

    def test_a_sample_is_wrong_once(self):
        judge = truth.Truth(truth.read_samples(text((WHOLE, 500), ("leaf", 1))), SUMMARY)
        with contextlib.redirect_stdout(io.StringIO()):
            for statement in "chain main;first;leaf", "through main;leaf", "complete":
                judge.check(statement)
        self.assertEqual((len(judge.judged), len(judge.wrong)), (501, 1))

    def test_own_bounds_stay_out(self):
        judge = found("chain main;first;leaf min 50", (WHOLE, 500), ("leaf", 400))
        self.assertEqual((judge.failures, len(judge.judged), len(judge.wrong)), (0, 0, 0))


if __name__ == "__main__":
    unittest.main()
