#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Above the kernel's limit: lowered, said so, and recorded.
source "$(dirname "$0")/lib.sh"
limit=$(</proc/sys/kernel/perf_event_max_sample_rate)
"$CICADA" record -F $((limit * 10)) --cpu 0 -o x.folded -- sleep 0.1 2>err || fail "record ended with $?"
grep -q "lowered to $limit" err || fail "no word about the limit $limit"
[[ -e x.folded ]] || fail "nothing recorded"
