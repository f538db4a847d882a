#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ten minutes of the whole machine (SOAK seconds) beside processes that come and go, reload code and throw: the account adds up, descriptors and threads do
# not grow, memory does not grow faster than samples do, and at its end cicada still walks, names and follows as at its beginning.
source "$(dirname "$0")/lib.sh"
seconds=${SOAK:-600}
for program in 'chain_gcc_O2_pie' 'reload' 'exceptions' 'new_tasks' 'prefork_plugins'; do
  "$WORKLOADS/$program" $((seconds + 60)) >"said.$program" &
  started+=($!)
done
storm() { while true; do "$WORKLOADS/exec_storm" 0.05 20 >/dev/null || sleep 1; sleep 1; done; }
storm &
started+=($!)
"$CICADA" record -a -e cpu-clock -F 199 -d "$seconds" --stats -o recording.txt -o recording.cicada 2>err >/dev/null &
cicada=$!
started+=("$cicada")
# DESCRIPTORS THREADS KIB-OF-MEMORY
now() { echo "$(ls "/proc/$cicada/fd" | wc -l) $(ls "/proc/$cicada/task" | wc -l) $(awk '/^VmRSS/ { print $2 }' "/proc/$cicada/status")"; }
sleep $((seconds / 5))
read -r fds threads early < <(now)
sleep $((seconds * 7 / 10))
read -r fds_late threads_late late < <(now)
wait "$cicada" || fail "record ended with $?"
echo "after a fifth: $fds descriptors, $threads threads, $early KiB; after nine tenths: $fds_late, $threads_late, $late"
((fds_late <= fds + 20 && threads_late <= threads + 4)) || fail "descriptors: $fds, then $fds_late; threads: $threads, then $threads_late"
# 4.5 times as many samples: as much memory for each at most, and what is there from the beginning once.
((late < early * 5)) || fail "memory: $early KiB, then $late KiB"
python3 -B "$LIVE/accounting.py" err recording.txt cpu-clock=199 || fail "the account does not add up"
lost=$(sed -nE 's/^ +([0-9,]+) .*  lost: (ring|no scratch|stack record).*/\1/p' err | tr -d , | awk '{ n += $1 } END { print n + 0 }')
[[ $lost == 0 ]] || fail "$lost samples were lost to full rings"
last_third=$(grep -nE '^[^[:space:]].*: [0-9]+ [^[:space:]]+:$' recording.txt | awk -F: '{ line[NR] = $1 } END { print line[int(NR * 2 / 3) + 1] }')
tail -n +"$last_third" recording.txt >late.txt
mv late.txt recording.txt
for program in chain_gcc_O2_pie exceptions; do
  grep -v '^share\|^complete' "said.$program" >truth
  compare_with_truth $program
done
