#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Hits grouped by texts: each text has as many as the workload says it handed over, to functions, where they begin and return, timed, to USDT probes and system calls; and in a
# tracepoint's record. A text that is not there, or not whole, says so, and costs no hit. Memory of the kernel is not read for a program.
source "$(dirname "$0")/lib.sh"
outcome() { awk -v text="$1" 'index($0, text) { gsub(",", "", $1); n += $1 } END { print n + 0 }' err; }
# groups EVENT: "HITS TEXT" of each.
groups() {
  "$CICADA" convert --force --event "$1" --by group x.cicada groups.folded 2>/dev/null || fail "convert --event $1 --by group"
  awk '{ split($0, frame, ";"); hits[frame[1]] += $NF } END { for (text in hits) print hits[text], text }' groups.folded | sort
}
said() { sed -n "s/^$1 //p" out | sort; }
same() { diff "$2" "$3" >difference || fail "$1: groups and what was handed over: $(cat difference)"; }

"$CICADA" record --stats -e 'u:take/by=str(arg0)/,u:take/return,by=str(arg0)/,u:take_odd/by=str(arg0)/' -e 'ur:answer/by=str(retval)/' -e 'usdt:texts:named:text/by=str(arg1)/' \
  -e 'task:task_rename/by=str(newcomm)/,syscalls:sys_enter_openat/by=str(filename)/' -o x.cicada -o x.txt -- "$WORKLOADS/texts" 8 4000 400 >out 2>err || fail "record ended with $?"
python3 -B "$LIVE/accounting.py" err x.txt || fail "the account does not add up"
(($(outcome ' lost: ') == 0)) || fail "hits are lost, though threads pause"
said take >taken
for event in u:take ur:answer usdt:texts:named:text; do
  groups $event >found
  same $event taken found
done
groups syscalls:sys_enter_openat | grep ' /no/such/' >found
said open >opened
same syscalls:sys_enter_openat opened found
groups task:task_rename | grep -E ' (reader|writer of files|x)$' >found
said name >named
same task:task_rename named found
# Timed calls are worth their ns: of each text there are some.
groups u:take/return | cut -d' ' -f2- | sort >found
cut -d' ' -f2- taken | sort >texts
same u:take/return texts found
[[ $("$CICADA" convert --event u:take/return x.cicada - 2>/dev/null | awk '{ n += $NF } END { print (n > 0) }') == 1 ]] || fail "timed calls took no time"
# What is not there, and what is cut.
groups u:take_odd >found
letters() { printf "$1%.0s" $(seq "$2"); }
{
  echo "1 [null]"
  echo "1 [empty]"
  echo "3 [unreadable]"
  echo "1 eee"
  echo "1 $(letters L 256)"
  echo "1 $(letters M 256)…"
  echo "1 $(letters N 255)…"
} | sort >odd
grep -v '\[2Jred' found >plain
same u:take_odd odd plain
(($(grep -c '\[2Jred' found) == 1)) && ! grep -qP '[\x00-\x08\x0b-\x1f]' found || fail "a text is not cleaned of what steers a terminal: $(cat -v found)"
"$CICADA" report --event u:take x.cicada >report 2>/dev/null || fail "report --event u:take"
grep -qE ' % .* /etc/hosts$' report && grep -qE ' % .* größer$' report || fail "report has no table of texts: $(cat report)"

# Only what is wanted; one of ten stands for ten. All events have groups: root frames without being asked.
"$CICADA" record --stats -e 'u:take/by=str(arg0),period=10,s32(arg1)<3000/' -o y.folded -- "$WORKLOADS/texts" 2 4000 100 >out 2>err || fail "record period=10 ended with $?"
(($(awk '{ n += $NF } END { print n / 10 }' y.folded) + $(outcome '  sampled out') == 6000 && $(outcome 'filtered out') == 2000)) || fail "period=10: not 6000 hits"
cut -d';' -f1 y.folded | sort -u | diff - texts >difference || fail "period=10: $(cat difference)"

# More texts than there is room for.
"$CICADA" record --stats -e 'u:take_many/by=str(arg0)/' -o z.folded -- "$WORKLOADS/texts" 1 1 0 20000 >out 2>err || fail "record of many texts ended with $?"
(($(outcome ' lost: ') == 0)) || fail "hits of many texts are lost"
(($(cut -d';' -f1 z.folded | sort -u | wc -l) == 10001)) || fail "$(cut -d';' -f1 z.folded | sort -u | wc -l) groups, not 10,000 and others"
(($(awk '/^\[others\];/ { n += $NF } END { print n }' z.folded) == 10000)) || fail "others: $(grep '^.others.' z.folded)"
[[ $(awk '{ n += $NF } END { print n }' z.folded) == 20000 ]] || fail "not 20,000 hits"

# Behind a tracepoint's record.
"$CICADA" record --force -q -e 'sched:sched_process_exec/by=str(filename)/' -o x.cicada -- sh -c 'for i in 1 2 3; do /bin/true; done; /bin/echo one; exit' >out 2>err || fail "record of execs ended with $?"
groups sched:sched_process_exec | grep -E ' /bin/(true|echo)$' >found
printf '1 /bin/echo\n3 /bin/true\n' | diff - found || fail "who is started: $(cat found)"

refused() {
  "$CICADA" record -e "$1" -o n.cicada -- "$WORKLOADS/texts" >/dev/null 2>err && fail "-e $1 was accepted"
  [[ $(wc -l <err) == 1 ]] && grep -qF -- "$2" err || fail "-e $1: not \"$2\": $(cat err)"
}
refused 'u:take/value=str(arg0)/' 'column 14: str() goes with by= only'
refused 'u:take/str(arg0)==1/' 'column 8: str() goes with by= only'
refused 'sched:sched_switch/by=str(next_pid)/' 'next_pid is no text, nor the address of one (pid_t)'
refused 'sched:sched_switch/by=str(next_com)/' 'did you mean next_comm'
