#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A command's profile has nothing of the child of cicada that it was before its exec. Twenty short programs: what is before is most of them then.
source "$(dirname "$0")/lib.sh"
for ((i = 0; i < 20; i++)); do
  "$CICADA" record -F 9999 -o recording.txt -- true 2>err || fail "record ended with $?"
  cat recording.txt >>all.txt
done
samples=$(grep -c '^[^	]' all.txt) || true
((samples >= 100)) || fail "$samples samples of 20 runs"
! grep -F "($(readlink -f "$CICADA"))" all.txt || fail "frames of cicada itself"
