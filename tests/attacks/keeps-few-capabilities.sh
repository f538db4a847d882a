#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# While it records, cicada has no thread that could load a module, mount, or change the network, and yet it sees everybody's programs whole; the
# command that root records has all that root has.
source "$(dirname "$0")/lib.sh"
start_neighbour
printf '#!/bin/bash\ntouch "%s/runs"\nwhile [[ -e %s/runs ]]; do :; done\n' "$lair" "$lair" >"$lair/works"
chmod 755 "$lair/works"
begin_bounded 300 4 "$CICADA" record -a -F 997 -o r.txt 2>err
let_work 1 "$neighbour"
# CAP_NET_ADMIN 12, NET_RAW 13, SYS_MODULE 16, SYS_RAWIO 17, SYS_CHROOT 18, SYS_ADMIN 21, SYS_BOOT 22, SYS_TIME 25, MKNOD 27, SETFCAP 31
forbidden=0
(($(</proc/sys/kernel/perf_event_paranoid) > 2)) && admin=() || admin=(21)  # Debian's kernels ask for it then
for bit in 12 13 16 17 18 "${admin[@]}" 22 25 27 31; do forbidden=$((forbidden | 1 << bit)); done
# look_at PID: at all of its threads.
look_at() {
  local status held set threads=0
  for status in /proc/"$1"/task/*/status; do
    held=$(awk '/^CapPrm:|^CapEff:/ { print "0x" $2 }' "$status" 2>/dev/null) || continue
    for set in $held; do
      threads=$((threads + 1))
      ((set != 0)) || fail "$status: no capabilities at all"
      (((set & forbidden) == 0)) || fail "$status: $set"
    done
  done
  ((threads > 3)) || fail "only $threads sets were looked at"
}
look_at "$recorder"
kill -INT "$recorder"
end_bounded || fail "record ended with $?: $(<err)"
neighbour_is_whole r.txt || fail "$(neighbour_is_whole r.txt)"
"$CICADA" bench -q -o bench -- "$lair/works" >out 2>err &
bench=$!
started+=("$bench")
wait_for test -e "$lair/runs"
look_at "$bench"
rm "$lair/runs"
wait "$bench" || fail "bench ended with $?: $(<err)"
"$CICADA" record --as-root -q -o command.txt -- grep CapEff /proc/self/status >of_command || fail "record ended with $?"
[[ $(<of_command) == "$(grep CapEff /proc/self/status)" ]] || fail "the command has $(<of_command), root $(grep CapEff /proc/self/status)"
