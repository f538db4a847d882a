# SPDX-License-Identifier: Apache-2.0
"""Each thing that a test may leave behind turns it red and is undone; a run that is killed leaves nothing either. Needs root."""
import ctypes
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import explain
import machine

HERE = os.path.dirname(os.path.abspath(__file__))
BUSY = "end=$((SECONDS + 600)); while ((SECONDS < end)); do :; done"


def gone(pid):
    return machine.state_of(pid) in "XZ"


def wait_until(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@unittest.skipIf(os.geteuid() != 0, "needs root")
class House(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="cicada house ", dir="/var/tmp")
        self.name = f"house-test-{os.getpid()}"
        self.settings = machine.settings()

    def tearDown(self):
        self.assertEqual(self.settings, machine.settings())
        self.assertFalse(os.path.exists(machine.Cgroup(self.name).path))
        shutil.rmtree(self.place)

    def command(self, script, seconds=120, tree=None):
        path = os.path.join(self.place, "script.sh")
        machine.write(path, f"#!/bin/bash\nexec 8>&- 9>&-\n{script}\n")
        os.chmod(path, 0o755)
        return [sys.executable, "-B", f"{HERE}/house.py", "--place", self.place, "--tree", tree or self.place, "--seconds", str(seconds), self.name, path]

    def run_script(self, script, seconds=120, strict=True, tree=None):
        """(exit code, what was printed, what the witness wrote)"""
        witness = os.path.join(self.place, "witness")
        environment = {**os.environ, "CICADA_TEST_STRICT": "1" if strict else "", "CICADA_TEST_WITNESS": witness}
        done = subprocess.run(self.command(script, seconds, tree), capture_output=True, text=True, env=environment, timeout=600)
        return done.returncode, done.stdout + done.stderr, machine.read(witness).splitlines()[-1].split("\t")

    def expect_red(self, script, text, **more):
        code, out, _ = self.run_script(script, **more)
        self.assertEqual(code, 1, out)
        self.assertIn(text, out)

    def test_gives_the_scripts_code_and_output(self):
        self.assertEqual(self.run_script("echo 'SKIP: no reason'; exit 77")[0], 77)
        code, out, witness = self.run_script("echo hello; [[ -z $(ls -A /tmp) ]] || exit 3")
        self.assertEqual(code, 0, out)
        self.assertIn("hello\n", out)
        self.assertEqual(witness[:3], [self.name, "pass", "1"])
        self.assertEqual(self.run_script("exit 9")[0], 9)

    def test_ignores_no_signals(self):
        self.assertEqual(self.run_script("[[ $(sed -n 's/^SigIgn:[[:space:]]*//p' /proc/self/status) == 0000000000000000 ]]")[0], 0)

    def test_has_a_tmp_of_its_own(self):
        with tempfile.NamedTemporaryFile(dir="/tmp", prefix="cicada-house-") as outside:
            self.assertEqual(self.run_script(f"[[ ! -e {outside.name} ]] && touch /tmp/inside && rm /tmp/inside")[0], 0)
        code, out, _ = self.run_script("# leaves in /tmp: announced.*\ntouch /tmp/announced.1")
        self.assertEqual(code, 0, out)
        self.expect_red("touch /tmp/left-behind", "FAILED: the test left the file /tmp/left-behind")

    def test_sees_its_tree_below_tmp(self):
        with tempfile.TemporaryDirectory(dir="/tmp", prefix="a tree ") as tree:
            machine.write(f"{tree}/file", "here")
            self.assertEqual(self.run_script(f"grep -q here '{tree}/file'", tree=tree)[0], 0)

    def test_ends_processes(self):
        self.expect_red(f"setsid bash -c '{BUSY}' >/dev/null 2>&1 & echo $! >/tmp/pid", "FAILED: the test left the process bash")
        # One that has been killed is nobody, though the script did not wait for it.
        self.assertEqual(self.run_script("sleep 1000 & kill -KILL $!")[0], 0)

    def test_ends_what_does_not_end(self):
        self.expect_red("trap '' TERM INT; echo begun; sleep 1000", "not finished after 1", seconds=1)

    def test_undoes_settings(self):
        self.assertEqual(self.run_script("echo $((1 - $(</proc/sys/kernel/bpf_stats_enabled))) >/proc/sys/kernel/bpf_stats_enabled")[0], 0)

    def test_sees_mounts(self):
        self.expect_red("mkdir /var/tmp/$$; mount -t tmpfs none /var/tmp/$$; exit 0", "FAILED: the test left the mount /var/tmp/")
        shutil.rmtree("/var/tmp/x", ignore_errors=True)

    def test_sees_bpf_programs(self):
        pin = f"/sys/fs/bpf/{self.name}"
        load = f"""
import ctypes, struct, sys
instructions = struct.pack("<BBhi", 0xb7, 0, 0, 0) + struct.pack("<BBhi", 0x95, 0, 0, 0)
code, licence, path = ctypes.create_string_buffer(instructions), ctypes.create_string_buffer(b"GPL"), ctypes.create_string_buffer(b"{pin}")
load = ctypes.create_string_buffer(struct.pack("<IIQQIIQI", 1, 2, ctypes.addressof(code), ctypes.addressof(licence), 0, 0, 0, 0), 128)
program = ctypes.CDLL(None).syscall(321, 5, load, 128)
pin = ctypes.create_string_buffer(struct.pack("<QI", ctypes.addressof(path), program), 128)
sys.exit(program < 0 or ctypes.CDLL(None).syscall(321, 6, pin, 128) != 0)
"""
        machine.write(f"{self.place}/load.py", load)
        machine.own_mount_namespace()
        if subprocess.run(["mountpoint", "-q", "/sys/fs/bpf"]).returncode != 0:
            machine.mount("none", "/sys/fs/bpf", "bpf")
        try:
            self.expect_red(f"'{sys.executable}' '{self.place}/load.py'", "FAILED: the test left the BPF program")
        finally:
            os.unlink(pin)

    def test_repeats_only_what_was_red_under_load(self):
        self.assertEqual(self.run_script("exit 1")[2][2], "1")
        busy = [subprocess.Popen(["bash", "-c", BUSY]) for _ in range(os.cpu_count())]
        try:
            again = f"'{self.place}/again'"
            code, out, witness = self.run_script(f"sleep 1; [[ ! -e {again} ]] || exit 0; touch {again}; exit 1", strict=False)
            self.assertEqual((code, witness[1:3]), (0, ["pass", "2"]), out)
            self.assertIn("repeated: fail while others used", out)
            self.assertEqual(self.run_script("sleep 1; exit 5", strict=True)[2][2], "1")
        finally:
            for one in busy:
                one.kill()
                one.wait()

    def test_is_tidied_when_killed(self):
        """The front, or the keeper, or both, at random moments."""
        seed = int(os.environ.get("SEED") or time.time_ns() % 100000)
        print(f"seed {seed}")
        moments = random.Random(seed)
        for turn in range(20):
            with self.subTest(turn=turn, seed=seed):
                front = subprocess.Popen(self.command(f"echo 1 >/proc/sys/kernel/bpf_stats_enabled; setsid bash -c '{BUSY}' & mount -t tmpfs none /mnt; {BUSY}"),
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(moments.random())
                if turn % 4 == 2:  # else nobody is there to end it
                    self.assertTrue(wait_until(lambda: keepers(self.name)))
                if turn % 4 >= 2:
                    for pid in keepers(self.name):
                        os.kill(pid, signal.SIGKILL)
                if turn % 4 != 2:
                    front.kill()
                front.wait(timeout=120)
                if turn % 4 == 3:
                    subprocess.run([sys.executable, "-B", f"{HERE}/house.py", "--tidy"], check=True, timeout=120)
                self.assertTrue(wait_until(lambda: not os.path.exists(machine.Cgroup(self.name).path) and not keepers(self.name)), "the cgroup is still there")
                self.assertEqual(self.settings, machine.settings())


def keepers(name):
    """Processes of house.py for that test that are not ended, fronts apart: they have a session of their own."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe") == os.readlink("/proc/self/exe") and name in machine.read(f"/proc/{pid}/cmdline").split("\0") and not gone(pid):
                if os.getsid(int(pid)) != os.getsid(0):
                    found.append(int(pid))
        except OSError:
            pass
    return found


class Explain(unittest.TestCase):
    def test_keeps_what_tells(self):
        lines = [f"ok {i}" for i in range(20000)] + ["WRONG   chain: 87 of 100", "FAILED: the recording contradicts the truth"] + ["  | " + "x" * 1000] * 500
        short = explain.essence(lines)
        self.assertLessEqual(len(short), explain.MOST)
        self.assertTrue(any("87 of 100" in line for line in short) and any("FAILED" in line for line in short))
        self.assertLessEqual(max(map(len, short)), explain.WIDTH + 2)

    def test_keeps_an_example_and_no_name_of_a_function(self):
        lines = ["WRONG   only one_leaf in 26 turns: 1 of 529 outside", "        e.g. 12.5, 91 ms after a turn"] + ["\t14f36e _dl_catch_error (libc.so.6)", "ok"] * 20
        self.assertTrue(any("e.g. 12.5" in line for line in explain.essence(lines)))
        self.assertLessEqual(sum("_dl_catch" in line for line in explain.essence(lines)), 4)

    def test_keeps_all_of_a_short_one(self):
        self.assertEqual(explain.essence(["a", "", "b"]), ["  a", "  b"])


if __name__ == "__main__":
    unittest.main()
