#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A command that ignores everything is asked to end and does not: the second signal ends cicada, not the command's timeout.
source "$(dirname "$0")/lib.sh"
waits_or_ended() { grep -qx do_wait "/proc/$recorder/wchan" 2>/dev/null || recorder_ended; }
for signal in INT TERM; do
  rm -f running x.cicada
  "$CICADA" record -q -o x.cicada -- bash -c 'trap "" INT TERM; echo $$ >running; while true; do sleep 0.1; done' &
  recorder=$!
  started+=("$recorder")
  wait_for test -s running
  started+=("$(<running)")
  wait_for samples_or_ended
  kill -s $signal "$recorder"
  wait_for waits_or_ended
  kill -0 "$recorder" 2>/dev/null || fail "$signal: did not wait for its command"
  sleep 0.5  # what comes at once is the same signal (StopSignals::kSame)
  kill -s $signal "$recorder"
  wait_for recorder_ended
  kill -KILL "$(<running)" || fail "$signal: ended its command"
done
