#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A process in a mount namespace of its own, which is gone when the recording ends: its program and debug file exist only in there (a
# tmpfs), and so does its perf map, in a /tmp of its own, written as CPython 3.12 -X perf does (Debian 12 has 3.11).
source "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "no compiler"
cat >hidden.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
__attribute__((always_inline)) static inline unsigned folded_in(unsigned x) { return x * 2654435761u + (x >> 7); }
__attribute__((noinline)) static unsigned only_the_debug_file_knows(unsigned x) {
  for (int i = 0; i < 60; i++) {  // of the loop's instructions nearly all are the inlined function's
#pragma GCC unroll 16
    for (int k = 0; k < 16; k++) x = folded_in(x);
  }
  return x;
}
int main(int argc, char** argv) {
  // loop: sub $1, %edi; jnz loop; ret
  static const unsigned char code[] = {0x83, 0xef, 0x01, 0x75, 0xfb, 0xc3};
  void* page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(page, code, sizeof code);
  char name[64];
  snprintf(name, sizeof name, "/tmp/perf-%d.map", getpid());
  FILE* map = fopen(name, "w");
  fprintf(map, "%lx %lx py::written_in_the_container:/srv/app.py\n", (unsigned long)page, (unsigned long)sizeof code);
  fclose(map);
  unsigned sum = argc;
  for (clock_t end = clock() + (clock_t)(atof(argv[1]) * CLOCKS_PER_SEC); clock() < end;) {
    for (int i = 0; i < 100; i++) sum = only_the_debug_file_knows(sum);
    ((void (*)(unsigned))page)(100000);
  }
  return sum == 42;
}
C
gcc -O2 -g -Wl,--build-id hidden.c -o whole
objcopy --only-keep-debug whole hidden.debug
objcopy --strip-all whole hidden
id=$(readelf -n whole | awk '/Build ID/ {print $3}')
cat >container.sh <<SH
set -e
mount --make-rprivate /
mkdir -p inside
mount -t tmpfs tmpfs inside
cp hidden inside/hidden
mount -t tmpfs tmpfs /usr/lib/debug
mkdir -p /usr/lib/debug/.build-id/${id:0:2}
cp hidden.debug /usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
exec 9<inside  # /tmp is covered next, so the program is started through a descriptor
mount -t tmpfs tmpfs /tmp
exec /proc/self/fd/9/hidden 2
SH
mkdir -p /usr/lib/debug inside
"$CICADA" record -F 997 -o out.folded -- unshare --mount bash container.sh >stdout 2>err || fail "record ended with $?"
ls /usr/lib/debug/.build-id/"${id:0:2}"/"${id:2}".debug 2>/dev/null && fail "the test is none: the debug file is visible outside"

count() { awk -v re="$1" '$0 ~ re {n += $NF} END {print n + 0}' out.folded; }
all=$(awk '{n += $NF} END {print n + 0}' out.folded)
(( all >= 1000 )) || fail "$all samples only"
(( $(count 'only_the_debug_file_knows') * 10 > all )) || fail "the debug file in the container was not used"
(( $(count 'only_the_debug_file_knows;folded_in') * 10 > $(count 'only_the_debug_file_knows') * 7 )) || fail "no inlined call from the container's DWARF"
(( $(count "written_in_the_container .app.py.") * 10 > all )) || fail "the perf map in the container's /tmp was not used"
