#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The disk under the only output is full: what was recorded is in $TMPDIR, and it is said where.
source "$(dirname "$0")/lib.sh"
mkdir full elsewhere
mount -t tmpfs -o size=4k tmpfs full || skip "no tmpfs"
head -c 99999 /dev/zero >full/filler 2>/dev/null || true
at_exit 'umount "$T/full" 2>/dev/null'
for output in full/x.cicada full/x.html; do
  code 125 env TMPDIR="$T/elsewhere" "$CICADA" record -F 997 -o "$output" -- "$WORKLOADS/split" 0.5
  has err.txt 'no space left'
  saved=$(grep -o 'elsewhere/cicada-[0-9]*\.cicada' err.txt) || fail "it is not said where the recording is"
  code 0 "$CICADA" report "$saved"
  has out.txt 'samples +[1-9]'
  [[ $(ls -A full) == filler ]] || fail "something is left on the full disk"
done
