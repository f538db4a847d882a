#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kernel threads are processes with a name, as ps shows them. The kernel writes the pages of a file back in one of its workers.
source "$(dirname "$0")/lib.sh"

start bash -c 'while dd if=/dev/zero of=pages bs=1M count=16 conv=fsync 2>&1; do :; done'
kernel_thread_seen() {
  "$CICADA" record -q -a -F 999 -d 1 -o recording.cicada 2>err || fail "record ended with $?"
  "$CICADA" report --by process --json recording.cicada >report.json
  grep -qE '"(kworker|ksoftirqd|rcu_|jbd2|kswapd|kthreadd)' report.json
}
wait_for kernel_thread_seen
! grep -qF '[unknown] (' report.json || fail "a process without a name: $(grep -F '[unknown] (' report.json | head -3)"
