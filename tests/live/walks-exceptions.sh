#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Exceptions in flight.
source "$(dirname "$0")/lib.sh"
record_truth -- exceptions 2

# The return to the handler itself is one sample in a thousand: seen by many samples only, of which 3 in 10,000 may be cut.
"$CICADA" record -F 9999 -o recording.txt -- "$WORKLOADS/exceptions" 3 >said 2>err || fail "record ended with $?"
echo 'complete min 99.97' >truth
LEAST= POOL= compare_with_truth exceptions
samples=$(grep -cE '^exceptions .*:$' recording.txt)
((samples >= 5000)) || fail "$samples samples are too few to see it"
