#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tracepoints: each hit has its outcome, to the hit, and its stack is whole. The workload says how often it called the kernel; threads come and go, hits are
# drawn, two events share a recording, and what is not there is refused in one line.
source "$(dirname "$0")/lib.sh"
event=syscalls:sys_enter_getppid
stored() { awk '/;ask;/{sum += $NF} END {print sum + 0}' "$1"; }
outcome() { awk -v text="$1" '/samples in .*\(/ { inside = index($0, "('"$event"'") } inside && index($0, text) { gsub(",", "", $1); n += $1 } END { print n + 0 }' err; }

# Every hit, with pauses so that the reader keeps up.
"$CICADA" record --stats -e "tracepoint:$event" -o x.folded -o x.txt -- "$WORKLOADS/calls" 4 25000 50 >out 2>err || fail "record ended with $?"
called=$(sed -n 's/^called //p' out)
((called == 100000)) || fail "the workload said: $(cat out)"
python3 -B "$LIVE/accounting.py" err x.txt || fail "the account does not add up"
((stored=$(stored x.folded), stored + $(outcome lost) >= called && stored <= called)) || fail "$stored hits of $called calls, $(outcome lost) lost"
(($(outcome lost) * 100 <= called)) || fail "$(outcome lost) of $called hits are lost, though threads pause"
# Sixty calls, and what begins a thread.
whole=$(awk '/;ask;/ { n = gsub(/;deeper/, "&"); if (n == 58 && $0 !~ /\[truncated\]|\[incomplete/) sum += $NF } END { print sum + 0 }' x.folded)
((whole * 1000 >= stored * 999)) || fail "$whole of $stored stacks are whole"
grep -q ';ask;' x.folded && ! grep ';ask;' x.folded | grep -vq 'getppid' || fail "a stack does not end in the call"

# As fast as it can, one of ten: what is stored stands for all. A binomial's four standard deviations.
"$CICADA" record --stats -e "t:$event/period=10/,cpu-clock" -F 99 -o y.cicada -- "$WORKLOADS/calls" 8 100000 >out 2>err || fail "record period=10 ended with $?"
called=$(sed -n 's/^called //p' out)
"$CICADA" convert --event "$event" y.cicada y.folded 2>/dev/null || fail "convert --event"
value=$(stored y.folded) drawn=$(outcome "  sampled out")
awk -v n="$called" -v value="$value" -v drawn="$drawn" -v lost="$(outcome lost)" 'BEGIN {
  d = value / 10 + lost - n / 10; if (d < 0) d = -d
  exit !(value % 10 == 0 && value / 10 + drawn + lost == n && d <= 4 * sqrt(n * 0.09)) }' || fail "$value in samples and $drawn sampled out, $(outcome lost) lost, of $called calls"
"$CICADA" report --json --event cpu-clock y.cicada | grep -q '"name": *"deeper"' || fail "the clock beside it has no samples"

# Of a process that runs; nothing of others.
start "$WORKLOADS/calls" 1 200000 20000
"$CICADA" record -e "$event" -p "$pid" -o p.folded 2>err || fail "record -p ended with $?"
! grep -v ';ask;' p.folded || fail "stacks of others"
(($(stored p.folded) > 1000)) || fail "few hits of a process that runs: $(stored p.folded)"

# Where it is passed decides, not where it was opened.
for cpu in 0 1; do
  "$CICADA" record -q --force --cpu 1 -e "$event" -o "c$cpu.folded" -- taskset -c "$cpu" "$WORKLOADS/calls" 1 5000 >out 2>err || fail "record --cpu ended with $?"
done
(($(stored c0.folded) == 0 && $(stored c1.folded) == 5000)) || fail "--cpu 1: $(stored c0.folded) hits on CPU 0, $(stored c1.folded) on CPU 1"

refused() {
  "$CICADA" record -e "$1" -o z.cicada -- true 2>err && fail "-e $1 was accepted"
  [[ $(wc -l <err) == 1 ]] && grep -qF -- "$2" err || fail "-e $1: not \"$2\""
  [[ ! -e z.cicada ]] || fail "-e $1 left a recording"
}
refused t:sched:sched_swich "sched:sched_swich: this kernel has no tracepoint sched_swich in sched; did you mean sched_switch"
refused schd:sched_switch "did you mean sched? (of a function: u:schd:sched_switch)"
refused t:schd:sched_switch "this kernel has no category schd of tracepoints; did you mean sched"
refused probe:sched:x 'column 1: no kind of event "probe"; there are uprobe (u), uretprobe (ur), kprobe (k), kretprobe (kr), usdt, fentry (f), fexit (fr), rawtp and tracepoint (t)'
refused t:sched_switch "column 3: expected CATEGORY:NAME"
refused "t:$event/freq=10/" "column $((${#event} + 4)): freq= is for clocks and counters"
refused "t:$event/period=5000000000/" "one of 5000000000 hits; 4294967295 at most"
refused 't:sched:sched_sw?tch' "column 17"
