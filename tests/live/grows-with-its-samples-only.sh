#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The recorder's memory grows with the samples that it keeps, and with nothing else: over 10,000 of them by 100 bytes for each at most (24 are the
# sample's own; a lost megabyte a second would be 1,000 at least). Counted by the CPU time of the program that is recorded.
source "$(dirname "$0")/lib.sh"
start "$WORKLOADS/chain_gcc_O2_pie" 100000
wait_for said_something
"$CICADA" record -e cpu-clock -F 997 -p "$pid" -o x.cicada 2>err &
recorder=$!
started+=("$recorder")
ticks=$(getconf CLK_TCK)
used() { awk -v ticks="$ticks" '{ sub(/.*\) /, ""); print int(1000 * ($12 + $13) / ticks) }' "/proc/$pid/stat"; }
has_used() { (($(used) >= $1)); }
memory() { awk '/^RssAnon/ { print 1024 * $2 }' "/proc/$recorder/status"; }
wait_for test -s x.cicada
wait_for has_used $(($(used) + 4000))  # what is there once: the names, the first snapshot
begin=$(used) before=$(memory)
wait_for has_used $((begin + 10000))
after=$(memory) samples=$((($(used) - begin) * 997 / 1000))
kill -INT "$recorder"
wait "$recorder" || fail "record ended with $?"
echo "$samples samples, $((after - before)) bytes more: $(((after - before) / samples)) for each"
((after - before <= 100 * samples)) || fail "$(((after - before) / samples)) bytes for each of $samples samples"
