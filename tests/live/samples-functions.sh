#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Functions of programs and libraries: each call has its outcome, to the call and to the byte, with its whole stack. The workload says how often it calls, with what: threads,
# forks, an exec, a library that is loaded at the end. Names may be C++'s, patterns, aliases. Nothing stays in a program that runs on.
source "$(dirname "$0")/lib.sh"
library=$WORKLOADS/libhit_library.so
said() { sed -n "s/^$1 //p" out; }
value() { awk '{ sum += $NF } END { print sum + 0 }' "$1"; }
of_event() { "$CICADA" convert --force --event "$1" "$2" "$3" 2>/dev/null || fail "convert --event $1"; }
outcome() { awk -v text="$1" 'index($0, text) { gsub(",", "", $1); n += $1 } END { print n + 0 }' err; }

"$CICADA" record --stats -e 'u:hit/value=arg1,unit=bytes,by=s32(arg0)/' -e "uprobe:$library:library_hit*" -e 'ur:hit/s64(retval)==-1/,cpu-clock' -F 99 -o x.cicada -o x.txt -- "$WORKLOADS/hits" 4 10000 200 2 "$library" >out 2>err ||
  fail "record ended with $?"
python3 -B "$LIVE/accounting.py" err x.txt || fail "the account does not add up"
(($(outcome ' lost: ring') + $(outcome ' lost: no scratch') == 0)) || fail "hits are lost, though threads pause"
of_event u:hit x.cicada hit.folded
[[ $(value hit.folded) == "$(said bytes)" ]] || fail "$(value hit.folded) bytes, the workload said $(said bytes)"
of_event "u:$library:library_hit*" x.cicada library.folded
[[ $(value library.folded) == "$(said library)" ]] || fail "$(value library.folded) calls of the library, the workload said $(said library)"
of_event ur:hit x.cicada returns.folded
[[ $(value returns.folded) == "$(($(said called) / 4))" ]] || fail "$(value returns.folded) returned -1, a quarter of $(said called) does"
"$CICADA" convert --force --event u:hit --by group x.cicada groups.folded 2>/dev/null || fail "convert --by group"
[[ $(cut -d';' -f1 groups.folded | sort -u | tr '\n' ' ') == "0 1 2 3 " ]] || fail "groups: $(cut -d';' -f1 groups.folded | sort -u | tr '\n' ' ')"
"$CICADA" report --event u:hit x.cicada >report 2>/dev/null || fail "report --event u:hit"
for number in 0 1 2 3; do grep -qE "^ +2[45]\.[0-9] % +[0-9,]+( bytes)?  $number\$" report || fail "report has no table of groups: $(cat report)"; done
whole=$(awk '/;(shop::Till::pay|pay)[^;]*;hit [0-9]*$/ { n = gsub(/;deeper/, "&"); if (n == 57 && $0 !~ /\[truncated\]|\[incomplete/) sum += $NF } END { print sum + 0 }' hit.folded)
((whole * 1000 >= $(said bytes) * 999)) || fail "of $(said bytes) bytes $whole are in whole stacks"

# As fast as they can, eight threads, one of ten. A binomial's four standard deviations.
"$CICADA" record --stats --force -e u:hit/period=10/ -o y.folded -- "$WORKLOADS/hits" 8 20000 >out 2>err || fail "record period=10 ended with $?"
awk -v n="$(said called)" -v value="$(value y.folded)" -v drawn="$(outcome '  sampled out')" -v lost="$(outcome ' lost: ')" 'BEGIN {
  d = value / 10 + lost - n / 10; if (d < 0) d = -d
  exit !(value % 10 == 0 && value / 10 + drawn + lost == n && d <= 4 * sqrt(n * 0.09)) }' || fail "$(value y.folded) in samples and $(outcome '  sampled out') sampled out, $(outcome ' lost: ') lost, of $(said called) calls"

# By C++'s names; overloads and instances are functions of one name.
counted() {
  "$CICADA" record --force -e "$1" -o z.folded -- "$WORKLOADS/hits" 1 100 >out 2>err || fail "record -e $1 ended with $?: $(cat err)"
  [[ $(value z.folded) == "$2" ]] || fail "-e $1: $(value z.folded) calls, not $2"
}
counted 'u:shop::Till::pay' 100
counted 'u:hits:shop::greet' 2
counted 'u:shop::greet(double)' 1
counted 'u:shop::greet*' 4
counted 'u:hits:d??per' 5700
counted 'u:hit+0' 100
counted 'hit' 100
counted 'hits:hit' 100
counted 'shop::Till::pay/arg1>=50/' 0  # of a member arg0 is the object, arg1 its first argument
counted 'shop::Till::pay/arg2>=50/' 50
counted 'u:hit+1' 100
counted 'u:/^shop::greet\(/' 2
counted 'hits:/[hH]it$|Till/,cpu-clock' 200
counted '/^shop::Till::pay\(/''/arg2>=50/' 50
line=$(grep -n 'greet(value);' "$LIVE/../workloads/hits.cc" | cut -d: -f1)
counted "hits.cc:$line" 2
counted "u:hits:workloads/hits.cc:$line" 2
counted "$WORKLOADS/hits:hit" 100
counted "$(realpath --relative-to=. "$WORKLOADS")/hits:hit" 100
# Where they return: an exception passes risk::pass() five of ten times, and once it is called by one that ends in it.
counted 'ur:risk::pass' 6
counted 'ur:risk::take' 6
counted 'ur:deeper' 5700
counted 'ur:risk::last' 1
grep -q 'ur:risk::last: 1 functions may end in another one, as risk::last(long): the kernel catches their returns' err || fail "ur:risk::last: $(cat err)"
counted 'ur:hit/s64(retval)==-1/' 25
# It ends by itself once it has enough, and with it the command.
timeout 100 "$CICADA" record -q --force -e u:hit/stop=50/ -o s.folded -- "$WORKLOADS/hits" 1 100000000 >out 2>err || fail "record stop=50 ended with $?: $(cat err)"
(($(value s.folded) >= 50)) || fail "stop=50: $(value s.folded) samples"
# One that is chosen when a program starts, by the CPU.
"$CICADA" record -q --force -e u:libc:strlen -o z.folded -- "$WORKLOADS/hits" 1 100 >out 2>err || fail "record -e u:libc:strlen ended with $?: $(cat err)"
(($(value z.folded) > 0)) || fail "strlen is not called"

# It is attached to who runs already, and to nobody once the recording has ended: by itself, by Ctrl-C, by kill -9.
start "$WORKLOADS/hits" 1 100000000
first_byte() {
  python3 - "$pid" "$(nm "$WORKLOADS/hits" | awk '$3 == "hit" { print $1 }')" <<'PYTHON'
import sys
pid, link = sys.argv[1], int(sys.argv[2], 16)
begin = int(open(f"/proc/{pid}/maps").readline().split("-")[0], 16)
memory = open(f"/proc/{pid}/mem", "rb")
memory.seek(begin + link)
print(memory.read(1).hex())
PYTHON
}
before=$(first_byte)
for end in TERM INT KILL; do
  "$CICADA" record -q --force -e u:hit/period=100000/ -p "$pid" -o p.folded 2>err & recorder=$!
  started+=("$recorder")
  until [[ $(first_byte) == cc ]]; do kill -0 "$recorder" || fail "record -p ended: $(cat err)"; sleep 0.05; done
  kill -$end "$recorder"
  wait "$recorder" || true
  for ((i = 0; i < 600; i++)); do [[ $(first_byte) != "$before" ]] || break; sleep 0.05; done
  [[ $(first_byte) == "$before" ]] || fail "after $end a breakpoint is left in the program"
done
kill -0 "$pid" || fail "the program did not survive"

# Nothing of the recording itself: each of its own calls would make another one.
"$CICADA" record --stats --force -a -d 1 -e u:libc:malloc -o a.cicada 2>err & recorder=$!
started+=("$recorder")
wait "$recorder" || fail "record -a ended with $?"
"$CICADA" report --by process a.cicada 2>/dev/null | grep -q "\b$recorder\b" && fail "it has hits of its own"

refused() {
  "$CICADA" record -e "$1" -o n.cicada ${3:+$3} ${3:--- "$WORKLOADS/hits"} >/dev/null 2>err && fail "-e $1 was accepted"
  [[ $(wc -l <err) == 1 ]] && grep -qF -- "$2" err || fail "-e $1: not \"$2\": $(cat err)"
  [[ ! -e n.cicada ]] || fail "-e $1 left a recording"
}
# A word that is an event and a function is neither until it is said which.
printf 'int faults(void) { return 0; }\nint main(void) { return faults(); }\n' >both.c
gcc -O0 -o both both.c
refused faults "-e faults: it is an event, and a function of $T/both; write counter:faults or u:faults" "-- ./both"
"$CICADA" record -q --force -e u:faults,counter:faults/period=1/ -o both.cicada -- ./both >/dev/null 2>err || fail "record -e u:faults,counter:faults ended with $?: $(cat err)"
"$CICADA" convert --force --event u:faults both.cicada both.folded 2>/dev/null
[[ $(value both.folded) == 1 ]] || fail "faults() is called once, not $(value both.folded) times"
# What only cicada itself has is not the command's.
refused u:bpf_program__attach_uprobe "no function bpf_program__attach_uprobe in the" "-- ./both"
# A file that is mapped later: what is not seen is said.
"$CICADA" record --force -e 'u:/^(hit|a64l)$/' -o later.folded -- sh -c "$WORKLOADS/hits 1 100 20; true" >/dev/null 2>err || fail "record -- sh ended with $?: $(cat err)"
grep -qE "$WORKLOADS/hits was found while the recording went on|files were mapped too late to look for functions in them, as $WORKLOADS/hits" err || fail "calls that are not seen are not spoken of: $(cat err)"
refused u:libc:mallok "u:libc:mallok: no function mallok in libc; did you mean malloc"
refused mallok "u:mallok: no function mallok in the"
refused cylces 'no event "cylces"; did you mean cycles? (of a function: u:cylces)'
refused u:nolib:malloc "u:nolib:malloc: what is recorded maps no file called nolib; one that is loaded later needs its path"
refused u:/no/such.so:fn "/no/such.so"
refused u:nosuch.cc:42 "u:nosuch.cc:42: no code of nosuch.cc:42 in the"
refused "u:hits:hits.cc:$((line - 2))" "did you mean hits.cc:$((line - 3)), hits.cc:$((line - 1))?"
refused 'u:hits.cc:1/arg0==1/' "arg0 is known where a function begins"
refused 'u:/hit(/' "column 3: this regular expression cannot be read: missing ): hit("
refused 'u:hit/retval==1/' "column 7: no retval where a function begins; there are arg0 to arg5"
refused 'ur:hit/retval<0/' "column 8: retval is taken without a sign here; s32(retval) or s64(retval) has one"
refused u:hit+100000 "u:hit+100000: no instruction of hit begins 100000 bytes behind its begin"
refused u:hit+2 "u:hit+2: no instruction of hit begins 2 bytes behind its begin"
