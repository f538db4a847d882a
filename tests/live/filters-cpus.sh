#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --cpu: samples of that CPU only.
source "$(dirname "$0")/lib.sh"
"$CICADA" record -a --cpu 0 -F 199 -d 1 --include-idle -o recording.txt 2>err || fail "record ended with $?"
[[ -s recording.txt ]] || fail "nothing recorded"
! grep -E '^[^[:space:]]' recording.txt | grep -vq ' \[000\] ' || fail "samples of another CPU"
