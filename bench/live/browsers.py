#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# browsers.py N ADDRESS SECONDS: N that follow, as browsers do; kB a second that each was sent after its first message.
import sys, threading, time, urllib.request

count, address, seconds = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
rates = [0.0] * count

def follow(i):
    end, first, got, begun = time.monotonic() + seconds, True, 0, 0.0
    with urllib.request.urlopen(address + "events?e=0", timeout=30) as stream:
        for line in stream:
            if time.monotonic() > end: break
            if not first: got += len(line)
            elif line == b"\n": first, begun = False, time.monotonic()
    rates[i] = got / 1000 / max(time.monotonic() - begun, 0.001)

threads = [threading.Thread(target=follow, args=(i,)) for i in range(count)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(" ".join(f"{rate:.1f}" for rate in rates))
