#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Numbers that a tracepoint hands over: which hits count, and what. To the byte: the workload says how much it wrote, where, and how often in vain.
source "$(dirname "$0")/lib.sh"
times=50000
# value FILE: of stacks of the workload's own function. outcome TEXT: of the last recording.
value() { awk '/;write_some;/{sum += $NF} END {print sum + 0}' "$1"; }
outcome() { awk -v text="$1" 'index($0, text) { gsub(",", "", $1); n += $1 } END { print n + 0 }' err; }
# Once more where hits were lost: then nothing can be said to the byte. The kernel skips a program while a map is changed on that CPU.
record() {
  local try
  for ((try = 0; try < 5; try++)); do
    "$CICADA" record --stats --force "$@" -- "$WORKLOADS/writes" $times >out 2>err || fail "record $* ended with $?"
    (($(outcome ' lost: ring') + $(outcome ' lost: no scratch') + $(outcome ' lost: skipped') != 0)) || break
  done
  ((try < 5)) || fail "hits are lost, five times"
  wrote=$(sed -n 's/^wrote //p' out) large=$(sed -n 's/^large //p' out) failed=$(sed -n 's/^failed //p' out)
}

record -e t:syscalls:sys_enter_write/value=count,unit=bytes,fd==9/ -o x.folded -o x.txt -o x.cicada -o x.pb.gz
[[ $(value x.folded) == "$wrote" ]] || fail "$(value x.folded) bytes to descriptor 9, it wrote $wrote"
[[ $("$CICADA" report --json x.cicada | python3 -c 'import json, sys; print(json.load(sys.stdin)["unit"])') == bytes ]] || fail "the unit is not bytes"
(($(outcome 'filtered out') >= failed)) || fail "$(outcome 'filtered out') hits are filtered out, $failed writes went to another descriptor"
python3 -B "$LIVE/accounting.py" err x.txt || fail "the account does not add up"

record -e "syscalls:sys_enter_write/fd==9,count>500/" -o x.folded
[[ $(value x.folded) == "$large" ]] || fail "$(value x.folded) pieces of more than 500 bytes, it wrote $large"
record -e "syscalls:sys_enter_write/fd!=9,count<=1000,fd>=99/,syscalls:sys_exit_write/ret<0/" -o x.cicada
for event in syscalls:sys_enter_write syscalls:sys_exit_write; do
  "$CICADA" convert --force --event $event x.cicada y.folded 2>/dev/null || fail "convert --event $event"
  [[ $(value y.folded) == "$failed" ]] || fail "$event: $(value y.folded) writes in vain, the workload says $failed"
done

# What cannot be counted has its reason: the errors are negative.
record -e "syscalls:sys_exit_write/value=ret,unit=bytes/" -o x.folded
[[ $(value x.folded) == "$wrote" ]] || fail "$(value x.folded) bytes were written, it wrote $wrote"
[[ $(outcome 'lost: their value is negative, or') == "$failed" ]] || fail "$(outcome 'lost: their value is negative, or') negative values, $failed writes failed"

# One of ten stands for all: a sum of $times draws, of up to 1,000 bytes each; five standard deviations.
record -e "syscalls:sys_enter_write/value=count,unit=bytes,fd==9,period=10/" -o x.folded
awk -v n="$wrote" -v k="$(value x.folded)" -v times=$times 'BEGIN { d = k - n; if (d < 0) d = -d; exit !(k > 0 && d < 5 * sqrt(times * 333833 * 9)) }' || fail "$(value x.folded) bytes by one of ten, it wrote $wrote"

# By a number: a root frame for each; the recording has it, too.
record -e "syscalls:sys_enter_write/value=count,unit=bytes,by=fd,fd>=9/" -o x.folded -o x.cicada
[[ $(awk '/^9;.*;write_some;/{sum += $NF} END {print sum + 0}' x.folded) == "$wrote" ]] || fail "group 9 has $(awk '/^9;/{sum += $NF} END {print sum + 0}' x.folded) bytes, it wrote $wrote"
[[ $(cut -d';' -f1 x.folded | sort -u | tr '\n' ' ') == "9 99 " ]] || fail "groups: $(cut -d';' -f1 x.folded | sort -u | tr '\n' ' ')"
record -e "syscalls:sys_exit_write/by=ret,ret<0/" -o y.folded
[[ $(cut -d';' -f1 y.folded | sort -u) == -9 && $(value y.folded) == "$failed" ]] || fail "errors by number: $(cut -d';' -f1 y.folded | sort | uniq -c)"
"$CICADA" report --by group -n 3 x.cicada >report.txt || fail "report --by group"
grep -qE '(^| )99( |$)' report.txt && grep -qE '(^| )9( |$)' report.txt || fail "report --by group has no table of them: $(cat report.txt)"

refused() {
  "$CICADA" record -e "$1" -o z.cicada -- true 2>err && fail "-e $1 was accepted"
  [[ $(wc -l <err) == 1 ]] && grep -qF -- "$2" err || fail "-e $1: not \"$2\""
}
refused t:syscalls:sys_enter_write/value=cont/ "syscalls:sys_enter_write: it hands over no cont; did you mean count?"
refused t:sched:sched_switch/prev_comm==1/ "sched:sched_switch: prev_comm is no number"
refused t:sched:sched_switch/prev_pid==x/ 'column 32: not a number: "x"'
