#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# records.sh SUITE: on that suite's kernel cicada loads, walks real stacks without frame pointers, and they are what the workload said;
# `doctor` finds nothing missing. Where a library is loaded over another one, that the map has changed is seen in what this kernel's mm_struct has
# (bpf/map_version.bpf.h). Threads wait as long as they say by their own clocks, and are woken by who says so; they pass a tracepoint, and USDT probes, and call functions of theirs and the kernel's, as often and at least as long as they say. Of a user, a name, a control group only these are sampled. On a kernel that is too old (5.10): one line that says so, and `doctor` says the same.
set -euo pipefail
suite=${1:?usage: records.sh SUITE}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
((EUID == 0)) || { echo "SKIP: needs root"; exit 77; }
fail() {
  echo "FAILED: $*"
  cat "$work/said"
  exit 1
}

# Calls are timed on one thread: where each CPU of the emulator is a thread of its own, it runs stale code when two threads step over different instructions of one page (6.1
# and 6.12; never with one thread for all CPUs, nor on real CPUs).
# A step takes half a minute where two compilers run beside it.
EMULATOR_THREADS=${EMULATOR_THREADS:-multi multi multi single} SECONDS_OF_SILENCE=150 "$here/boot.sh" "$suite" '
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
  cicada record --stats -e t:syscalls:sys_enter_getppid -o calls.folded -- calls 2 2000 >calls.truth 2>calls.err; echo "record $? calls"
  cicada record --stats -e k:__x64_sys_getppid -o kernel.folded -- calls 2 2000 >kernel.truth 2>kernel.err; echo "record $? kernel"
  cicada record --stats -e "f:__task_pid_nr_ns/type==1/,fr:__task_pid_nr_ns/retval>0,type==1/,fr:ksys_write/retval>0,value=count,unit=bytes/,k:ksys_write/value=count,unit=bytes,count<65536/,rawtp:sys_enter/arg1==110/" -o places.cicada -- calls 2 2000 >kernel-places.truth 2>kernel-places.err; echo "record $? kernel-places"
  cicada convert --event f:__task_pid_nr_ns places.cicada fentry.folded
  cicada convert --event fr:__task_pid_nr_ns places.cicada fexit.folded
  cicada convert --event fr:ksys_write places.cicada written.folded
  cicada convert --event k:ksys_write places.cicada asked_to_write.folded
  cicada convert --event rawtp:sys_enter places.cicada raw.folded
  cicada record --stats -e "u:hit/value=bytes,unit=bytes,number>=0/,ur:hit/s64(retval)==-1/,u:'"$WORKLOADS"'/libhit_library.so:library_hit*" -o hits.cicada -- hits 2 2000 40 1 '"$WORKLOADS"'/libhit_library.so >hits.truth 2>hits.err; echo "record $? hits"
  cicada convert --event u:hit hits.cicada begins.folded
  cicada convert --event ur:hit hits.cicada returns.folded
  cicada convert --event "u:'"$WORKLOADS"'/libhit_library.so:library_hit*" hits.cicada library.folded
  cicada record --stats -e "usdt:usdt_hits:hits:place/value=arg1,unit=bytes/,usdt:hits:guarded/arg0>=0/" -o usdt.cicada -- usdt_hits 2 2000 40 >usdt.truth 2>usdt.err; echo "record $? usdt"
  cicada convert --event usdt:usdt_hits:hits:place usdt.cicada places.folded
  cicada convert --event usdt:hits:guarded usdt.cicada guarded.folded
  cicada record --stats -e "u:take/by=str(arg0)/,u:take_odd/by=str(arg0)/,syscalls:sys_enter_openat/by=str(filename)/" -o texts.cicada -- texts 2 800 40 >texts.truth 2>texts.err; echo "record $? texts"
  for event in take take_odd; do cicada convert --event u:$event --by group texts.cicada texts_$event.folded; done
  cicada convert --event syscalls:sys_enter_openat --by group texts.cicada texts_open.folded
  cicada record --stats -e "k:do_sys_openat2/by=str(arg1)/" -o texts_kernel.folded -- texts 2 800 40 >texts-kernel.truth 2>texts-kernel.err; echo "record $? texts-kernel"
  cicada record --stats -e u:nested/return/,u:passed/return/,u:quick/return/ -o timed.cicada -- timed_calls 1 80 >timed.truth 2>timed.err; echo "record $? timed"
  cicada convert --event u:nested/return timed.cicada nested.folded
  cicada record --stats -e k:__x64_sys_getppid/return/ -o timed-kernel.folded -- calls 2 2000 >timed-kernel.truth 2>timed-kernel.err; echo "record $? timed-kernel"
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
  true' >"$work/said" || { code=$?; cat "$work/said"; exit $code; }
awk -v directory="$work" '/^--- / { out = directory "/" $2; next } out { print > out }' "$work/said"

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
grep -q '^record 0 calls' "$work/said" || fail "record -e t:syscalls:sys_enter_getppid"
awk -v lost="$(awk '/ lost: /{ gsub(",", "", $1); n += $1 } END { print n + 0 }' "$work/calls.err")" '/;ask;/ { n += $NF } END { exit !(n + lost == 4000 && lost < 40) }' "$work/calls.folded" || fail "hits of a tracepoint are neither stored nor lost"
grep -q '^record 0 kernel' "$work/said" || fail "record -e k:__x64_sys_getppid"
awk -v lost="$(awk '/ lost: /{ gsub(",", "", $1); n += $1 } END { print n + 0 }' "$work/kernel.err")" '/;ask;/ { n += $NF } END { exit !(n + lost == 4000 && lost < 40) }' "$work/kernel.folded" || fail "calls of a function of the kernel are neither stored nor lost"
value() { awk '{ sum += $NF } END { printf "%.0f\n", sum }' "$work/$1.folded"; }
grep -q '^record 0 kernel-places' "$work/said" || fail "record -e f:… -e fr:… -e rawtp:…"
for name in fentry fexit raw; do
  awk -v lost="$(awk '/ lost: /{ gsub(",", "", $1); n += $1 } END { print n + 0 }' "$work/kernel-places.err")" '/;ask;/ { n += $NF } END { exit !(n + lost >= 4000 && n <= 4000 && lost < 40) }' "$work/$name.folded" || fail "$name: calls are neither stored nor lost"
done
! grep -h ';ask;' "$work"/{fentry,fexit,raw}.folded | grep -qE 'bpf|traceiter|trampoline' || fail "the program's own frames are in the stack"
! grep -h ';ask;' "$work"/{fentry,fexit}.folded | grep -v ';__task_pid_nr_ns [0-9]*$' || fail "a stack does not end in the function"
for name in written asked_to_write; do [[ $(value $name) == "$(wc -c <"$work/kernel-places.truth")" ]] || fail "$(value $name) bytes were $name, not $(wc -c <"$work/kernel-places.truth")"; done
grep -q '^record 0 hits' "$work/said" || fail "record -e u:hit"
said() { sed -n "s/^$1 //p" "$work/${2:-hits}.truth"; }
! awk '/ lost: ring| lost: no scratch/ { gsub(",", "", $1); n += $1 } END { exit !n }' "$work/hits.err" || fail "hits are lost, though threads pause"
[[ $(value begins) == "$(said bytes)" ]] || fail "$(value begins) bytes, the workload said $(said bytes)"
[[ $(value returns) == "$(($(said called) / 4))" ]] || fail "$(value returns) returned -1, a quarter of $(said called) does"
[[ $(value library) == "$(said library)" ]] || fail "$(value library) calls of a library, the workload said $(said library)"
grep -q '^record 0 usdt' "$work/said" || fail "record -e usdt:hits:place"
[[ $(value places) == "$(said bytes usdt)" ]] || fail "USDT probes: $(value places) bytes, the workload said $(said bytes usdt)"
[[ $(value guarded) == "$(said passed usdt)" ]] || fail "$(value guarded) passed a USDT probe with a semaphore, not $(said passed usdt)"
grep -q '^record 0 texts$' "$work/said" && grep -q '^record 0 texts-kernel$' "$work/said" || fail "record -e u:take/by=str(arg0)/"
groups() { awk '{ split($0, frame, ";"); hits[frame[1]] += $NF } END { for (text in hits) print hits[text], text }' "$work/texts_$1.folded" | sort; }
diff <(said take texts | sort) <(groups take) || fail "texts that a function is handed"
diff <(said open texts | sort) <(groups open | grep ' /no/such/') || fail "texts that a system call is handed"
groups take_odd | grep -q '^3 \[unreadable\]$' && groups take_odd | grep -q '^1 \[null\]$' || fail "texts that are not there: $(groups take_odd)"
# The kernel skips a program of a kprobe while another one runs on that CPU.
groups kernel | grep ' /no/such/' | awk '{ n += $1 } END { exit !(NR == 2 && n > 1560 && n <= 1600) }' || fail "texts that a function of the kernel is handed: $(groups kernel)"
grep -q '^record 0 timed$' "$work/said" || fail "record -e u:nested/return/"
timed() { sed -n "s/^$1 //p" "$work/timed.truth"; }
ended() { awk -v event="(u:$1/return," -v text="$2" '/ samples? in / { on = index($0, event) } on && index($0, text) { gsub(",", "", $1); n += $1 } END { print n + 0 }' "$work/timed.err"; }
for name in nested quick; do [[ $(ended $name " stored") == "$(timed $name)" ]] || fail "$(ended $name " stored") calls of $name() are timed, not $(timed $name)"; done
(($(ended passed " never returned") + $(ended passed " under way at") == $(timed left) && $(ended passed " stored") == $(timed passed) - $(timed left))) || fail "calls that exceptions and longjmp() end"
(($(value nested) >= $(timed nested_ns))) || fail "calls of nested() took $(value nested) ns, though $(timed nested_ns) were slept"
grep -q '^record 0 timed-kernel' "$work/said" || fail "record -e k:__x64_sys_getppid/return/"
awk '/ (stored|lost: |never returned|under way at)/ { gsub(",", "", $1); n += $1; stored += $0 ~ / stored/ ? $1 : 0 } END { exit !(n >= 4000 && stored >= 3900) }' "$work/timed-kernel.err" || fail "calls of a function of the kernel are not timed"
grep -q '^record 0 wakes' "$work/said" || fail "record -e off-cpu -e wakeups"
python3 "$here/../live/wakes.py" "$work/wakes.folded" "$work/wakes.truth" 0.1 || fail "somebody else woke them"
grep -q '^record 0 waiting' "$work/said" || fail "record -e off-cpu -p"
python3 "$here/../live/waits.py" --all-along "$work/waiting.folded" "$(sed -n 's/^.* waits in \([0-9.]*\) s .*/\1/p' "$work/waiting.err")" 0.15 "$work/before.txt" "$work/after.txt" ||
  fail "threads that waited all along did not wait all of the time"
grep -q '^record 0 asked' "$work/said" || fail "record --user --comm --thread-name --cgroup"
awk -v begin="recursion ($(sed -n 's/^inside //p' "$work/said"))" 'index($0, begin) != 1 { bad++ } END { exit !(NR > 0 && bad == 0) }' "$work/asked.folded" || fail "not only what was asked"
