#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# JIT code in a process whose /tmp takes each question and answers none: its map is not waited for, neither while it is recorded nor
# at the end, and the recording ends in time.
source "$(dirname "$0")/lib.sh"
mkdir mnt
cat >inside.sh <<'EOF'
mount --make-rprivate / && cd / || exit 1
# Opened before /tmp hides them.
exec 4<"$WORKLOADS/jit_code" 5>"$T/fs.out" 6>"$T/pid"
"$WORKLOADS/hanging_fs" /tmp /bin/true >&5 2>&1 &
echo $! >&6
while ! mountpoint -q /tmp && kill -0 $!; do sleep 0.05; done
mountpoint -q /tmp || exit 77
kill -USR2 $!
exec /proc/self/fd/4 $FOREVER
EOF
export WORKLOADS T FOREVER
unshare -m bash inside.sh >program.out 2>err.inside &
victim=$!
started+=("$victim")
at_exit 'kill -KILL "$victim" $(cat pid 2>/dev/null) 2>/dev/null'
running_or_ended() { ! kill -0 "$victim" 2>/dev/null || [[ -s program.out ]]; }
wait_for running_or_ended
kill -0 "$victim" 2>/dev/null || skip "no FUSE in this kernel, or no mount namespaces"
begin_record -F 997 -p "$victim" -o recording.txt
let_work 2 "$victim"
end_record_soon "$victim"
lines=$(grep -c "/tmp/perf-.*does not answer" err || true)
[[ $lines == 1 ]] || fail "$lines lines about the file system: $(grep warning err)"
(($(grep -c "^[^	].*$victim/" recording.txt) > 500)) || fail "the program's samples are missing"
