#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of a recording does not take the names of JIT code with it: they are written into the capture at intervals, and are
# there when the process and its perf map have gone.
set -euo pipefail
cicada=$(realpath "${1:?usage: $0 CICADA GENERATOR}")
command -v gcc >/dev/null && [ "$(id -u)" = 0 ] || { echo "skipped: recording needs root and gcc"; exit 77; }
dir=$(mktemp -d) jit= recorder=
trap 'kill -9 $jit $recorder 2>/dev/null || true; [ -z "$jit" ] || rm -f "/tmp/perf-$jit.map"; rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "FAILED: $1"; shift; cat "$@"; exit 1; }
cat >jit.c <<'C'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {  // push rbp; mov rbp, rsp; mov ecx, 100000000; 1: dec ecx; jnz 1b; pop rbp; ret
  static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xb9, 0x00, 0xe1, 0xf5, 0x05, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};
  void* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(page, code, sizeof code);
  char name[64];
  snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
  FILE* map = fopen(name, "w");
  fprintf(map, "%lx %zx generated_spin\n", (unsigned long)page, sizeof code);
  fclose(map);
  for (;;) ((void (*)(void))page)();
}
C
gcc -O1 -fno-omit-frame-pointer jit.c -o jit
./jit & jit=$!
"$cicada" record -q -F 199 -p "$jit" -o x.cicada 2>err & recorder=$!
named() { "$cicada" convert -q x.cicada x.folded 2>/dev/null && grep -q ';generated_spin [0-9]' x.folded; }
for ((i = 0; i < 720; i++)); do
  kill -0 "$recorder" 2>/dev/null || { echo "skipped: cannot record: $(head -1 err)"; exit 77; }
  ! named || break
  sleep 0.25
done
kill -9 "$recorder" "$jit"
wait 2>/dev/null || true
rm -f "/tmp/perf-$jit.map"
named || fail "no name in a recording that was killed" x.folded
"$cicada" report x.cicada | grep -q 'warning.*cut off' || fail "the report does not say that the recording was cut off" x.folded
echo ok
