#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# CAP_BPF and CAP_PERFMON without root: a user records a command of his own, and the stacks are as whole as root's. What doctor says then is right.
source "$(dirname "$0")/lib.sh"
command -v setpriv >/dev/null || skip "no setpriv"
chmod 755 "$T"
cp "$CICADA" cicada
cp "$WORKLOADS/chain_gcc_O2_pie" chain
mkdir -m 777 theirs
with_both=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,+bpf,+perfmon --ambient-caps=-all,+bpf,+perfmon --bounding-set=-all,+bpf,+perfmon)
"${with_both[@]}" ./cicada doctor >doctor || true
grep -q '^limited  *privileges  *no cap_sys_ptrace: .*no cap_checkpoint_restore: .*no cap_dac_read_search: ' doctor || fail "doctor says: $(<doctor)"
grep -q 'does not work here' doctor && fail "doctor says that record does not work"
# With one of them alone it does not, and both say so.
for lone in bpf perfmon; do
  with_one=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,+$lone --ambient-caps=-all,+$lone --bounding-set=-all,+$lone)
  expect_error 125 "not permitted" "${with_one[@]}" ./cicada record -d 1 -o theirs/x.txt -- ./chain 1
  "${with_one[@]}" ./cicada doctor >doctor && fail "doctor finds nothing missing with cap_$lone alone"
  grep -q '^MISSING  *privileges' doctor || fail "cap_$lone alone: doctor says $(<doctor)"
done
"${with_both[@]}" ./cicada record -F 997 -o theirs/recording.txt -- ./chain 1 >truth 2>err || fail "record ended with $?"
[[ $(stat -c %u theirs/recording.txt) == 65534 ]] || fail "the result belongs to $(stat -c %U theirs/recording.txt)"
cp theirs/recording.txt recording.txt
sed -i '/share/d' truth
compare_with_truth chain
