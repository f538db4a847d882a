#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Assembly without call-frame information in a program that has it.
source "$(dirname "$0")/lib.sh"
grep -qw avx2 /proc/cpuinfo || skip "this CPU has no AVX2"
record_truth -- codec 2
# An eighth of the samples are in a helper that leaves alone the register in which its caller has its stack pointer. The kernel's walk knows that.
"$CICADA" record -F 997 --stats -o codec.cicada "$WORKLOADS/codec" 2 >out.txt 2>stats.txt || fail "record: $(<stats.txt)"
"$CICADA" report codec.cicada >report.txt
grep -qE '^complete   (100|99\.9[0-9]*) % of [0-9,]+ user stacks$' report.txt || fail "$(grep complete report.txt)"
finished=$(sed -nE 's/^ *([0-9,]+) +finished in user space$/\1/p' stats.txt | tr -d ,)
stored=$(sed -nE 's/^samples +([0-9,]+)$/\1/p' report.txt | tr -d ,)
((stored > 100 && ${finished:-0} * 16 < stored)) || fail "${finished:-0} of $stored stacks were finished in user space"
