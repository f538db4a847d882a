#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# CPU seconds are the scheduler's; what the hypervisor stole is called so and is no more than the kernel says; idle time of another CPU is no loss.
source "$(dirname "$0")/lib.sh"
compiled busy <<'C'
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
int main(void) {
  struct timespec now;
  struct rusage used;
  do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  while (now.tv_sec + now.tv_nsec * 1e-9 < 2);
  getrusage(RUSAGE_SELF, &used);
  printf("%f\n", used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6);
}
C
# The ticks of each CPU: the kernel cuts their sum, on the line "cpu", by itself, so it may be a tick short of them.
stolen() { awk '/^cpu[0-9]/ { ticks += $9 } END { print ticks * 1000 / '"$(getconf CLK_TCK)"' }' /proc/stat; }
before=$(stolen)
"$CICADA" record -F 997 --stats -o x.cicada -- ./busy >said 2>err.txt || fail "record ended with $?"
after=$(stolen)
code 0 "$CICADA" report x.cicada --json
python3 - "$(<said)" "$before" "$after" <<'PY' || fail "the recording contradicts the scheduler"
import json, os, sys
used, stolen_ms = float(sys.argv[1]), float(sys.argv[3]) - float(sys.argv[2])
header = json.load(open("out.txt"))["header"]
assert abs(header["cpu_ns"] / 1e9 - used) < 0.02 * used + 0.01, (header["cpu_ns"], used)
outcome = lambda word: sum(v for k, v in header["outcomes"].items() if word in k)
assert outcome("stolen") <= stolen_ms * 0.997, (outcome("stolen"), stolen_ms)
missing = used * 997 - outcome("stored")
warned = any("has no samples" in w for w in header["warnings"])
assert warned or missing < 0.02 * used * 997 + 3 * (used * 997) ** 0.5, missing
lost = outcome("lost: skipped")  # idle time is known to a tick at its two ends, on each CPU; how much of a tick is lost is the machine's affair
assert sum(header["outcomes"].values()) == header["fired"], header
print("lost for an unknown reason:", lost, "stolen:", outcome("stolen"), "stored:", outcome("stored"), "of", round(used * 997))
PY
lacks err.txt 'another BPF program'
