#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A recording without names gets them; addresses with and without DWARF of one image keep their own.
set -euo pipefail
cicada=$(realpath "${1:?usage: $0 CICADA GENERATOR}") generator=$(realpath "$2")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"  # root is shown source that everybody may read
cd "$dir"
fail() { echo "FAILED: $1"; shift; cat "$@"; exit 1; }
has() { grep -Eq -- "$1" "$2" || fail "no line matches: $1" "$2"; }
code() { local want=$1 got=0; shift; "$@" >out 2>err || got=$?; [ "$got" = "$want" ] || fail "exit code $got instead of $want: $*" out err; }

command -v gcc >/dev/null || { echo "skipped: no gcc"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "skipped: recording needs root"; exit 77; }
cat >hot.c <<'C'
#include <stdlib.h>
static volatile unsigned sink;
__attribute__((noinline)) void hot(long n) { for (long i = 0; i < n; i++) sink += (unsigned)i * 3; }
int main(int c, char** v) { for (int i = 0; i < atoi(v[c - 1]); i++) hot(3000000); }
C
gcc -g -O1 hot.c -o hot
"$cicada" record -q -F 997 -o hot.cicada -- ./hot 200 2>err || { echo "skipped: cannot record: $(head -1 err)"; exit 77; }
"$cicada" convert -q hot.cicada hot.folded
has '^_start;__libc_start_main.*;main;hot [0-9]+$' hot.folded
code 0 "$cicada" report hot.cicada --annotate hot
has '[0-9.]+ % +[0-9.]+ % +3  .*void hot' out
mv hot.c gone.c
code 0 "$cicada" report hot.cicada --annotate hot
has '[0-9.]+ % +[0-9.]+ % +[0-9a-f]+  (add|mov|lea|cmp|jne|imul)' out
grep -q hlt out && fail "instructions of _start are shown for hot" out
echo ok
