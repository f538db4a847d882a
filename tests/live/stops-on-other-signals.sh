#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SIGTERM and SIGHUP end a recording as Ctrl-C does: the results are written. A SIGHUP that was ignored at the start (nohup) stays so. A second
# signal: tests/attacks/ends-at-the-second-interrupt.sh.
source "$(dirname "$0")/lib.sh"
start_workload chain_gcc_O2_pie
cp out truth
# signalled SIGNAL OPTION…: a recording that gets it when it samples; its exit code.
signalled() {
  local signal=$1 code=0
  shift
  begin_record -F 997 -p "$pid" "$@" -o recording.txt -o flame.svg
  let_work 1 "$pid"
  kill -s "$signal" "$recorder"
  wait_for_recorder || code=$?
  return "$code"
}
for signal in TERM HUP; do
  rm -f recording.txt flame.svg
  signalled $signal || fail "after SIG$signal it ended with $?"
  [[ -s flame.svg ]] || fail "SIG$signal: no flame graph"
  compare_with_truth chain_gcc_O2_pie
done
trap '' HUP
begin_record -F 997 -p "$pid" -o recording.txt
trap - HUP
let_work 0.5 "$pid"
kill -s HUP "$recorder"
let_work 1 "$pid"
kill -0 "$recorder" || fail "an ignored SIGHUP ended the recording"
end_record || fail "record ended with $?"

# With a command: that gets the signal's like, too, and does not survive.
"$CICADA" record -q -o x.folded -- bash -c 'echo $$ >command; exec sleep infinity' &
cicada=$!
started+=("$cicada")
wait_for test -s command
sleep 0.5
kill -TERM "$cicada"
wait "$cicada" || true
[[ -e x.folded ]] || fail "a command, SIGTERM: no result"
command_ended() { ! kill -0 "$(<command)" 2>/dev/null; }
wait_for command_ended
