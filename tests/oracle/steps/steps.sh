#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# steps.sh ORACLE WORKLOADS: of STEPS (20,000) instructions of each program none is walked wrongly, and from at most one of 10,000 callers are missing.
set -euo pipefail
oracle=${1:?usage: steps.sh ORACLE WORKLOADS} workloads=${2:?} steps=${STEPS:-20000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
judge() {
  echo "== $*"
  "$oracle" --marker=main --steps="$steps" --wrong=0 --missed=100 "$@" >"$work/out" 2>&1 || failed=1
  grep -E 'judged|: [0-9]+$|^FAILED|^steps_oracle' "$work/out" || failed=1
}
for name in chain_gcc_O2_pie chain_clang_O0_nopie chain_gcc_Os_static exceptions signal_handler coroutines hand_written tail_calls realigned noreturn big_frame recursion lazy_binding split; do
  judge -- "$workloads/$name" 2
done
# From the first instruction on: the loader, then a static program, begin where nothing called them.
for name in chain_gcc_O2_pie chain_gcc_O2_static; do judge --marker= -- "$workloads/$name" 2; done
if grep -qw avx2 /proc/cpuinfo; then
  judge -- "$workloads/codec" 2
  # Where its functions begin only their code says.
  strip -o "$work/stripped" "$workloads/codec"
  judge --marker= --after=50 -- "$work/stripped" 20
fi
# Where a goroutine is resumed (gogo), or left (mcall), the walk ends as it should, but callers are missing: how often depends on the scheduler. Its signals, which move
# a goroutine elsewhere, are not followed by the shadow stack.
go=$("$(dirname "$0")/../../workloads/foreign/build.sh" go_work "$workloads/foreign") && status=0 || status=$?
if ((status == 0)); then
  eval "go=($go)"
  GODEBUG=asyncpreemptoff=1 GOMAXPROCS=1 judge --marker= --after=500 --missed=1000000 --worst=1000 -- "${go[@]}"
  ! grep -E ': [0-9]+$' "$work/out" | grep -v 'finished in user space: ' || failed=1
else
  echo "not judged: Go: $go"
  ((status == 77)) || failed=1
fi
exit $failed
