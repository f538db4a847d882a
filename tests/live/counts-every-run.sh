#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each loss provoked, and none is silent. The kernel's own count of the sampling program's runs (BPF statistics, in this test only) is the sum of the
# outcomes that the program counted, so that "skipped" is fired minus runs, measured; and stored is what was written.
source "$(dirname "$0")/lib.sh"
start python3 "$LIVE/kernel_side.py" $$ keep-statistics
wait_for said_something
count_of() { sed -nE "s/^ +([0-9,]+) +([0-9.]+ % +)?$1.*/\1/p" err | tr -d , | head -n 1; }

# provoke WHAT HZ COMMAND COUNTER…: records the whole machine while COMMAND runs beside it ($recorder), and wants each COUNTER above zero, in one of
# five recordings: on a busy machine what is to provoke it may come too late. Each of them adds up.
provoke() {
  local try
  for try in 1 2 3 4 5; do
    ! provoke_once "$@" || return 0
  done
  fail "$1: no '$missing' in $try recordings"
}
provoke_once() {
  local what=$1 rate=$2 command=$3
  shift 3
  begin_record -a -e cpu-clock -F "$rate" --stats -o x.txt
  python3 "$LIVE/kernel_side.py" "$recorder" runs >runs &
  local watcher=$!
  started+=("$watcher")
  wait_for test -s runs
  sleep 1
  eval "$command" || fail "$what: '$command' ended with $?"
  sleep 2
  end_record || fail "$what: record ended with $?"
  wait "$watcher" || fail "$what: its runs cannot be read"
  echo "== $what"
  # Claiming its working memory writes over what a run has in it.
  [[ $what != 'no scratch' ]] || (($(count_of 'records that could not be decoded') == 0)) || { missing='recording that the claim has left whole' && return 1; }
  # At this rate a CPU may be throttled, and a stopped recorder stops its clock late: only the sums are held against each other.
  python3 -B "$LIVE/accounting.py" err x.txt "runs=$(tail -n 1 runs)" || fail "$what: it does not add up"
  local counter
  for counter in "$@"; do
    (($(count_of "$counter") > 0)) || { missing=$counter && return 1; }
    echo "ok      $(count_of "$counter") $counter"
  done
}
beside() { python3 "$LIVE/kernel_side.py" "$recorder" "$@"; }

"$WORKLOADS/many_leaves" $FOREVER >/dev/null & leaves=$!
started+=("$leaves")
provoke 'nothing' 997 true 'stored'

python3 "$LIVE/map_hammer.py" >hammer & hammer=$!
started+=("$hammer")
wait_for test -s hammer
provoke 'map updates' 4999 true 'lost: skipped'
kill -KILL "$hammer"

provoke 'no scratch' 997 'beside claim-scratch 1' 'lost: no scratch slot'

provoke 'the process table' 997 'beside fill-processes && "$WORKLOADS/exec_storm" 0.02 100 >/dev/null' 'processes not tracked: table full'

"$WORKLOADS/end_reasons" 300 deferred >/dev/null & deferred=$!
started+=("$deferred")
provoke 'the queue' 9999 'beside stop-thread cicada-unwind 2' 'stacks not finished: queue of deferred unwinding full' 'stacks not sent: deferred unwinding rate-limited'

storm() { while true; do "$WORKLOADS/exec_storm" 0.02 200 >/dev/null || sleep 0.2; done; }
storm & started+=($!)
provoke 'the ring' 20000 'kill -STOP $recorder && let_work 4 $leaves && kill -CONT $recorder' 'lost: ring buffer full .sample' 'lost: ring buffer full .stack' \
  'stacks not sent: ring buffer full' 'lifecycle events'
