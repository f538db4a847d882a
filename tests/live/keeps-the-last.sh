#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --last: a recording that waits for something to happen has the last seconds when it is ended, in every output, and its file does not grow.
source "$(dirname "$0")/lib.sh"

# SAMPLES KEPT-SECONDS of a recording's own words.
told() { "$CICADA" report "$1" | awk '/^samples / { gsub(",", ""); samples = $2 } /only the last/ { last = $5 } END { print samples + 0, last + 0 }'; }

start "$WORKLOADS/switch_storm" 27 2
storm=$pid
"$CICADA" record -q --force -e off-cpu/period=100000/ --children -p "$storm" --last 2s -o last.cicada -o last.folded -d 24 & recorder=$!
largest=0 small=0
for _ in $(seq 88); do
  sleep 0.25
  size=$(stat -c %s last.cicada 2>/dev/null || echo 0)
  ((size >= largest)) || small=1
  ((size <= largest)) || largest=$size
done
wait "$recorder" || fail "record --last ended with $?"
wait "$storm" || fail "the storm ended with $?"
read -r samples seconds < <(told last.cicada)
((samples > 1000)) || fail "$samples samples only"
((seconds >= 2 && seconds <= 6)) || fail "the last $seconds seconds are kept, of 2 that were asked for"
((small == 1)) || fail "the file has only grown, to $largest bytes"
! "$CICADA" report last.cicada | grep -q 'are there' || fail "the file calls itself incomplete"
kept=$("$CICADA" convert --event off-cpu last.cicada - | awk '{n += $NF} END {printf "%.0f", n}')
written=$(awk '{n += $NF} END {printf "%.0f", n}' last.folded)
[[ $kept == "$written" ]] || fail "last.folded has $written ns, the recording $kept"

echo "$samples samples of the last $seconds s; the file had $largest bytes at most"
