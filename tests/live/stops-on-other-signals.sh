#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SIGTERM and SIGHUP end a recording as Ctrl-C does: the results are written. A SIGHUP that was ignored at the start (nohup) stays so. A second
# signal: tests/attacks/ends-at-the-second-interrupt.sh.
source "$(dirname "$0")/lib.sh"
start "$WORKLOADS/chain_gcc_O2_pie" 60
wait_for 10 said_something
cp out truth
# signalled SIGNAL OPTION…: a recording that gets it when it samples; its exit code.
signalled() {
  local signal=$1 code=0
  shift
  "$CICADA" record -F 997 -p "$pid" "$@" -o recording.txt -o flame.svg 2>err &
  local cicada=$!
  started+=("$cicada")
  sleep 1.5
  kill -s "$signal" "$cicada"
  wait "$cicada" || code=$?
  return "$code"
}
for signal in TERM HUP; do
  rm -f recording.txt flame.svg
  signalled $signal -d 30 || fail "after SIG$signal it ended with $?"
  [[ -s flame.svg ]] || fail "SIG$signal: no flame graph"
  compare_with_truth chain_gcc_O2_pie
done
rm -f flame.svg
(trap '' HUP && signalled HUP -d 3) || fail "with SIGHUP ignored it ended with $?"
grep -qE ' samples in [23]\.[0-9]+ s' err || fail "an ignored SIGHUP ended the recording: $(grep samples err)"

# With a command: that gets the signal's like, too, and does not survive.
"$CICADA" record -q -o x.folded -- bash -c 'echo $$ >command; exec sleep 60' &
cicada=$!
started+=("$cicada")
wait_for 20 test -s command
sleep 0.5
kill -TERM "$cicada"
wait "$cicada" || true
[[ -e x.folded ]] || fail "a command, SIGTERM: no result"
kill -0 "$(<command)" 2>/dev/null && fail "SIGTERM: the command still runs"
true
