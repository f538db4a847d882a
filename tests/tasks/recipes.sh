#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The commands of docs/recipes.md are run as they stand there, but for their length: each succeeds, and writes what it says it does.
source "$(dirname "$0")/lib.sh"
page=$LIVE/../../docs/recipes.md
mkdir bin
ln -s "$CICADA" bin/cicada
printf '#!/bin/sh\nexec "$@"\n' >bin/sudo
PATH=$T/bin:$PATH
compiled job <<'C'
#include <time.h>
static volatile unsigned sink;
__attribute__((noinline)) static void parse(long n) { while (n--) sink += (unsigned)n; }
int main(void) {
  while (clock() < 0.4 * CLOCKS_PER_SEC) parse(1000000);
  return 0;
}
C
# Before 3.12 Python does not name its functions: then a program with a main() stands in for it.
/usr/bin/python3 -c 'import sys; exit(sys.version_info < (3, 12))' && ln -s /usr/bin/python3 bin/python3 || ln -s ../job bin/python3
cp job job-old
cp job job-new
compiled server <<'C'
#include <time.h>
static volatile unsigned sink;
__attribute__((noinline)) static void answer(long n) { while (n--) sink += (unsigned)n; }
int main(void) {
  for (;;) {
    answer(3000000);
    nanosleep(&(struct timespec){0, 1000000}, 0);
  }
}
C
printf 'int f(int x) { return x * x; }\n' >a.c
# One file, until compilers have used half a second of CPU: a fast machine needs samples, too.
cat >compile.py <<'PY'
import resource, subprocess
while resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime < 0.5: subprocess.run(["cc", "-O2", "-c", "a.c", "-o", "a.o"], check=True)
PY
printf 'all: a.o\na.o: a.c\n\tpython3 compile.py\n' >Makefile
printf 'import time\ndef main():\n  while time.process_time() < 1: pass\nmain()\n' >app.py
start ./server
printf '#!/bin/sh\necho %s\n' "$pid" >bin/docker
chmod +x bin/sudo bin/docker
code 0 "$CICADA" record -q -F 997 -o base.cicada ./job
code 0 "$CICADA" record -q -a -d 0.3 -o other.pb.gz

recipes=0 title=
while IFS= read -r line; do
  case $line in
    '## '*) title=${line#\#\# } ;;
    '```sh') block= ;;
    '```')
      sed 's/-d 10 /-d 1 /' <<<"$block" >block.sh
      bash -euo pipefail block.sh >out.txt 2>err.txt </dev/null || fail "$title: ended with $?: $block"
      for file in $(grep -oE -- ' -o "?[^ ]+' block.sh | sed 's/ -o "\?//; s/"$//'); do
        file=${file//\$(hostname)/$(hostname)}
        [[ -s $file ]] || fail "$title: no $file"
      done
      recipes=$((recipes + 1)) ;;
    *) block+=$line$'\n' ;;
  esac
done <"$page"
((recipes == 10)) || fail "$recipes recipes"
# What some of them promise.
code 0 "$CICADA" report server.cicada
has out.txt ' answer +server$'
code 0 "$CICADA" report build.cicada --by program
has out.txt '(cc1|as|make)$'
code 0 "$CICADA" report stall.cicada
has out.txt 'nanosleep'
[[ -s server.html && -s build.svg ]] || fail "convert wrote nothing"
