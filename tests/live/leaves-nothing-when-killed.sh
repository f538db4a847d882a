#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Killed in a storm of context switches, while it attaches and while it records, offcpu leaves nothing: its processes end, its BPF programs, links and maps
# go, the storm goes on, and the next recording works. The kernel frees BPF objects later than the descriptors: ten seconds are allowed.
source "$(dirname "$0")/lib.sh"
family() {
  local child
  echo "$1"
  for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do family "$child"; done
}
# The BPF objects of which the process has descriptors: "prog ID", "map ID", "link ID".
held_by() { cat "/proc/$1/fdinfo/"* 2>/dev/null | awk '/^(prog|map|link)_id:/ { sub("_id:", " "); print $1, $2 }' | sort -u || true; }
attaches_or_ended() { held_by "$recorder" | grep '^link' >/dev/null || recorder_ended; }
# All that the kernel has, of everybody.
bpf_objects() {
  PYTHONPATH=$LIVE/../runner python3 -B -c 'import machine; [print(kind, number) for kind in ("prog", "map", "link") for number in machine.bpf_objects(kind)]' | sort -u
}
gone() { [[ -z $(comm -12 held <(bpf_objects)) ]]; }
family_gone() {
  local one
  for one in $processes; do [[ ! -e /proc/$one ]] || return 1; done
}

# kill_when CONDITION: in a storm; a longer one if it was over too soon.
kill_when() {
  local seconds storm during begin
  for seconds in 5 20 80; do
    start "$WORKLOADS/switch_storm" $seconds 2
    storm=$pid
    "$CICADA" offcpu -q --force --wakers=2 -a -o x.cicada 2>err &
    recorder=$!
    started+=("$recorder")
    wait_for "$1"
    held_by "$recorder" >held
    gone && fail "$1: nothing is attached, or it cannot be seen"
    processes=$(family "$recorder")
    during=
    ! kill -0 "$storm" 2>/dev/null || during=1
    kill_and_wait "$recorder"
    begin=$EPOCHREALTIME
    until family_gone && gone; do
      ((${EPOCHREALTIME/./} - ${begin/./} < 10000000)) || fail "$1: left $(comm -12 held <(bpf_objects) | xargs) of BPF, of processes $(ps -o pid=,comm= -p "${processes//$'\n'/,}" | xargs)"
      sleep 0.05
    done
    echo "$1: $(wc -l <held) BPF objects and $(wc -w <<<"$processes") processes were gone after $(((${EPOCHREALTIME/./} - ${begin/./}) / 1000)) ms"
    wait "$storm" || fail "the storm ended with $?"
    grep -q '^switches [1-9]' out || fail "no switches"
    [[ -z $during ]] || return 0
  done
  fail "$1: no storm was long enough"
}
records_or_ended() { samples_or_ended && { recorder_ended || has_used 300 "$recorder"; }; }
kill_when attaches_or_ended
kill_when records_or_ended
"$CICADA" offcpu -q --force --wakers=2 -o x.cicada -- "$WORKLOADS/waits" 1 >out 2>err || fail "the next recording ended with $?"
