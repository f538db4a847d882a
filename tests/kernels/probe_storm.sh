#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# probe_storm.sh SUITE: on that suite's kernel probes where the scheduler, its locks, interrupts and cicada itself pass, while threads and processes come, go and switch: no
# deadlock, no sample that leads to itself, the machine goes on. Half of the recordings are killed. Nothing is left in the kernel, and each that ended has accounted for its hits.
source "$(dirname "$0")/lib.sh"
# Code of the kernel's is patched while another CPU runs it (boot.sh).
export EMULATOR_THREADS=${EMULATOR_THREADS:-single single}
SECONDS_OF_BOOT=900 SECONDS_OF_SILENCE=300 boot '
  round() {  # NAME EVENTS…
    name=$1; shift
    cicada record -q --force --stats -a "$@" -d 4 -o $name.cicada 2>$name.err & recorder=$!
    switch_storm 4 4 >$name.storm 2>&1; storm=$?
    wait $recorder
    echo "round $name ended $? storm $storm $(cat $name.storm)"
    grep -E "does not add up|^error" $name.err
    rm -f $name.cicada
    cicada record -q --force -a "$@" -d 60 -o k.cicada 2>/dev/null & recorder=$!
    switch_storm 3 4 >/dev/null 2>&1
    kill -9 $recorder; wait $recorder 2>/dev/null
    echo "killed $?"
    rm -f k.cicada
  }
  round switches -e t:sched:sched_switch/period=10/ -e t:sched:sched_waking/period=10/ -e cpu-clock
  contention="-e t:lock:contention_begin"
  cicada record -q -a -e t:lock:contention_end -e rawtp:contention_end -d 1 -o e.cicada 2>e.err; code=$?
  [ $code != 0 ] || contention="$contention -e t:lock:contention_end/period=10/ -e rawtp:contention_end"
  echo "locks $code $(cat e.err)"
  round contention $contention
  round interrupts -e t:irq:softirq_entry/period=10/ -e t:timer:hrtimer_expire_entry/period=10/ -e t:rcu:rcu_utilization/period=10/
  round raw -e rawtp:sched_switch -e rawtp:sched_waking -e rawtp:contention_begin -e rawtp:softirq_entry
  round waits -e off-cpu -e t:sched:sched_switch/period=10/ -e rawtp:sched_switch
  round kernel -e k:try_to_wake_up/period=10,return/ -e k:schedule -e kr:ttwu_do_activate/period=10/ -e cpu-clock
  round beside -e k:vfs_read -e k:ksys_read -e f:vfs_read -e fr:ksys_read
  round functions -e f:try_to_wake_up -e fr:wake_up_process -e f:schedule -e cpu-clock
  round itself -e "u:/bin/cicada:*consume*" -e "u:/bin/cicada:*RecordPipeline::take*" -e "u:/bin/cicada:main" -e t:raw_syscalls:sys_enter/period=100/
  ours() { grep -cE "bpf_prog_[0-9a-f]*_on_" /proc/kallsyms; }
  for turn in 1 2 3 4 5 6 7 8 9 10; do [ $(ours) = 0 ] || sleep 1; done
  echo "left $(ours)"
  cicada record -q --force -F 199 -o c.cicada -- recursion 1 >/dev/null 2>c.err; echo "last $?"; cat c.err
  dmesg 2>/dev/null | grep -iE "bug:|oops:|warning:|stall|lockup|call trace|deadlock" | head -n 20
  true'
cat "$work/said"
[[ $(grep -c '^round .* ended 0 storm 0 .*switches [1-9]' "$work/said") == 9 && $(grep -c '^killed 137' "$work/said") == 9 ]] || { echo "FAILED: a recording, or the storm beside it, ended otherwise"; exit 1; }
# Locks find out who has them from Linux 6.16 on.
if [[ $suite == sid ]]; then grep -q '^locks 0' "$work/said"; else grep -q '^locks 125 .*lock:contention_end: locks are held there' "$work/said"; fi || { echo "FAILED: probes where locks are held"; exit 1; }
! grep -q 'does not add up' "$work/said" || { echo "FAILED: hits are not accounted for"; exit 1; }
grep -q '^left 0$' "$work/said" || { echo "FAILED: programs are left"; exit 1; }
grep -q '^last 0$' "$work/said" || { echo "FAILED: no recording afterwards"; exit 1; }
! grep -qiE 'bug:|oops:|warning:|stall|lockup|call trace|deadlock' "$work/said" || { echo "FAILED: the kernel complains"; exit 1; }
