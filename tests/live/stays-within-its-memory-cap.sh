#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --max-map-memory 1M over a process that maps the 60 largest libraries: tables leave, those in use come back, the cap holds, and nothing is lost
# silently: each sample is written and has the end of its stack, and a stack that user space could have finished but did not has a counter that
# says why.
source "$(dirname "$0")/lib.sh"
start python3 "$LIVE/../workloads/map_images.py" 60 $FOREVER largest
wait_for said_something
record_while_working 3 "$pid" -F 997 -p "$pid" --max-map-memory 1M --stats -o x.txt
python3 -B - err x.txt "$LIVE" <<'PY' || fail "a cap of 1 MiB loses something"
import re, sys
sys.path.insert(0, sys.argv[3])
import accounting
text = open(sys.argv[1], encoding="utf-8").read().replace(",", "")
tables = re.search(r"unwind tables: (\d+) loaded (\d+) KiB in \d+ slabs of (\d+) KiB \(limit (\d+) KiB\) (\d+) evicted", text)
builds, images = map(int, re.search(r"table builds: (\d+) of (\d+) images", text).groups())
stored = int(re.search(r"(\d+) +[0-9.]+ %  stored", text)[1])
ends = dict((name, int(n)) for n, name in re.findall(r"^ +(\d+)            (.*)$", text[text.index("user stacks are complete"):], re.M))
names = ("no user stack (kernel thread)", "outermost frame", "zero return", "depth limit", "unreadable", "address outside", "unwind table not", "no unwind rule",
         "rule the kernel", "exec in", "process not", "frame pointer leads", "finished in", "could not be finished", "other code")
total = lambda *begins: sum(n for text, n in ends.items() if text.startswith(begins))
accounted = total(*names)
complete = total("outermost", "zero return", "finished in")
waiting = total("unwind table not", "rule the kernel", "exec in", "process not known")  # ends that are handed to user space
not_handed = total("stacks not sent: deferred", "stacks not sent: ring buffer", "stacks not finished: queue")
written = accounting.count_written(open(sys.argv[2], encoding="utf-8", errors="replace")).total()
print(f"{tables[0]}; {builds} builds of {images} images; {stored} stored, {written} written, {accounted} ends, {complete} complete, "
      f"{waiting} not handed to user space, {not_handed} with a reason")
loaded, kib, slabs, limit, evicted = map(int, tables.groups())
good = slabs <= limit == 1024 and evicted > 0 and stored == written == accounted > 100 and waiting <= not_handed and complete >= 0.95 * stored
sys.exit(0 if good else 1)
PY
