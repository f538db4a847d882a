#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A uniform slow-down by two fails --fail-if; a run that only took longer to be recorded does not; a misspelt function is an error.
source "$(dirname "$0")/lib.sh"
compiled job <<'C'
#include <stdlib.h>
static volatile unsigned sink;
__attribute__((noinline)) static void parse(long n) { while (n--) sink += (unsigned)n; }
__attribute__((noinline)) static void print(long n) { while (n--) sink ^= (unsigned)n; }
int main(int c, char** v) {
  for (int i = 0; i < atoi(v[1]); i++) { parse(300000); print(300000); }
  return 0;
}
C
# A shared processor may run one of them at half speed: recorded again until the scheduler counted the slow-down, too.
for attempt in 1 2 3 4 5 6; do
  "$CICADA" record -q --force -F 997 -o once.cicada -- ./job 2000 || fail "record ended with $?"
  "$CICADA" record -q --force -F 997 -o twice.cicada -- ./job 4000 || fail "record ended with $?"
  code 0 "$CICADA" diff once.cicada twice.cicada --json
  ! python3 -c 'import json; d = json.load(open("out.txt")); exit(d["after"]["cpu_ns"] < 1.6 * d["before"]["cpu_ns"])' || break
  ((attempt < 6)) || fail "six pairs of runs, none twice as long"
done
code 1 "$CICADA" diff once.cicada twice.cicada --fail-if 'parse>20%'
has out.txt '^per run: .*s of CPU \(\+[0-9.]+ %\), .* of wall time'
growth=$(sed -n 's/^per run: .* of CPU (+\([0-9.]*\) %).*/\1/p' out.txt)
code 0 "$CICADA" diff once.cicada twice.cicada --json
python3 - "$growth" <<'PY' || fail "it is not what the scheduler counted"
import json, sys
diff = json.load(open("out.txt"))
counted = 100 * (diff["after"]["cpu_ns"] / diff["before"]["cpu_ns"] - 1)
assert abs(float(sys.argv[1]) - counted) < 0.2 and diff["per"] == "run", (sys.argv, counted)
assert abs(diff["cost_after"] * 1e9 / diff["after"]["cpu_ns"] - 1) < 1e-6, diff["cost_after"]
PY
code 0 "$CICADA" diff once.cicada twice.cicada --per share --fail-if 'parse>5%'
has out.txt '^shares of each recording'
code 125 "$CICADA" diff once.cicada twice.cicada --fail-if 'prase>20%'
has err.txt 'neither side'
code 0 "$CICADA" diff twice.cicada once.cicada --fail-if 'prase>20%' --allow-missing
# A service has no runs: by default its shares are compared, per second if asked.
"$CICADA" record -q -F 997 -d 0.5 -o service.cicada -- ./job 100000 || fail "record ended with $?"
code 0 "$CICADA" diff service.cicada once.cicada
has out.txt '^shares of each recording'
code 0 "$CICADA" diff service.cicada once.cicada --per second
has out.txt '^per second: .*s of CPU'
code 125 "$CICADA" diff service.cicada once.cicada --per minute
# In shares, what shrank only because something else grew is no news; what grew is.
{ for i in 1 2 3 4 5 6 7 8; do echo "main;f$i 1000"; done; echo 'main;g 1000'; } >before.folded
sed 's/g 1000/g 4000/' before.folded >after.folded
code 0 "$CICADA" diff before.folded after.folded
has out.txt '\* g$'
lacks out.txt '\* f[1-8]$'
has out.txt '^8 shares shrank only because others grew \(g by 22\.22 points\)'
code 0 "$CICADA" diff after.folded before.folded
has out.txt '\* g$'
lacks out.txt '\* f[1-8]$'
has out.txt '^8 shares grew only because others shrank \(g by 22\.22 points\)'
