#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 1,000 levels: with main and what is before it, just within the 1,024 frames. A stack of 208 KB, and a copy to finish it from ends at 64: from exec, what
# is sampled before the mappings are in the kernel is incomplete, and nothing after the first stack that is whole.
source "$(dirname "$0")/lib.sh"
SETTLED=1 record_running -- recursion 1000
"$CICADA" record -F 997 -o all.txt -- "$WORKLOADS/recursion" 1 1000 >truth 2>err || fail "record ended with $?"
perl -00 -ne '$whole = 1 if / recurse / && !/\(incomplete: /; print if $whole' <all.txt >recording.txt
echo "$(samples_in recording.txt) of $(samples_in all.txt) samples from the first whole stack on"
(($(samples_in recording.txt) * 10 >= $(samples_in all.txt) * 9)) || fail "whole stacks begin after $(samples_in recording.txt) of $(samples_in all.txt) samples"
WALK=exec compare_with_truth recursion
