#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A set of capabilities with which recording works is not MISSING; one with which it does not is, and `record` names the same ones.
source "$(dirname "$0")/lib.sh"
chmod 777 "$T"
cp "$CICADA" cicada
with() {
  local set=-all capability
  for capability in $1; do set+=,+$capability; done
  shift
  setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps "$set" --ambient-caps "$set" "$@"
}
i=0
for set in "perfmon bpf" "perfmon bpf sys_ptrace sys_admin" "sys_admin" "perfmon bpf checkpoint_restore sys_ptrace dac_read_search"; do
  code 0 with "$set" ./cicada doctor
  lacks out.txt '^MISSING'
  code 0 with "$set" ./cicada record -q -a -d 0.2 -o $((++i)).folded
done
for set in "" "perfmon" "bpf sys_ptrace"; do
  code 1 with "$set" ./cicada doctor
  has out.txt '^MISSING  privileges'
  grep -o 'setcap.*' out.txt >remedy
  code 125 with "$set" ./cicada record -a -d 0.2 -o x.folded
  grep -qF "$(<remedy)" err.txt || fail "record names another remedy than doctor"
done
with "perfmon bpf" ./cicada doctor >out.txt
has out.txt '^limited  privileges .*no cap_sys_ptrace: mappings of other'
