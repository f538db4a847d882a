#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# records.sh SUITE: on that suite's kernel cicada loads, walks real stacks without frame pointers, and they are what the workload said;
# `doctor` finds nothing missing. Where a library is loaded over another one, that the map has changed is seen in what this kernel's mm_struct has
# (bpf/map_version.bpf.h). Threads wait as long as they say by their own clocks, and are woken by who says so. Of a user, a name, a control group only these are sampled. On a kernel that is too old (5.10): one line that says so, and `doctor` says the same.
source "$(dirname "$0")/lib.sh"

# A step takes half a minute where two compilers run beside it.
SECONDS_OF_SILENCE=150 boot '
  cicada doctor >doctor; echo "doctor $?"
  for name in chain_gcc_O2_pie recursion in_kernel; do
    for seconds in 2 6 18; do  # an emulator that gets little CPU time loses interrupts, but not those of the first moments
      rm -f $name.txt
      cicada record -F 199 -o $name.txt -- $name $seconds >$name.truth 2>$name.err
      code=$?
      [ $code = 0 ] && grep -q "has no samples" $name.err && [ $(grep -c "^[a-z]" $name.txt) -lt 1000 ] || break
    done
    echo "record $code $name"
  done
  cicada record -F 199 --stats -o reload.txt -- reload 8 mapping >reload.truth 2>reload.err; echo "record $? reload"
  cicada record --stats -e off-cpu/period=1000000/ -o waits.folded --by thread,state -- waits 3 >waits.truth 2>waits.err; echo "record $? waits"
  ifconfig lo up
  cicada record --stats -e off-cpu/period=10000000/ -e wakeups -o wakes.cicada -- wakes 8 10000000 20 >wakes.truth 2>wakes.err; echo "record $? wakes"
  cicada convert --event wakeups --by thread,state wakes.cicada wakes.folded
  waits 600 >/dev/null & pid=$!
  until [ $(cat /proc/$pid/task/*/comm | grep -c -e "^stays" -e "^computes") = 5 ]; do sleep 0.1; done; sleep 1
  ran() { for thread in /proc/$pid/task/*; do echo "$(cat $thread/comm) $(cut -d" " -f1 $thread/schedstat)"; done; }
  ran >before.txt
  cicada record --stats -e off-cpu/period=1000000/ -p $pid -d 3 -o waiting.folded --by thread,state 2>waiting.err; echo "record $? waiting"
  ran >after.txt
  kill $pid
  mount -t cgroup2 none /sys/fs/cgroup && mkdir -p /sys/fs/cgroup/one/two
  sh -c "echo 0 >/sys/fs/cgroup/one/two/cgroup.procs; exec recursion 600" >/dev/null & inside=$!
  recursion 600 >/dev/null & outside=$!
  sleep 1
  cicada record -F 199 --user 0 --comm "rec*" --thread-name recursion --cgroup one -d 2 -o asked.folded --by process 2>asked.err; echo "record $? asked"
  echo "inside $inside"
  kill $inside $outside
  setpriv --nnp true 2>/dev/null
  for file in doctor *.txt *.folded *.truth *.err; do echo "--- $file"; cat $file; done
  true'

if grep -q '^ok  *kernel  *5\.\|^MISSING *kernel' "$work/doctor"; then
  grep -q '^doctor 1$' "$work/said" && grep -q '^MISSING .*kernel' "$work/doctor" || fail "doctor does not say that this kernel is too old"
  grep -q '^record 125' "$work/said" || fail "record's exit code"
  [[ $(wc -l <"$work/chain_gcc_O2_pie.err") == 1 ]] && grep -q 'is too old: .* 6\.1 or newer' "$work/chain_gcc_O2_pie.err" || fail "not the message"
  cat "$work/chain_gcc_O2_pie.err"
  exit 0
fi
grep '^ok *kernel' "$work/doctor"
grep -q '^doctor 0$' "$work/said" || fail "doctor finds something missing"
for name in chain_gcc_O2_pie recursion in_kernel; do
  sed -i '/^share /d' "$work/$name.truth"  # emulated page faults take more than a workload's share allows for
  grep -q "^record 0 $name" "$work/said" || fail "record -- $name"
  python3 "$here/../live/truth.py" "$work/$name.txt" "$work/$name.err" "$work/$name.truth" "$name" || fail "$name: the recording contradicts the truth"
done
grep -q '^record 0 reload' "$work/said" || fail "record -- reload"
grep '^only' "$work/reload.truth" >"$work/reload.only" || fail "reload said nothing"
python3 "$here/../live/truth.py" "$work/reload.txt" "$work/reload.err" "$work/reload.only" reload || fail "a library's functions while the other one was there"
awk '/mappings had changed since/ { n = $1 } END { exit !(n > 0) }' "$work/reload.err" || fail "no walk was left to user space because the map had changed"
grep -q '^record 0 waits' "$work/said" || fail "record -e off-cpu"
python3 "$here/../live/waits.py" "$work/waits.folded" "$work/waits.truth" 0.04 0.25 || fail "threads waited longer, or elsewhere"
grep -q '^record 0 wakes' "$work/said" || fail "record -e off-cpu -e wakeups"
python3 "$here/../live/wakes.py" "$work/wakes.folded" "$work/wakes.truth" 0.1 || fail "somebody else woke them"
grep -q '^record 0 waiting' "$work/said" || fail "record -e off-cpu -p"
python3 "$here/../live/waits.py" --all-along "$work/waiting.folded" "$(sed -n 's/^.* waits in \([0-9.]*\) s .*/\1/p' "$work/waiting.err")" 0.15 "$work/before.txt" "$work/after.txt" ||
  fail "threads that waited all along did not wait all of the time"
grep -q '^record 0 asked' "$work/said" || fail "record --user --comm --thread-name --cgroup"
awk -v begin="recursion ($(sed -n 's/^inside //p' "$work/said"))" 'index($0, begin) != 1 { bad++ } END { exit !(NR > 0 && bad == 0) }' "$work/asked.folded" || fail "not only what was asked"
