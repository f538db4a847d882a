#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench --isolate: the command and cicada on CPUs of their own; where there is one only, that is said.
source "$(dirname "$0")/lib.sh"
(($(nproc) >= 2)) || skip "one CPU"
cpus_of() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$1/status"; }
cat >show.sh <<'SH'
sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status >command
cat /proc/$PPID/task/*/status | sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' | sort -u >cicada
for i in 1 2 3 4 5 6 7 8; do i=$((i + 1)); done
SH
"$CICADA" bench -o result --isolate --runs 2 -- sh show.sh 2>err || fail "bench ended with $?"
python3 - "$(cpus_of $$)" <<'PY' || fail "CPUs: $(head command cicada)"
import sys
def numbers(text):
    out = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        out |= set(range(int(first), int(last or first) + 1))
    return out
lines = open("cicada").read().split()
command, own = numbers(open("command").read().strip()), set().union(*map(numbers, lines))
assert command and own and not command & own and command | own == numbers(sys.argv[1]), (command, own)
PY
first=$(cpus_of $$); first=${first%%[,-]*}
taskset -c "$first" "$CICADA" bench -o one --isolate -- sh show.sh 2>err || fail "bench on one CPU ended with $?"
grep -q 'only one CPU may be used' err || fail "it is not said that there is one CPU"
[[ $(<command) == "$first" ]] || fail "left the CPU that it was given"
