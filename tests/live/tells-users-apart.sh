#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Samples carry the effective user of their moment: of two processes, and of one thread that changes it as set-user-id programs and servers do.
source "$(dirname "$0")/lib.sh"
command -v setpriv >/dev/null || skip "no setpriv"
cat >change.py <<'PY'
import os, time
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
for _ in range(30):  # what the hypervisor takes, it takes of all
    for uid in (0, 65534, 0, 12345):
        os.seteuid(0)
        os.seteuid(uid)
        spin(0.01)
PY
chmod 755 "$T"
name() { id -nu "$1" 2>/dev/null || echo "$1"; }
"$CICADA" record -q -F 997 -o x.cicada -- bash -c "setpriv --reuid=$(id -u nobody) --clear-groups '$WORKLOADS/bench_client' spin 1 600 & python3 change.py; wait" 2>err || fail "record ended with $?"
"$CICADA" report --by user --json x.cicada >users.json 2>err || fail "report ended with $?"
"$CICADA" convert x.cicada x.folded 2>err && "$CICADA" convert x.cicada x.pb.gz 2>err || fail "convert ended with $?"
python3 - "$(name 0)" "$(name "$(id -u nobody)")" "$(name 12345)" <<'PY' || fail "samples by user"
import gzip, json, sys
root, nobody, number = sys.argv[1:]
report = json.load(open("users.json"))
groups = {node["name"]: node["total"] for node in report["tree"] if node["kind"] == "group"}
assert set(groups) == {root, nobody, number}, groups
# Of the number's 0.3 s; root has 0.6 s and what starts everything, nobody 0.3 and 0.6 s. A sample is a millisecond.
unit = groups[number]
assert unit > 100 and 1.7 * unit <= groups[root] <= 3.5 * unit and 2.5 * unit <= groups[nobody] <= 3.5 * unit, groups
pprof = gzip.open("x.pb.gz").read()
for text in ("user", root, nobody, number):
    assert bytes([len(text)]) + text.encode() in pprof, text
PY
