#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ctrl-C once: the recording ends, the results are written.
source "$(dirname "$0")/lib.sh"
start "$WORKLOADS/chain_gcc_O2_pie" 30
wait_for 10 said_something
cp out truth
"$CICADA" record -F 997 -p "$pid" -o recording.txt -o flame.svg >/dev/null 2>err &
cicada=$!
started+=("$cicada")
sleep 2 # the only way to know that it samples is to let it
kill -INT "$cicada"
code=0
wait "$cicada" || code=$?
[[ $code == 0 ]] || fail "exit code $code"
[[ -s flame.svg ]] || fail "no flame graph"
compare_with_truth chain_gcc_O2_pie
