#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fired = stored + idle + lost(reason), at 99 and 4,999 Hz.
source "$(dirname "$0")/lib.sh"
for rate in 99 4999; do
  "$CICADA" record -a -F $rate -d 2 --stats -o x.folded 2>err || fail "record ended with $?"
  python3 - err <<'PY' || fail "the sum is wrong at $rate Hz"
import re, sys
text = open(sys.argv[1], encoding="utf-8").read()
fired = int(re.search(r"^([0-9,]+) samples in", text, re.M)[1].replace(",", ""))
parts = {m[2]: int(m[1].replace(",", "")) for m in re.finditer(r"^ +([0-9,]+) +[0-9.]+ %  (.*)$", text, re.M)}
print(fired, parts)
sys.exit(0 if fired > 0 and sum(parts.values()) == fired else 1)
PY
done
