#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs in user, pid and mount namespaces of their own, on a file system that nobody outside can see, with a decoy under the same path
# outside; on an overlay; through a bind mount.
source "$(dirname "$0")/lib.sh"
umount_all() { umount -l "$T/overlay" "$T/bound" 2>/dev/null || true; }
at_exit umount_all
mkdir inside overlay lower upper work bound
cp "$WORKLOADS/split" inside/program # the decoy
cat >enter.sh <<'SH'
mount -t tmpfs none "$1/inside" && cp "$2" "$1/inside/program" && exec "$1/inside/program" "$3"
SH
# A process that was there before.
start unshare --user --map-root-user --mount --pid --fork --mount-proc bash enter.sh "$T" "$WORKLOADS/chain_gcc_O2_pie" $FOREVER
wait_for said_something
inner=$(pgrep -P "$pid" | head -n 1)
started+=("$inner")
[[ -n $inner ]] || fail "no process in the namespace"
[[ $(readlink "/proc/$inner/ns/pid") != $(readlink /proc/self/ns/pid) ]] || fail "not in a pid namespace"
cp out truth
record_while_working 2 "$inner" -F 997 -p "$inner" -o recording.txt
ANY_NAME=1 compare_with_truth program
# The same from the whole machine, beside processes of 20 ms in namespaces of their own, whose pids there mean others outside.
cat >many.sh <<'SH'
mount -t tmpfs none "$1/inside" && cp "$2" "$1/inside/quick" || exit 1
for ((i = 0; i < 60; i++)); do "$1/inside/quick" 0.02 >/dev/null; done
SH
begin_record -F 997 -a -o recording.txt
unshare --fork --pid --mount --mount-proc bash many.sh "$T" "$WORKLOADS/chain_gcc_O2_pie" || fail "no processes in a namespace"
end_record || fail "record ended with $?"
sed -i '/^complete/d' truth # the summary tells of the whole machine
compare_with_truth program
sed -i '/^share/d' truth # of 20 ms, some are ld.so's
WALK=short compare_with_truth quick
kill -KILL "$inner"
# One that comes while recording.
"$CICADA" record -F 997 -o recording.txt --as-root -- unshare --user --map-root-user --mount --pid --fork --mount-proc \
  bash enter.sh "$T" "$WORKLOADS/chain_gcc_O2_pie" 1 >truth 2>err || fail "record ended with $?"
# Judged is the program: its process was unshare and bash before.
awk -v RS= -v ORS='\n\n' '!/\/(unshare|bash)\)/' recording.txt >program.txt
mv program.txt recording.txt
compare_with_truth program

cp "$WORKLOADS/chain_gcc_O2_pie" lower/program
if mount -t overlay overlay -o "lowerdir=$T/lower,upperdir=$T/upper,workdir=$T/work" overlay 2>/dev/null; then
  "$CICADA" record -F 997 -o recording.txt -- "$T/overlay/program" 1 >truth 2>err || fail "record ended with $?"
  compare_with_truth program
  # An upgrade inside: copied up, another inode behind the same path.
  cp "$WORKLOADS/split" overlay/new && mv overlay/new overlay/program
  "$CICADA" record -F 997 -o recording.txt -- "$T/overlay/program" 1 >truth 2>err || fail "record ended with $?"
  compare_with_truth program
  start_workload "$T/overlay/program"
  rm overlay/program
  record_while_working 2 "$pid" -F 997 -p "$pid" -o recording.txt
  cp out truth
  compare_with_truth program
else
  echo "no overlay here"
fi
mount --bind lower bound
"$CICADA" record -F 997 -o recording.txt -- "$T/bound/program" 1 >truth 2>err || fail "record ended with $?"
compare_with_truth program
