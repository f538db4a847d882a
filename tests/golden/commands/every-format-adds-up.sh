#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One property everywhere: the total of every output equals the samples stored, and children sum to their parents. From a real
# recording of renamed threads, from names that break formats, and from nothing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cicada=$(realpath "${1:?usage: $0 CICADA GENERATOR}") generator=$(realpath "$2")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "FAILED: $1"; shift; cat "$@"; exit 1; }
formats="folded svg html json speedscope.json firefox.json.gz pb.gz pprof codeguru.json txt"

# all_formats IN NAME OPTIONS…: every output of IN as NAME.EXTENSION, and what they add up to in NAME.totals.
all_formats() {
  local in=$1 name=$2 outputs=()
  shift 2
  for format in $formats; do outputs+=("$name.$format"); done
  "$cicada" convert -q "$in" "${outputs[@]}" "$@" || fail "convert $in" /dev/null
  "$cicada" convert -q "$in" "$name.again.cicada" || fail "convert $in to .cicada" /dev/null
  "$cicada" report "$name.again.cicada" --json >"$name.report.json"
  python3 "$here/totals.py" 10101010 "${outputs[@]}" "$name.report.json" >"$name.totals" || fail "$name: $(cat "$name.totals")" /dev/null
}
# stored_everywhere NAME SAMPLES
stored_everywhere() {
  awk -v n="$2" '$2 != n { bad = 1 } END { exit bad || NR != 11 }' "$1.totals" || fail "$1: not $2 in every format" <(cut -c1-200 "$1.totals")
}

"$generator" --hostile hostile.cicada
all_formats hostile.cicada hostile
stored_everywhere hostile 20000
all_formats hostile.cicada grouped --group-by process,thread,cpu,cgroup,image
stored_everywhere grouped 20000
command -v xmllint >/dev/null && { xmllint --noout hostile.svg grouped.svg || fail "svg is not XML" /dev/null; }
"$generator" --empty empty.cicada
all_formats empty.cicada empty
stored_everywhere empty 0

command -v gcc >/dev/null && [ "$(id -u)" = 0 ] || { echo "skipped: recording needs root and gcc"; exit 77; }
cat >prog.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
static volatile unsigned sink;
static double now(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec / 1e9; }
__attribute__((noinline)) static void burn_until(double end) { while (now() < end) for (int i = 0; i < 10000; i++) sink += (unsigned)i; }
static void* work(void* unused) {
  pthread_setname_np(pthread_self(), "old-name");
  burn_until(0.4);
  pthread_setname_np(pthread_self(), "new; \"name\"");
  burn_until(1.4);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  burn_until(0.4);
  prctl(PR_SET_NAME, "boss");
  burn_until(1.4);
  return pthread_join(thread, NULL);
}
C
gcc -O1 prog.c -o prog -pthread
"$cicada" record -q -F 99 -o real.cicada -- ./prog 2>err || { echo "skipped: cannot record: $(head -1 err)"; exit 77; }
stored=$("$cicada" report real.cicada --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["header"]["samples"])')
[ "$stored" -gt 10 ] || fail "only $stored samples" err
all_formats real.cicada real --include-idle
stored_everywhere real "$stored"
all_formats real.cicada threads --group-by thread --include-idle
stored_everywhere threads "$stored"
for total in $(awk '{ print $1 }' threads.totals | grep -v report); do  # the latest names, and which thread is the main one
  line=$(grep "^$total " threads.totals)
  grep -Eq 'new; \\"name\\" \([0-9]+\)"' <<<"${line//%3B/;}" || fail "$total: no renamed worker" <(echo "$line")
  grep -Eq '"boss \([0-9]+, main\)"' <<<"$line" || fail "$total: no renamed main thread" <(echo "$line")
done
cat threads.totals
echo ok
