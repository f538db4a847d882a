#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# storm.sh SUITE SECONDS [LENGTH]: on that suite's kernel the programs that run at every context switch survive a storm of switches, threads and processes
# that come and go, CPUs that go away and come back, two recordings at once of twice LENGTH (60) seconds and half of it, and cicada killed in the middle: the
# machine goes on, and no program of cicada's is left in the kernel. The storm begins when both recordings are attached, and ends with the shorter one: what
# is loaded or written during it takes the emulator many minutes.
source "$(dirname "$0")/lib.sh"
seconds=${2:?usage: storm.sh SUITE SECONDS [LENGTH]} length=${3:-60}
# Where recordings begin and end all the time, code of the kernel's is patched while another CPU runs it, which the emulator's threads cannot bear (boot.sh).
# Those that last are emulated by two.
export EMULATOR_THREADS=${EMULATOR_THREADS:-single single}
# As a whole: bash reads a script while it runs it, and an hour is long enough to edit it.
main() {
SECONDS_OF_BOOT=$((seconds + 2 * length + 300)) boot '
  length='"$length"'
  # How many programs at switches that process has attached.
  attached() { cat /proc/$1/fdinfo/* 2>/dev/null | grep -cE "^link_type:.(tracing|raw_tracepoint)"; }
  i=0
  end=$(($(cut -d. -f1 /proc/uptime) + '"$seconds"'))
  while [ $(cut -d. -f1 /proc/uptime) -lt $end ]; do
    i=$((i + 1))
    case $((i % 3)) in
      0) what="-e wakeups -e cpu-clock" ;;
      1) what="--kernel-threads -e wakeups" ;;
      2) what="--user nobody --comm switch_storm --cpu 0" ;;
    esac
    begun=$(cut -d. -f1 /proc/uptime)
    cicada record -q --force -a -e off-cpu/period=100000/ $what -d $((2 * length)) -o a.cicada 2>a.err & a=$!
    cicada record -q --force -a -e off-cpu -e wakeups -d $((length / 2)) -o b.cicada 2>b.err & b=$!
    tries=0
    while { [ $(attached $a) = 0 ] || [ $(attached $b) = 0 ]; } && [ $tries -lt 600 ]; do tries=$((tries + 1)); sleep 0.2; done
    before="$(attached $a)+$(attached $b)"
    storm_begun=$(cut -d. -f1 /proc/uptime)
    while [ ! -e over.$i ]; do switch_storm 5 4 >>storm.$i 2>&1; done &
    storm=$!
    turn=0
    while [ $turn -lt $((length / 6)) ] && [ $(attached $b) != 0 ]; do
      turn=$((turn + 1))
      sleep 2
      echo 0 >/sys/devices/system/cpu/cpu1/online
      sleep 1
      echo 1 >/sys/devices/system/cpu/cpu1/online
      sleep 2
    done
    after=$(attached $a)
    if [ $((i % 2)) = 1 ]; then kill -9 $a; fi  # the first one, too: a short storm has only one round
    true >over.$i
    wait $storm
    storm_ended=$(cut -d. -f1 /proc/uptime)
    wait $b; codes="$?"
    wait $a; codes="$codes $?"
    echo "round $i codes $codes attached $before, at the end $after, from $begun, storm from $storm_begun to $storm_ended, until $(cut -d. -f1 /proc/uptime) s:" $(cat storm.$i)
    cat a.err b.err
    rm -f storm.$i over.$i
  done
  ours() { grep -cE "bpf_prog_[0-9a-f]*_on_(switch|waking|schedule_exit|finish_task_switch|each_task|each_thread_time|thread_exit|thread_free)" /proc/kallsyms; }
  for turn in 1 2 3 4 5 6 7 8 9 10; do [ $(ours) = 0 ] || sleep 1; done
  echo "left $(ours)"
  cicada record -q --force -e off-cpu -o c.cicada -- waits 1 >/dev/null; echo "last $?"
  dmesg 2>/dev/null | grep -iE "bug:|oops:|warning:|stall|lockup|call trace" | head -n 20
  true'
cat "$work/said"
rounds=$(grep -c '^round' "$work/said" || true)
((rounds > 0)) || { echo "FAILED: no round"; exit 1; }
! grep '^round' "$work/said" | grep -vE 'codes 0 (0 attached [1-9][0-9]*\+[1-9][0-9]*, at the end [0-9]|137 attached [1-9][0-9]*\+[1-9][0-9]*, at the end [1-9]).* switches [1-9]' || { echo "FAILED: a recording ended otherwise, or was not attached during the storm"; exit 1; }
grep -q '^left 0$' "$work/said" || { echo "FAILED: programs are left"; exit 1; }
grep -q '^last 0$' "$work/said" || { echo "FAILED: no recording afterwards"; exit 1; }
! grep -qiE 'bug:|oops:|warning:|stall|lockup|call trace' "$work/said" || { echo "FAILED: the kernel complains"; exit 1; }
echo "$rounds rounds"
}
main "$@"
exit
