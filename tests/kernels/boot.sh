#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# boot.sh SUITE COMMAND: boots that suite's kernel in an emulator (EMULATOR_CPUS, 2; no KVM: seconds), with cicada, the workloads and what they
# link in its first file system, runs COMMAND there with sh, as root, in /tmp, and prints what it printed. CICADA and WORKLOADS as in tests/live. EMULATOR_THREADS: "multi",
# "single" (QEMU's thread=), for each try. KERNEL_ARGUMENTS: more of the kernel's. SECONDS_OF_BOOT: of a try. SECONDS_OF_SILENCE: of a try in which
# COMMAND prints nothing.
set -euo pipefail
: "${CICADA:?}" "${WORKLOADS:?}" "${KERNELS:?a directory to keep kernels in}"
suite=${1:?usage: boot.sh SUITE COMMAND} command=${2:?}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$here/fetch.sh" "$suite" "$KERNELS/$suite"
work=$(mktemp -d)
emulator=
trap '[[ -z $emulator ]] || kill $emulator 2>/dev/null; rm -rf "$work"' EXIT

root=$work/root
mkdir -p "$root"/{bin,proc,sys,dev,tmp,etc,work}
chmod 1777 "$root/tmp"  # in memory as it is; a file system mounted there would hide a tree below /tmp
cp /bin/busybox "$root/bin/"
for name in sh mount cat cut dmesg grep head kill rm sleep poweroff id setpriv ifconfig; do ln -s busybox "$root/bin/$name"; done
add() {
  local file
  cp -L "$1" "$root/bin/"
  while read -r file; do
    mkdir -p "$root$(dirname "$file")"
    cp -nL "$file" "$root$file"
  done < <(ldd "$1" 2>/dev/null | sed -nE 's/^(.* => |\t)(\/.*) \(0x[0-9a-f]+\)$/\2/p')
}
add "$CICADA"
for name in chain_gcc_O2_pie recursion threads in_kernel reload waits wakes switch_storm calls hits usdt_hits timed_calls texts; do add "$WORKLOADS/$name"; done
mkdir -p "$root$WORKLOADS"
cp "$WORKLOADS"/lib{plugin_one,plugin_two,hit_library}.so "$root$WORKLOADS/"  # loaded by path
printf 'root:x:0:0::/tmp:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n' >"$root/etc/passwd"
cat >"$root/init" <<'INIT'
#!/bin/sh
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tracefs none /sys/kernel/tracing 2>/dev/null
echo 200 >/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout
echo 60 >/proc/sys/kernel/watchdog_thresh
cd /tmp
echo "=== begin"
sh /command
echo "=== end $?"
poweroff -f
INIT
chmod +x "$root/init"
echo "$command" >"$root/command"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd"

# The emulator's faults. Without cx16: cmpxchg16b leaves garbage in the flags (QEMU 7.2), and a kernel that allocates with it dies in a following interrupt.
# With a thread for each CPU, one CPU may execute what the other one has just replaced. Kernels without the tracepoint sched_exit_tp (6.1, 6.12) have a kprobe at
# finish_task_switch; arming it (and sched_switch, a jump label in __schedule) does that: a CPU jumps to 0, or takes an int3 again and again that
# is not in memory any more, with a run queue locked: "soft lockup". A shell that arms such a kprobe again and again, without cicada, sees
# both within 60 to 400 times. With one thread for both each CPU has half the speed and long turns, which judges of times do not bear. The guest's clock runs
# while the emulator waits for a CPU: a CPU is called stalled after minutes, not after 20 s. So a boot that fails is tried again, at last on one thread; then it counts.
for thread in ${EMULATOR_THREADS:-multi multi single}; do
  timeout "${SECONDS_OF_BOOT:-360}" qemu-system-x86_64 -accel tcg,thread=$thread -cpu max,-cx16 -smp "${EMULATOR_CPUS:-2}" -m 1536 -nographic -no-reboot -kernel "$KERNELS/$suite/vmlinuz" \
    -initrd "$work/initrd" -append "console=ttyS0 quiet panic=-1 oops=panic ${KERNEL_ARGUMENTS:-}" </dev/null >"$work/console" 2>&1 &
  emulator=$! said=0 silent=0
  while kill -0 $emulator 2>/dev/null; do
    sleep 1
    now=$(grep -acv '^\[ *[0-9]' "$work/console" || true)  # the kernel's own words do not count
    if ((now > said)); then said=$now silent=0; else silent=$((silent + 1)); fi
    if ((silent == ${SECONDS_OF_SILENCE:-3600})); then kill $emulator; fi
  done
  wait $emulator || true
  emulator=
  tr -d '\r' <"$work/console" >"$work/text"
  if grep -q '=== end' "$work/text"; then
    sed -n '/=== begin/,/=== end/p' "$work/text" | sed '1d;$d'
    exit "$(sed -n 's/.*=== end //p' "$work/text")"
  fi
  echo "$suite, emulated by $thread thread(s): $(grep -m 1 -E 'BUG:|Oops|RIP:|stall|lockup|panic' "$work/text" || echo 'it did not end')" >&2
done
tail -n 20 "$work/text"
echo "the kernel of $suite did not get through"
exit 1
