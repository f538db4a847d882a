#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One process, three programs: each sample under the right one.
source "$(dirname "$0")/lib.sh"
"$CICADA" record -F 997 -o recording.txt -- bash -c '"$0/split" 1; exec "$0/chain_gcc_O2_pie" 1' "$WORKLOADS" >said 2>err || fail "record ended with $?"
grep -E 'hot|warm' said >truth && compare_with_truth split
grep first said >truth && compare_with_truth chain_gcc_O2_pie
