#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fired = stored + idle + lost(reason), at 99 and 4,999 Hz, beside a program that hammers BPF map updates (during which the kernel
# skips sampling programs). fired is held against the clock, stored against the samples that were written.
source "$(dirname "$0")/lib.sh"
start python3 "$LIVE/map_hammer.py"
wait_for said_something
for rate in 99 4999; do
  "$CICADA" record -a -e cpu-clock -F $rate -d 2 --stats -o x.txt 2>err || fail "record ended with $?"
  python3 -B "$LIVE/accounting.py" err x.txt cpu-clock=$rate || fail "sample accounting is wrong at $rate Hz"
done
