#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --cpu: samples of that CPU only, while another one works, too.
source "$(dirname "$0")/lib.sh"
(($(nproc) > 1)) || skip "there is one CPU only"
for cpu in 0 1; do start taskset -c $cpu "$WORKLOADS/many_leaves" $FOREVER; done
record_while_working 1 "${started[0]}" -a --cpu 0 -F 199 --include-idle -o recording.txt
(($(grep -cE '^[^[:space:]]' recording.txt) >= 100)) || fail "only $(grep -cE '^[^[:space:]]' recording.txt) samples"
! grep -E '^[^[:space:]]' recording.txt | grep -vq ' \[000\] ' || fail "samples of another CPU"
