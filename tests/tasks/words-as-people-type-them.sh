#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `record CMD` without --, recordings from a pipe, titles with the name that was asked for, groups by program, counts of callers, instructions.
source "$(dirname "$0")/lib.sh"
compiled work <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static volatile unsigned sink;
__attribute__((noinline)) static void hot(long n) { while (n--) sink += (unsigned)n; }
int main(int c, char** v) {
  if (c > 1) puts(v[1]);
  while (clock() < (c > 3 ? 600L : 1) * CLOCKS_PER_SEC) hot(100000);
  return 7;
}
C
code 7 "$CICADA" record -qF 499 -o x.cicada ./work -F
has out.txt '^-F$'  # the command's own option
code 7 "$CICADA" record -q --frequency=499 -o y.cicada --force -- ./work -- --
code 125 "$CICADA" record -q -o z.cicada -p 1 ./work
has err.txt 'exclude each other'
"$CICADA" report - <x.cicada >out.txt || fail "report - ended with $?"
has out.txt ' hot +work$'
"$CICADA" report <(cat x.cicada) >out.txt || fail "report of a pipe ended with $?"
has out.txt ' hot +work$'
cat x.cicada | "$CICADA" convert -q - piped.folded || fail "convert - ended with $?"
has piped.folded 'main;hot [0-9]+$'
"$CICADA" diff <(cat x.cicada) <(cat y.cicada) >out.txt || fail "diff of pipes ended with $?"
has out.txt '^per run: '
"$CICADA" merge -q - y.cicada -o both.cicada <x.cicada || fail "merge - ended with $?"
start ./work for a long time
wait_for grep -qx work "/proc/$pid/comm"
code 0 "$CICADA" record -q -p work -d 0.5 -F 199 --by program -o named.html -o named.svg -o named.folded
has named.svg '>work<'
has named.folded '^work;.*main;'
code 0 "$CICADA" report x.cicada --by program
has out.txt '100\.0 % +[0-9,]+  work$'
printf '%s\n' 'a;x 9' 'a;y 8' 'b;x 7' 'b;y 6' 'c;z 5' >three.folded
code 0 "$CICADA" report three.folded -n 1
[[ $(sed -n '/function/,/^$/p' out.txt | grep -c ' %') == 1 ]] || fail "-n 1: $(<out.txt)"
code 0 "$CICADA" report both.cicada --by program,image,thread -n 1
[[ $(sed -n '/of a CPU/,/^$/p' out.txt | grep -c ' %.* %') == 3 ]] || fail "-n 1 --by: $(<out.txt)"
sed 's/x/p/; s/y/q/' three.folded >other.folded
code 0 "$CICADA" diff three.folded other.folded --all -n 1
[[ $(grep -cE '^ +[0-9.]+ +[+-]' out.txt) == 1 ]] || fail "diff -n 1: $(<out.txt)"
code 125 "$CICADA" rep three.folded
has err.txt '^cicada: rep: no such command'
code 0 "$CICADA" report x.cicada --callers hot
has out.txt '^ +total +self +count$'
has out.txt '^ +100\.0 % +[0-9,]+ .* hot$'
chmod 755 "$T"  # what a recording names is read for root with nobody's rights
code 0 "$CICADA" report x.cicada --annotate hot -i
has out.txt '% +[0-9a-f]+  (add|mov|lea|cmp|jne|sub)'
