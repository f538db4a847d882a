#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program without a path.
source "$(dirname "$0")/lib.sh"
"$CICADA" record -F 997 -o recording.txt -- "$WORKLOADS/memfd_exec" 1 "$WORKLOADS/chain_gcc_O2_static" >truth 2>err || fail "record ended with $?"
python3 "$LIVE/truth.py" recording.txt err truth || fail "the recording contradicts the truth"
