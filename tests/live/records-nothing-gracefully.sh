#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A target that sleeps: zero samples, a warning, empty outputs, exit code 0.
source "$(dirname "$0")/lib.sh"
"$CICADA" record -d 0.5 -o x.folded -o x.svg -- sleep 0.4 2>err || fail "record ended with $?"
[[ -e x.folded && -s x.svg ]] || fail "an output is missing"
start sleep infinity
sleeps() { [[ $(<"/proc/$pid/comm") == sleep ]] && grep -q '^State:.*S' "/proc/$pid/status"; }
wait_for sleeps
"$CICADA" record -d 0.5 -p "$pid" -o y.folded 2>err || fail "record -p ended with $?"
grep -q 'no samples' err || fail "no word about the empty recording"
[[ -e y.folded ]] || fail "no output"
