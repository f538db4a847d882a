#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# More assembly without call-frame information than is read at once: it is read in pieces, while the first stacks wait. Stripped of its symbols, too.
source "$(dirname "$0")/lib.sh"
record_truth -- large_codec 2
strip -o large "$WORKLOADS/large_codec"
"$CICADA" record -F 997 --stats -o large.cicada ./large 2 >out.txt 2>stats.txt || fail "record: $(<stats.txt)"
"$CICADA" report large.cicada >report.txt
grep -qE '^complete   (100|99\.9[0-9]*) % of [0-9,]+ user stacks$' report.txt || fail "stripped: $(grep complete report.txt)"
# Read they are, and the kernel's table is a newer one then: what is left to user space is the first samples of each piece.
finished=$(sed -nE 's/^ *([0-9,]+) +finished in user space$/\1/p' stats.txt | tr -d ,)
stored=$(sed -nE 's/^samples +([0-9,]+)$/\1/p' report.txt | tr -d ,)
((finished > 0)) || fail "nothing was finished in user space: the code was read at once"
((finished * 4 < stored)) || fail "$finished of $stored stacks were finished in user space"
