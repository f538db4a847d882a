#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Goroutines, whose leaf has no frame; the same program stripped, whose own table of functions names them, and linked by gcc, which puts the table amid other
# data; and threads that wait in Go's scheduler: they end there, not in a goroutine that one of them left.
source "$(dirname "$0")/lib.sh"
record_foreign go
for name in go_stripped go_pie; do
  eval "cp $(foreign_command "$name") $name"
  start "./$name" $FOREVER
  wait_for said_all
  record_while_working 2 "$pid" -F 997 -p "$pid" -o recording.txt
  cp recording.txt stripped.txt
  cp out truth
  WALK=foreign ANY_NAME=1 compare_with_truth go
  # goexit, runtime.main, main.main and the four that it calls.
  python3 -B - "$LIVE" recording.txt <<'PY' || fail "$name: too few stacks are seven frames deep"
import sys
sys.path.insert(0, sys.argv[1])
import truth
depths = [len(s.user) for s in truth.read_samples(open(sys.argv[2])) if s.user]
print(len(depths), "samples,", depths.count(7), "with seven frames")
sys.exit(not (len(depths) >= truth.ENOUGH and depths.count(7) >= 0.97 * len(depths)))
PY
  grep -qE '(100|99\.9[0-9]?) % of' err || fail "$name: incomplete stacks"
  kill_and_wait "$pid"
done

eval "start $(foreign_command go_waits) $FOREVER"
wait_for said_all
"$CICADA" offcpu --stats --by thread -c 100000 -p "$pid" -d 3 -o waits.folded 2>err || fail "offcpu ended with $?"
python3 - waits.folded <<'PY' || fail "threads of Go's scheduler"
import sys
whole = idle = wrong = 0  # ns
for line in open(sys.argv[1]):
    stack, value = line.rsplit(" ", 1)
    frames = stack.split(";")[1:]
    whole += int(value)
    idle += int(value) * ("runtime.mcall" in frames)
    wrong += int(value) * ("runtime.mcall" in frames[1:])
print(f"{whole / 1e9:.3f} s, {idle / 1e9:.3f} of it in the scheduler, {wrong / 1e9:.3f} behind it")
sys.exit(not (idle > 1e9 and wrong == 0))
PY
grep -qE '(100|99\.9[0-9]?) % of [0-9,]+ user' err || fail "waiting: incomplete stacks: $(grep 'complete' err)"
