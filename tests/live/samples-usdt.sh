#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# USDT probes: each hit has its outcome, and its arguments are those that the program says it passed, whether a place has them in registers, parts of registers, memory or as
# constants. Semaphores are raised while it records, and only then.
source "$(dirname "$0")/lib.sh"
said() { sed -n "s/^$1 //p" out; }
value() { awk '{ sum += $NF } END { print sum + 0 }' "$1"; }
of_event() { "$CICADA" convert --force --event "$1" "$2" "$3" 2>/dev/null || fail "convert --event $1"; }
outcome() { awk -v text="$1" 'index($0, text) { gsub(",", "", $1); n += $1 } END { print n + 0 }' err; }

"$CICADA" record --stats -e 'usdt:usdt_hits:hits:place/value=arg1,unit=bytes,by=arg0/' -e 'usdt:hits:pl*/value=u8(arg3),arg2==7/' -e 'usdt:hits:place/arg0<0/' -e "usdt:$WORKLOADS/usdt_hits:hits:guarded" \
  -o x.cicada -o x.txt -- "$WORKLOADS/usdt_hits" 4 10000 200 >out 2>err || fail "record ended with $?"
python3 -B "$LIVE/accounting.py" err x.txt || fail "the account does not add up"
(($(outcome ' lost: ') == 0)) || fail "hits are lost, though threads pause"
of_event usdt:usdt_hits:hits:place x.cicada bytes.folded
[[ $(value bytes.folded) == "$(said bytes)" ]] || fail "$(value bytes.folded) bytes, the workload said $(said bytes)"
of_event 'usdt:hits:pl*' x.cicada small.folded
[[ $(value small.folded) == "$(said small)" ]] || fail "$(value small.folded) in small numbers, the workload said $(said small)"
of_event usdt:hits:place x.cicada negative.folded
[[ $(value negative.folded) == "$(said negative)" ]] || fail "$(value negative.folded) negative ones, the workload said $(said negative)"
of_event "usdt:$WORKLOADS/usdt_hits:hits:guarded" x.cicada guarded.folded
(($(said guarded) == $(said passed))) || fail "the semaphore was not raised from the first instruction on: $(said guarded) of $(said passed)"
[[ $(value guarded.folded) == "$(said guarded)" ]] || fail "$(value guarded.folded) guarded ones, the workload said $(said guarded)"
"$CICADA" convert --force --event usdt:usdt_hits:hits:place --by group x.cicada groups.folded 2>/dev/null || fail "convert --by group"
[[ $(cut -d';' -f1 groups.folded | sort -u | tr '\n' ' ') == "-1 0 1 2 " ]] || fail "groups: $(cut -d';' -f1 groups.folded | sort -u | tr '\n' ' ')"
for function in pass_first pass_second pass_in_memory; do
  grep -q "pass_all.*;.*$function" bytes.folded || fail "no stack with $function"
done

counted() {
  "$CICADA" record --force -e "$1" -o z.folded -- "$WORKLOADS/usdt_hits" 1 120 >out 2>err || fail "record -e $1 ended with $?: $(cat err)"
  [[ $(value z.folded) == "$2" ]] || fail "-e $1: $(value z.folded) hits, not $2"
}
counted 'usdt:usdt_hits:*:*' 240
counted 'usdt:h?ts:place' 120
counted 'usdt:hits:place/arg0==2/' 30
counted 'usdt:hits:place/s64(arg0)==-1/' 30
counted 'usdt:hits:place/arg1>=100/' 20
counted 'usdt:hits:place/arg2==7,arg3>=60/' 60
counted 'usdt:hits:place/value=arg2/' 840
counted 'usdt:hits:guarded/arg0<10/' 10

# Who runs already, and for nobody once the recording has ended: by itself, by Ctrl-C, by kill -9.
start "$WORKLOADS/usdt_hits" 1 100000000 1000000
semaphore() {
  python3 - "$pid" "$(nm "$WORKLOADS/usdt_hits" | awk '$3 == "hits_guarded_semaphore" { print $1 }')" <<'PYTHON'
import sys
pid, link = sys.argv[1], int(sys.argv[2], 16)
begin = int(open(f"/proc/{pid}/maps").readline().split("-")[0], 16)
memory = open(f"/proc/{pid}/mem", "rb")
memory.seek(begin + link)
print(int.from_bytes(memory.read(2), "little"))
PYTHON
}
[[ $(semaphore) == 0 ]] || fail "the semaphore is raised before"
for end in TERM INT KILL; do
  "$CICADA" record -q --force -e usdt:hits:guarded/period=100000/ -p "$pid" -o p.folded 2>err & recorder=$!
  started+=("$recorder")
  until [[ $(semaphore) == 1 ]]; do kill -0 "$recorder" || fail "record -p ended: $(cat err)"; sleep 0.05; done
  kill -$end "$recorder"
  wait "$recorder" || true
  for ((i = 0; i < 600; i++)); do [[ $(semaphore) != 0 ]] || break; sleep 0.05; done
  [[ $(semaphore) == 0 ]] || fail "after $end the semaphore is $(semaphore)"
done
kill -0 "$pid" || fail "the program did not survive"

refused() {
  "$CICADA" record -e "$1" -o n.cicada -- "$WORKLOADS/usdt_hits" >/dev/null 2>err && fail "-e $1 was accepted"
  [[ $(wc -l <err) == 1 ]] && grep -qF -- "$2" err || fail "-e $1: not \"$2\": $(cat err)"
  [[ ! -e n.cicada ]] || fail "-e $1 left a recording"
}
refused usdt:usdt_hits:hits:plaec "usdt:usdt_hits:hits:plaec: no USDT probe hits:plaec in usdt_hits; did you mean hits:place"
refused usdt:libm:a:b "usdt:libm:a:b: "
refused 'usdt:hits:place/value=arg4/' "usdt:hits:place: hits:place is a probe whose argument is no whole number in a register or in memory"
refused 'usdt:hits:place/arg9==1/' "usdt:hits:place: hits:place is a probe without so many arguments"
refused 'usdt:hits:place/arg12==1/' "column 17: no arg12 of a USDT probe; there are arg0 to arg11"
refused usdt:place "column 6: expected [IMAGE:]PROVIDER:NAME of a USDT probe"
