#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# -c N: a sample every N units, and each is worth N. Of page faults one by one counted by the workload; of the clock by its time on a CPU.
source "$(dirname "$0")/lib.sh"
"$CICADA" record -e page-faults -c 7 -o x.folded -o x.txt -- "$WORKLOADS/faults" 1 >out 2>err || fail "record -c 7 ended with $?"
grep -q '(page-faults, every 7, ' err || fail "the summary does not say every 7"
touched=$(sed -n 's/^touched //p' out)
faults=$(awk '/;touch /{sum += $NF} END {print sum + 0}' x.folded)
# Each seventh of a CPU's faults, others' among them: a binomial's four standard deviations, and one a CPU at its ends.
awk -v n="$touched" -v k="$faults" -v cpus="$(nproc)" 'BEGIN { d = k - n; if (d < 0) d = -d; exit !(n > 1000 && d <= 4 * sqrt(6 * n) + 7 * cpus) }' ||
  fail "$faults page faults in touch(), which touched $touched pages"
[[ $(grep -c ' page-faults:' x.txt) == $(grep -c ' 7 page-faults:' x.txt) ]] || fail "a sample is not worth 7"

"$CICADA" record -e cpu-clock -c 2000000 --stats -o x.txt -- bash -c "time '$WORKLOADS/split' 1" >out 2>err || fail "record -c ended with $?"
grep -q '(cpu-clock, every 2,000,000, ' err || fail "the summary does not say every 2,000,000"
python3 -B - "$LIVE" <<'PY' || fail "-c 2000000 does not sample every 2 ms"
import re, sys
sys.path.insert(0, sys.argv[1])
import accounting
text = open("err").read()
used = sum(60 * int(m) + float(s) for m, s in re.findall(r"^(?:user|sys)\t(\d+)m([0-9.]+)s", text, re.M))
samples = sum(1 for line in open("x.txt") if re.match(r"split .* 2000000 \S+:$", line))
account, = accounting.read_accounts(text)
lost = sum(value for name, value in account.outcomes.items() if name.startswith("lost"))
print(f"{samples} samples of 2 ms in {used:.3f} s, {lost} lost on any CPU")
# What the program ran before its first timer and after its last: a sample a CPU and a migration at most, 3 %.
sys.exit(not (used > 0.4 and -lost - 0.03 * used * 500 - 5 <= samples - used * 500 <= 0.03 * used * 500 + 5))
PY
