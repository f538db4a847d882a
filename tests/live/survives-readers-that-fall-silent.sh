#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Files of /proc that do not answer, as those of a process that keeps the lock of its memory: here the children that read them are stopped.
# Others take their place, nobody's code is lost for it, the ring is emptied all along, and the end waits for none of them.
source "$(dirname "$0")/lib.sh"
start_workload chain_gcc_O2_pie
first=$pid
stopped=()
stop_readers() {
  local reader
  for reader in $(cat /proc/"$recorder"/task/*/children); do
    if [[ $(cat /proc/"$reader"/comm) == cicada-proc ]]; then
      kill -STOP "$reader"
      stopped+=("/proc/$reader/status")
    fi
  done
}
begin_record -a -F 997 --stats -o recording.txt
let_work 1 "$first"
stop_readers
((${#stopped[@]} > 0)) || fail "no children read /proc"
start_workload chain_gcc_O2_pie
let_work 3 "$pid"
stop_readers
end_record_soon "$pid"
unanswered=$(sed -nE 's/.* ([0-9]+) files of \/proc without an answer.*/\1/p' err)
((unanswered > 0)) || fail "nobody waited for a reader that was stopped"
awk '/ring drained/ { drained = 1; sub(/.*longest gap /, ""); if ($1 > 500) exit 1 } END { exit !drained }' err || fail "the loop waited: $(grep 'ring drained' err)"
for program in "$first" "$pid"; do
  (($(grep -c "^chain_gcc_O2_pi $program/$program \[" recording.txt) > 500)) || fail "samples of process $program are missing"
done
all_ended() { ! grep -qsE '^State:.[^XZ]' "${stopped[@]}"; }
wait_for all_ended
