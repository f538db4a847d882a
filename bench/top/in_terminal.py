#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A command in a terminal of 200×60 that reads at once, and what was measured there:
#   in_terminal.py first COMMAND…            ms from the start until a sample is on the screen; then q
#   in_terminal.py keys COMMAND…             ms from a key until the screen is still, for keys that change most of it: median, largest
#   in_terminal.py bytes SECONDS COMMAND…    bytes to the terminal for each update: median, largest; then q
#   in_terminal.py cost WARM SECONDS COMMAND…  CPU time in the SECONDS after WARM, of it and all below it, in percent of one CPU; of `cicada top` also
#                                            that of the process that draws. Then q is pressed, and who does not know that is interrupted
#   in_terminal.py hold SECONDS COMMAND…     its process number on the first line; then it is only read, and q is pressed at the end
import fcntl, os, pty, re, select, signal, struct, sys, termios, time

STILL = 0.03  # s without a byte: the screen is as it will be
COLUMNS, ROWS = 200, 60


class InTerminal:
    def __init__(self, command):
        self.begun = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
            os.execvp(command[0], command)

    # What comes until nothing has come for `still` seconds, but for `limit` at most: (bytes, when the last came).
    def read_until_still(self, limit, still=STILL):
        got, last, end = b"", None, time.monotonic() + limit
        while time.monotonic() < end:
            ready, _, _ = select.select([self.fd], [], [], end - time.monotonic() if last is None else still)
            if not ready:
                break
            try:
                piece = os.read(self.fd, 1 << 16)
            except OSError:
                break
            if not piece:
                break
            got += piece
            last = time.monotonic()
        return got, last

    def read_for(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read_until_still(min(left, 0.2))

    def press(self, keys):
        os.write(self.fd, keys)

    def has_left(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read_until_still(0.1)
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                return True
        return False

    def leave(self, by_signal=False):
        try:
            self.press(b"q")
        except OSError:
            pass  # it has left
        if self.has_left(5 if by_signal else 20):
            return
        if by_signal:
            os.kill(self.pid, signal.SIGINT)
            if self.has_left(20):
                return
        os.kill(self.pid, signal.SIGKILL)
        sys.exit("it did not leave")


# CPU time (s) by the kernel's account, also of those that have ended and were waited for: of a process and all below it; of the viewers among them,
# None if there is none.
def cpu_time(root):
    parents, times, names = {}, {}, {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            with open(f"/proc/{pid}/stat") as file:
                names[pid], fields = file.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue  # it has ended
        fields = fields.split()
        parents[pid] = int(fields[1])
        times[pid] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def is_below(pid):
        while pid not in (None, root):
            pid = parents.get(pid)
        return pid == root

    below = [pid for pid in times if is_below(pid)]
    viewers = [times[pid] for pid in below if names[pid] == "cicada-shows"]
    return sum(times[pid] for pid in below), sum(viewers) if viewers else None


def median(numbers):
    return sorted(numbers)[len(numbers) // 2]


def main():
    what, words = sys.argv[1], sys.argv[2:]
    if what == "first":
        top, seen = InTerminal(words), b""
        while not re.search(rb"100\.0 %", seen):
            got, last = top.read_until_still(30, 0.005)
            if last is None:
                sys.exit("nothing came")
            seen += got
        print(round((last - top.begun) * 1000))
        top.leave()
    elif what == "keys":
        top = InTerminal(words)
        while top.read_until_still(3, 0.5)[1] is not None:
            pass
        times = []
        for key in [b"2", b"o", b"1", b"\x1bOB", b"\x1bOF", b"\r", b"\x7f", b"i", b"\x1bOB", b"s", b"\x1b", b"\x1b", b"3", b"h", b"4", b"1", b"o", b"l", b"]", b"]", b"\x1b", b"m", b"m", b"m"] * 3:
            pressed = time.monotonic()
            top.press(key)
            _, last = top.read_until_still(0.5)
            if last is not None:
                times.append((last - pressed) * 1000)
        print(f"{median(times):.1f} {max(times):.1f} {len(times)}")
        top.leave()
    elif what == "bytes":
        top, end, sizes = InTerminal(words[1:]), time.monotonic() + float(words[0]), []
        while time.monotonic() < end:
            got, last = top.read_until_still(2)
            if last is not None:
                sizes.append(len(got))
        sizes = sizes[len(sizes) // 5:]  # the first screens are whole
        print(f"{median(sizes)} {max(sizes)} {len(sizes)}")
        top.leave()
    elif what == "cost":
        top, seconds = InTerminal(words[2:]), float(words[1])
        top.read_for(float(words[0]))
        before, begun = cpu_time(top.pid), time.monotonic()
        top.read_for(seconds)
        after, took = cpu_time(top.pid), time.monotonic() - begun
        if os.waitpid(top.pid, os.WNOHANG)[0]:
            sys.exit(f"it has ended: {' '.join(words[2:])}")
        print(*(f"{(b - a) / took * 100:.2f}" for a, b in zip(before, after) if a is not None))
        top.leave(by_signal=True)
    elif what == "hold":
        top = InTerminal(words[1:])
        print(top.pid, flush=True)
        top.read_for(float(words[0]))
        top.leave()


main()
