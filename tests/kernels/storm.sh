#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# storm.sh SUITE SECONDS: on that suite's kernel the programs that run at every context switch survive a storm of switches, threads and processes that
# come and go, CPUs that go away and come back, two recordings at once, and cicada killed in the middle: the machine goes on, nothing is left attached.
set -euo pipefail
suite=${1:?usage: storm.sh SUITE SECONDS} seconds=${2:?}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
((EUID == 0)) || { echo "SKIP: needs root"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Recordings begin and end all the time here: code of the kernel's is patched while another CPU runs it, which the emulator's threads cannot bear (boot.sh).
export EMULATOR_THREADS="single multi"
# As a whole: bash reads a script while it runs it, and an hour is long enough to edit it.
main() {
SECONDS_OF_BOOT=$((seconds + 300)) "$here/boot.sh" "$suite" '
  i=0
  end=$(($(cut -d. -f1 /proc/uptime) + '"$seconds"'))
  while [ $(cut -d. -f1 /proc/uptime) -lt $end ]; do
    i=$((i + 1))
    switch_storm 8 4 >storm.$i 2>&1 &
    storm=$!
    cicada record -q --force -a -e off-cpu/period=100000/ -e wakeups -e cpu-clock -d 6 -o a.cicada 2>a.err & a=$!
    cicada record -q --force -a -e off-cpu -e wakeups -d 4 -o b.cicada 2>b.err & b=$!
    sleep 2
    echo 0 >/sys/devices/system/cpu/cpu1/online
    sleep 1
    echo 1 >/sys/devices/system/cpu/cpu1/online
    if [ $((i % 2)) = 0 ]; then kill -9 $a; fi
    wait $b; codes="$?"
    wait $a; codes="$codes $?"
    wait $storm
    echo "round $i codes $codes $(cat storm.$i)"
    cat a.err b.err
    rm -f storm.$i
  done
  sleep 1
  cicada record -q --force -e off-cpu -o c.cicada -- waits 1 >/dev/null; echo "last $?"
  dmesg 2>/dev/null | grep -iE "bug:|oops:|warning:|stall|lockup|call trace" | head -n 20
  true' >"$work/said" 2>&1 || { code=$?; cat "$work/said"; exit $code; }
cat "$work/said"
rounds=$(grep -c '^round' "$work/said" || true)
((rounds > 0)) || { echo "FAILED: no round"; exit 1; }
! grep '^round' "$work/said" | grep -vE 'codes 0 (0|137) switches [1-9]' || { echo "FAILED: a recording ended otherwise"; exit 1; }
grep -q '^last 0$' "$work/said" || { echo "FAILED: no recording afterwards"; exit 1; }
! grep -qiE 'bug:|oops:|warning:|stall|lockup|call trace' "$work/said" || { echo "FAILED: the kernel complains"; exit 1; }
echo "$rounds rounds"
}
main
exit
