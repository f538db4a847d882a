#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Goroutines, whose leaf has no frame; and the same program stripped, whose functions nobody can name.
source "$(dirname "$0")/lib.sh"
record_foreign go
eval "cp $(foreign_command go_stripped) go_stripped"
start ./go_stripped $FOREVER
wait_for said_all
record_while_working 2 "$pid" -F 997 -p "$pid" -o recording.txt
# goexit, runtime.main, main.main and the four that it calls.
python3 -B - "$LIVE" recording.txt <<'PY' || fail "stripped: too few stacks are seven frames deep"
import sys
sys.path.insert(0, sys.argv[1])
import truth
depths = [len(s.user) for s in truth.read_samples(open(sys.argv[2])) if s.user]
print(len(depths), "samples,", depths.count(7), "with seven frames")
sys.exit(not (len(depths) >= truth.ENOUGH and depths.count(7) >= 0.97 * len(depths)))
PY
grep -qE '(100|99\.9[0-9]?) % of' err || fail "stripped: incomplete stacks"
