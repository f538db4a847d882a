#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A command that ignores everything is asked to end and does not: the second signal ends cicada, not the command's timeout.
source "$(dirname "$0")/lib.sh"
for signal in INT TERM; do
  rm -f running
  "$CICADA" record -q -o x.cicada -- bash -c 'trap "" INT TERM; echo $$ >running; while true; do sleep 0.1; done' &
  recorder=$!
  started+=("$recorder")
  wait_for 20 test -s running
  started+=("$(<running)")
  sleep 0.5
  kill -s $signal "$recorder"
  sleep 1
  kill -0 "$recorder" 2>/dev/null || fail "$signal: did not wait for its command"
  kill -s $signal "$recorder"
  gone() { ! kill -0 "$recorder" 2>/dev/null; }
  wait_for 5 gone
  kill -KILL "$(<running)"
done
