#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How long calls of functions take: each is timed from begin to return, or never returns, to the call. Recursion, threads, exceptions, longjmp(), forks, functions that end in a
# jump to another one or have a jump table. The workload says how often it calls, and how long it sleeps in them, at least.
source "$(dirname "$0")/lib.sh"
said() { sed -n "s/^$1 //p" out; }
value() { awk '{ sum += $NF } END { printf "%.0f\n", sum }' "$1"; }  # more than 31 bits
of_event() { "$CICADA" convert --force --event "$1" "$2" "$3" 2>/dev/null || fail "convert --event $1"; }
# Of an event, from its account; of its last lines with its name, or of the first event without.
outcome() { awk -v event="($1," -v text="$2" '/ samples? in / { on = index($0, event) } on && index($0, text) { gsub(",", "", $1); n += $1 } END { print n + 0 }' err; }
is() { [[ $2 == "$3" ]] || fail "$1: $2, not $3"; }
at_least() { (($2 >= $3)) || fail "$1: $2 ns, though $3 were slept"; }
balances() { ! grep -q "does not add up" err || fail "the account does not add up"; }

"$CICADA" record --stats -e 'u:slow/return,by=s32(arg0)/,u:nested/return/,u:quick/return/' -e 'u:first/return/,u:second/return/,u:choose/return/' \
  -e 'u:passed/return/,u:splitting/return/,u:waiting/return/' -o x.cicada -o x.txt -- "$WORKLOADS/timed_calls" 4 60 >out 2>err || fail "record ended with $?"
python3 -B "$LIVE/accounting.py" err x.txt || fail "the account does not add up"
balances
for name in slow nested quick first choose; do is "$name: stored" "$(outcome "u:$name/return" ' stored')" "$(said $name)"; done
is "passed: stored" "$(outcome u:passed/return ' stored')" "$(($(said passed) - $(said left)))"
is "passed: never returned" "$(($(outcome u:passed/return ' never returned') + $(outcome u:passed/return ' under way at')))" "$(said left)"
is "splitting: stored" "$(outcome u:splitting/return ' stored')" 1
grep -q '^ *1  *returns of calls whose begin was not seen (u:splitting/return)' err || fail "the child's return has a begin"
is "waiting: under way" "$(outcome u:waiting/return ' under way at')" 1
for name in slow nested first second choose; do
  of_event u:$name/return x.cicada $name.folded
  [[ $name == choose ]] || at_least $name "$(value $name.folded)" "$(said ${name/second/first}_ns)"
done
# A call of five in each other takes as long as the sleeps of all below it.
outermost=$(awk '/call_all\(\);nested [0-9]*$/ { sum += $NF } END { printf "%.0f\n", sum }' nested.folded)
at_least "nested, the outermost" "$outermost" "$(($(said nested_ns) / 3))"
"$CICADA" convert --force --event u:slow/return --by group x.cicada groups.folded 2>/dev/null || fail "convert --by group"
for number in 1 2 3; do at_least "slow($number)" "$(awk -F';' -v number=$number '$1 == number' groups.folded | value /dev/stdin)" "$((4 * 15 * 200000 * (number + 1)))"; done

# Only what is asked for: by an argument where the call begins, one of ten. A call that is not wanted does not end one that never returned where it begins.
"$CICADA" record --stats -e 'u:nested/return,s32(arg0)==3/,u:quick/return,period=10/,u:passed/return,s32(arg0)<2/' -o y.cicada -- "$WORKLOADS/timed_calls" 2 100 >out 2>err || fail "record with filters ended with $?"
balances
is "nested(3)" "$(outcome u:nested/return ' stored')" 200
of_event u:nested/return y.cicada nested.folded
at_least "nested(3)" "$(value nested.folded)" "$((200 * 3 * 200000))"
is "quick" "$(($(outcome u:quick/return ' stored') + $(outcome u:quick/return ' sampled out')))" "$(said quick)"
is "passed(0)" "$(outcome u:passed/return ' stored')" 2
is "passed(1)" "$(outcome u:passed/return ' never returned')" 2
is "passed, others" "$(outcome u:passed/return ' filtered out')" "$(($(said passed) - 4))"

# All functions that a pattern means, among them those that end in each other; with processes that end under way, again and again.
"$CICADA" record --stats -e "u:$WORKLOADS/timed_calls:*s*/return/" -o z.cicada -- sh -c "for i in 1 2 3; do '$WORKLOADS/timed_calls' 2 10 || exit; done" >out 2>err || fail "record of a pattern ended with $?"
balances
(($(outcome "u:$WORKLOADS/timed_calls:*s*/return" ' stored') > 600)) || fail "a pattern has no calls: $(cat err)"
of_event "u:$WORKLOADS/timed_calls:*s*/return" z.cicada z.folded
for name in slow nested second choose splitting; do grep -q ";$name [0-9]*$\|^.*$name [0-9]*$" z.folded || fail "no calls of $name"; done

# More calls that have begun than there is room for, of processes that end in them.
"$CICADA" record --stats -e u:dive/return/ -o d.cicada -- "$WORKLOADS/timed_calls" 1 1 100 >out 2>err || fail "record of calls that never return ended with $?"
balances
is "dive" "$(($(outcome u:dive/return ' under way at') + $(outcome u:dive/return ' never returned') + $(outcome u:dive/return ' lost: no room')))" "$(said dive)"

# It is attached while calls are under way, and again: these are no hits.
start "$WORKLOADS/timed_calls" 2 100000
for ((i = 0; i < 3; i++)); do
  "$CICADA" record --stats --force -e u:nested/return/ -p "$pid" -d 0.5 -o p.cicada >/dev/null 2>err || fail "record -p ended with $?"
  balances
  (($(outcome u:nested/return ' stored') > 100 && $(outcome u:nested/return ' never returned') == 0)) || fail "of a running process: $(cat err)"
done
kill -0 "$pid" || fail "the program did not survive"

refused() {
  "$CICADA" record -e "$1" -o n.cicada -- "$WORKLOADS/timed_calls" >/dev/null 2>err && fail "-e $1 was accepted"
  [[ $(wc -l <err) == 1 ]] && grep -qF -- "$2" err || fail "-e $1: not \"$2\": $(cat err)"
}
refused ur:slow/return/ "return times calls from where they begin"
refused 'u:slow/return,value=arg0/' "value= does not go with return"
refused u:_exit/return/ "_exit"
refused sched:sched_switch/return/ "a tracepoint does not return"
