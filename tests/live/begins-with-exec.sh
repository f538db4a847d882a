#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A command's profile has nothing of the child of cicada that it was before its exec. Twenty short programs at least: what is before is most of them
# then; as many more as give a hundred samples.
source "$(dirname "$0")/lib.sh"
samples=0
for ((i = 0; i < 20 || samples < 100 && i < 500; i++)); do
  "$CICADA" record -F 9999 -o recording.txt -- true 2>err || fail "record ended with $?"
  cat recording.txt >>all.txt
  samples=$(grep -c '^[^	]' all.txt) || true
done
((samples >= 100)) || fail "$samples samples of $i runs"
! grep -F "($(readlink -f "$CICADA"))" all.txt || fail "frames of cicada itself"
