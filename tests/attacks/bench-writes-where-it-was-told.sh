#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `bench` by root where another user was first: links and directories of his are not written through, his FIFO and his lock keep nobody's benchmarks
# from being announced.
source "$(dirname "$0")/lib.sh"
# leaves in /tmp: .runner.ack.fifo.*
lock=/run/cicada-bench.lock
mkdir -m 700 rooms rooms/flamegraphs
mkdir -m 1777 shared
bench() { "$CICADA" bench -q "$@" -- true >out 2>err; }
nothing_inside() { [[ -z $(find rooms -type f) ]] || fail "written through $1: $(find rooms -type f)"; }

"${as_attacker[@]}" mkdir "$lair/results"
"${as_attacker[@]}" ln -s "$T/rooms" "$lair/results/flamegraphs"
! bench -o "$lair/results" || fail "results in a stranger's directory"
grep -q "belongs to user $attacker" err || fail "no reason"
"${as_attacker[@]}" ln -s "$T/rooms" "$T/shared/results"
! bench -o shared/results || fail "results behind a stranger's link"
grep -q "belongs to user $attacker" err || fail "no reason"
nothing_inside "a link of another user's"
mkdir mine
ln -s "$T/rooms" mine/flamegraphs
! bench -o mine || fail "results behind a link below -o"
grep -q 'is a link' err || fail "no reason"
nothing_inside "a link below -o"
mkdir elsewhere
ln -s elsewhere chosen
bench -o chosen || fail "a link of one's own: $?"
[[ -s elsewhere/index.html ]] || fail "nothing where one's own link leads"
(cd shared && "${as_attacker[@]}" ln -s "$T/nowhere" "$T/shared/cicada-bench" && bench) || fail "the default name was taken, and that was all: $?"
[[ -s shared/cicada-bench-2/index.html && ! -e nowhere ]] || fail "not beside the link: $(ls shared)"

# The command itself exchanges the directory, and one below it, for links while root's bench runs for its user.
for victim in results results/flamegraphs; do
  "${as_attacker[@]}" rm -rf "$lair/results" "$lair/away"
  (cd "$lair" && SUDO_UID=$attacker SUDO_GID=$attacker "$CICADA" bench -q -o results -- \
    sh -c "mv $victim away && ln -s $T/rooms $victim" >"$T/out" 2>"$T/err") || grep -q 'open directory' err || fail "$victim exchanged: bench ended with $?"
  nothing_inside "$victim exchanged for a link"
done

# Somebody who holds what he can open; a lock of before.
cat >"$lair/hold.py" <<'PYTHON'
import fcntl, os, sys, time
held = []
os.makedirs("/tmp/runner.ack.fifo/full")
os.mkfifo("/tmp/runner.ctl.fifo", 0o666)
held.append(os.open("/tmp/runner.ctl.fifo", os.O_RDWR))
try:
    held.append(os.open(sys.argv[1], os.O_RDONLY))
    fcntl.flock(held[-1], fcntl.LOCK_EX)
except OSError: pass
print("holds", len(held), flush=True)
time.sleep(600)
PYTHON
chmod 644 $lock
start "${as_attacker[@]}" python3 hold.py $lock
wait_for grep -q "holds 2" out
cp out holds
"$CICADA" bench -q -o announced -- "$WORKLOADS/bench_client" go 2 1 >out 2>err || fail "bench ended with $?"
! grep -q 'another benchmark run\|in use by' err out announced/bench.json || fail "a stranger's FIFO or lock counts: $(<holds)"
python3 -c 'import json; found = json.load(open("announced/bench.json"))["benchmarks"]; assert all(one["source"] != "runs" for one in found), found' || fail "not announced"
