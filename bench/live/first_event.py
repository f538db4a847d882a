#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# first_event.py ADDRESS BEGIN_NS: ms from then until a server-sent event has samples in it.
import json, sys, time, urllib.request

with urllib.request.urlopen(sys.argv[1] + "events?e=0", timeout=30) as stream:
    for line in stream:
        if not line.startswith(b"data: "): continue
        about = json.loads(line[6:])
        if int(about["subtitle"].split(" ")[0].replace(",", "")) > 0: break
print((time.time_ns() - int(sys.argv[2])) // 1_000_000)
