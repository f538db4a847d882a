#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command gets its three descriptors, not cicada's others; a run time is not told to write to /tmp/perf-PID.map where the kernel lets
# planted links be followed. What a killed run left is removed by the next.
source "$(dirname "$0")/lib.sh"
echo secret >secret
exec 7<secret
"$CICADA" record -q -o x.folded -- ls /proc/self/fd >descriptors || fail "record ended with $?"
exec 7<&-
! grep -qx 7 descriptors || fail "the command got descriptor 7"

printf '#!/bin/sh\necho "$NODE_OPTIONS"\n' >node
chmod 755 node
before=$(cat /proc/sys/fs/protected_symlinks)
at_exit 'echo $before >/proc/sys/fs/protected_symlinks'
if echo 0 2>/dev/null >/proc/sys/fs/protected_symlinks; then
  bounded 600 10 "$CICADA" record -q -o x.folded -- ./node >told || fail "record ended with $?"
  [[ -z $(<told) ]] || fail "node was told: $(<told)"
fi

echo half >.x.folded.01234567.part
touch -d '1 minute ago' .x.folded.01234567.part
bounded 600 10 "$CICADA" record -q -o x.folded -- true || fail "record ended with $?"
[[ ! -e .x.folded.01234567.part ]] || fail "what a killed run left is still there"
