#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two events in one recording, each at its own rate: page faults one by one, the clock at 997 Hz. The workload says how many pages it touched;
# every format keeps the two apart.
source "$(dirname "$0")/lib.sh"
"$CICADA" record -F 997 -e cpu-clock -e page-faults/period=1/ -o x.cicada -o x.pb.gz -o x.speedscope.json -o x.firefox.json.gz -o x.html -o x.txt \
  -- "$WORKLOADS/faults" 2 >out 2>err || fail "record ended with $?"
touched=$(sed -n 's/^touched //p' out)
[[ $touched -gt 0 ]] || fail "the workload said nothing"

# value KEY EVENT FUNCTION FILE: by a report of that event alone; KEY: self, total.
value() { "$CICADA" report --json --event "$2" "$4" | python3 -c '
import json, sys
print(sum(f[sys.argv[1]] for f in json.load(sys.stdin)["functions"] if f["name"] == sys.argv[2]))' "$1" "$3"; }
self() { value self "$@"; }
unit() { "$CICADA" report --json --event "$1" x.cicada | python3 -c 'import json, sys; print(json.load(sys.stdin)["unit"])'; }

faults=$(self page-faults touch x.cicada)
((faults * 1000 >= touched * 999 && faults <= touched)) || fail "$faults page faults in touch(), which touched $touched pages"
[[ $(unit page-faults) == events && $(unit cpu-clock) == samples ]] || fail "units: $(unit page-faults), $(unit cpu-clock)"
# By the workload's own account: no sample of the clock more in touch() for its faults, which are in it, none less in compute().
for function in touch:touching compute:computing; do
  clock=$(value total cpu-clock ${function%:*} x.cicada) seconds=$(sed -n "s/^${function#*:} //p" out)
  awk -v clock="$clock" -v seconds="$seconds" 'BEGIN {
    wanted = 997 * seconds; slack = 4 * sqrt(wanted) + 0.02 * wanted
    exit !(clock > 30 && clock <= wanted + slack && clock >= wanted - slack) }' ||
    fail "${function%:*}() has $clock clock samples, and $seconds s of CPU time"
done
(($(self page-faults compute x.cicada) < 10)) || fail "page faults in compute()"

python3 - "$faults" <<'PY' || fail "a format has other values"
import collections, gzip, json, re, sys
faults = int(sys.argv[1])
def near(what, value):
    if value < faults or value > faults * 1.2 + 1000: sys.exit(f"{what}: {value} page faults, the recording has {faults} in touch()")
speedscope = json.load(open("x.speedscope.json"))
profiles = [p for p in speedscope["profiles"] if p["name"].startswith("page-faults: ")]
near("speedscope", sum(sum(p["weights"]) for p in profiles))
if not any(p["name"].startswith("cpu-clock: ") for p in speedscope["profiles"]): sys.exit("speedscope: no cpu-clock")
firefox = json.load(gzip.open("x.firefox.json.gz"))
near("firefox", sum(sum(t["samples"]["weight"]) for t in firefox["threads"] if t["name"].endswith("(page-faults)")))
html = re.search(r'<script type="application/json" id="profile">(.*?)</script>', open("x.html").read(), re.S).group(1)
events = [(e["event"], e["unit"]) for e in json.loads(html)]
if events != [("cpu-clock", "samples"), ("page-faults", "events")]: sys.exit(f"html: {events}")
near("text", sum(1 for line in open("x.txt") if re.search(r": 1 page-faults:", line)))
PY

"$CICADA" convert --event page-faults x.cicada y.folded >/dev/null 2>&1 || fail "convert --event"
(($(awk '/touch /{sum += $NF} END {print sum + 0}' y.folded) == faults)) || fail "convert --event gives other values"
"$CICADA" convert --event nonsense x.cicada y.folded 2>err && fail "an unknown event was accepted"
grep -q 'it has cpu-clock, page-faults' err || fail "the message does not say what there is"
"$CICADA" record -e page-fault -o z.cicada -- true 2>err && fail "a misspelt event was accepted"
grep -q 'page-faults' err || fail "the message does not suggest page-faults"
