#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is listed can be named: functions as nm has them, of a file that nobody maps, or of what a process maps; tracepoints with their fields. What there is not, is said in one line.
source "$(dirname "$0")/lib.sh"
hits=$WORKLOADS/hits
listed() { "$CICADA" probes "$@" >out 2>err || fail "probes $* ended with $?: $(cat err)"; }
listed "u:$hits:*"
nm "$hits" | awk '$2 ~ /^[tT]$/ && $3 ~ /^(hit|deeper|main|_Z)/ { print $1 }' | sort -u | wc -l >wanted
(($(grep -c "^u:$hits:" out) >= $(cat wanted))) || fail "$(grep -c . out) functions, nm has $(cat wanted)"
for name in hit 'shop::Till::pay(int, unsigned long)' 'shop::greet(double)'; do grep -qF "u:$hits:$name " out || fail "no $name: $(cat out)"; done
[[ $("$CICADA" probes "$hits:h?t" 2>err | awk '{ print $1 }') == "u:$hits:hit" ]] || fail "h?t is not hit: $(cat err)"
# What is listed is what is hit.
"$CICADA" record -q --force -e "$(sed -n 's/  *at 0x[0-9a-f]*$//; /shop::greet(double)$/p' out)" -o z.folded -- "$hits" 1 100 >/dev/null 2>err || fail "record ended with $?: $(cat err)"
[[ $(awk '{ n += $NF } END { print n }' z.folded) == 1 ]] || fail "greet(double) was not called once: $(cat z.folded)"

listed "usdt:$WORKLOADS/usdt_hits:*:*"
grep -q "^usdt:$WORKLOADS/usdt_hits:hits:place  *3 places s32(arg0) u64(arg1) s64(arg2) u8(arg3) (arg4)$" out && (($(wc -l <out) == 2)) || fail "not its two USDT probes: $(cat out)"

start "$hits" 1 100000000
listed 'shop::*' -p "$pid"
grep -q "^u:$hits:shop::Till::pay(int, unsigned long) *at 0x" out || fail "nothing of the process: $(cat out)"
listed hit -p "$pid" --json
python3 -c 'import json, sys; p = json.load(open("out")); sys.exit(not (p["matches"] == 1 and p["probes"][0]["kind"] == "function" and p["probes"][0]["event"] == sys.argv[1]))' "u:$hits:hit" || fail "$(cat out)"
listed "h*" -p "$pid" -n 1
[[ $(wc -l <out) == 1 ]] && grep -q "^cicada: 1 of [0-9]* are listed; -n says how many" err || fail "-n 1: $(cat out err)"
listed 't:syscalls:sys_enter_writ?'
grep -q '^t:syscalls:sys_enter_write  *.*fd.*count' out || fail "sys_enter_write has no fields: $(cat out)"
listed sys_enter_openat
grep -q '^t:syscalls:sys_enter_openat ' out || fail "not by its own name: $(cat out)"
listed 'page-faul*'
grep -q '^page-faults  *also faults$' out || fail "no page-faults: $(cat out)"

line=$(grep -n 'greet(value);' "$LIVE/../workloads/hits.cc" | cut -d: -f1)
listed "hits:hits.cc:$line" -p "$pid"
[[ $(grep -c "^u:$hits:hits.cc:$line  *in void shop::greet_all<.*>(.*), at 0x" out) == 2 ]] || fail "hits.cc:$line: $(cat out)"

refused() {
  "$CICADA" probes "${@:2}" >out 2>err && fail "probes ${*:2} found something: $(cat out)"
  [[ $(wc -l <err) == 1 && ! -s out ]] && grep -qF -- "$1" err || fail "probes ${*:2}: not \"$1\": $(cat err)"
}
refused "no USDT probe hits:plaec in $WORKLOADS/usdt_hits; did you mean hits:place" "usdt:$WORKLOADS/usdt_hits:hits:plaec"
refused "there are no USDT probes in $hits" "usdt:$hits:*:*"
refused "nothing is called so" t:nosuch:x
refused "no function hitt in $hits; did you mean hit?" "u:$hits:hitt"
refused "/no/such.so" u:/no/such.so:x
refused "no process maps a file called nolib" u:nolib:x
refused "with a file's name: u:libc:no_such_function" no_such_function
refused "expected the name of a function" u:libc:
