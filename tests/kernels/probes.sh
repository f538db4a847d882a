#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# probes.sh SUITE: on that suite's kernel threads pass tracepoints and USDT probes, and call functions of theirs and the kernel's, as often, with the numbers and texts, and at
# least as long as they say.
source "$(dirname "$0")/lib.sh"

# Calls are timed on one thread: where each CPU of the emulator is a thread of its own, it runs stale code when two threads step over different instructions of one page (6.1
# and 6.12; never with one thread for all CPUs, nor on real CPUs). What nearly all hits must be stored of has one thread, too: while a program is preempted the kernel
# skips others on that CPU (it says so), and in an emulator that gets little CPU time that is most of the time.
EMULATOR_THREADS=${EMULATOR_THREADS:-multi multi multi single} SECONDS_OF_SILENCE=150 boot '
  cicada record --stats -e t:syscalls:sys_enter_getppid -o calls.folded -- calls 1 4000 >calls.truth 2>calls.err; echo "record $? calls"
  cicada record --stats -e k:__x64_sys_getppid -o kernel.folded -- calls 1 4000 >kernel.truth 2>kernel.err; echo "record $? kernel"
  cicada record --stats -e "f:__task_pid_nr_ns/type==1/,fr:__task_pid_nr_ns/retval>0,type==1/,fr:ksys_write/retval>0,value=count,unit=bytes/,k:ksys_write/value=count,unit=bytes,count<65536/,rawtp:sys_enter/arg1==110/" -o places.cicada -- calls 1 4000 >kernel-places.truth 2>kernel-places.err; echo "record $? kernel-places"
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
  cicada record --stats -e k:__x64_sys_getppid/return/ -o timed-kernel.folded -- calls 1 4000 >timed-kernel.truth 2>timed-kernel.err; echo "record $? timed-kernel"
  for file in *.folded *.truth *.err; do echo "--- $file"; cat $file; done
  true'

grep -q '^record 0 calls' "$work/said" || fail "record -e t:syscalls:sys_enter_getppid"
awk -v lost="$(awk '/ lost: /{ gsub(",", "", $1); n += $1 } END { print n + 0 }' "$work/calls.err")" '/;ask;/ { n += $NF } END { exit !(n + lost == 4000 && lost < 40) }' "$work/calls.folded" || fail "hits of a tracepoint are neither stored nor lost"
grep -q '^record 0 kernel' "$work/said" || fail "record -e k:__x64_sys_getppid"
awk -v lost="$(awk '/ lost: /{ gsub(",", "", $1); n += $1 } END { print n + 0 }' "$work/kernel.err")" '/;ask;/ { n += $NF } END { exit !(n + lost == 4000 && lost < 40) }' "$work/kernel.folded" || fail "calls of a function of the kernel are neither stored nor lost"
value() { awk '{ sum += $NF } END { printf "%.0f\n", sum }' "$work/$1.folded"; }
grep -q '^record 0 kernel-places' "$work/said" || fail "record -e f:… -e fr:… -e rawtp:…"
# A kernel that preempts programs (the newest) skips a program while another one of its kind, of any task, is preempted on that CPU, and counts it: how many is not cicada's to say.
lost_of() { awk -v event="($2," '/ samples? in / { on = index($0, event) } on && / lost: / { gsub(",", "", $1); n += $1 } END { print n + 0 }' "$work/$1.err"; }
for place in fentry=f:__task_pid_nr_ns fexit=fr:__task_pid_nr_ns raw=rawtp:sys_enter; do
  awk -v lost="$(lost_of kernel-places "${place#*=}")" '/;ask;/ { n += $NF } END { exit !(n + lost >= 4000 && n <= 4000 && n > 2000) }' "$work/${place%=*}.folded" ||
    fail "${place#*=}: calls are neither stored nor lost"
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
awk -v lost="$(lost_of texts syscalls:sys_enter_openat)" 'NR == FNR { said[$2] = $1; left += $1; next } { if (!($2 in said) || $1 > said[$2]) wrong++; left -= $1 } END { exit !(left <= lost && !wrong) }' \
  <(said open texts) <(groups open | grep ' /no/such/') || fail "texts that a system call is handed"
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
