#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# debug symbols in the place of addr2line -ifC: its options, its text, its answers to a program that asks one by one.
source "$(dirname "$0")/lib.sh"
cat >a.c <<'C'
volatile int sink;
static inline __attribute__((always_inline)) int twice(int x) { sink = x; return x * 2; }
__attribute__((noinline)) int outer(int x) { return twice(x) + sink; }
int main(int c, char **v) { return outer(c); }
C
gcc -O2 -g a.c -o a
symbols=("$CICADA" debug symbols)
nm a | awk '$3 ~ /^(main|outer|_start)$/ {print "0x" $1}' >asked
[[ $(wc -l <asked) == 3 ]] || fail "$(nm a)"
for how in '-ifC -e a' '-aifCe a' '--exe=a --functions --inlines --demangle -p' '--demangle=auto -ifs -e a' '-e a -apsifC'; do
  sed 's/$/ /; s/ $//' asked | addr2line $how | sed 's/ (discriminator [0-9]*)//' >theirs
  "${symbols[@]}" $how <asked >ours
  diff theirs ours || fail "addr2line $how answers differently"
  "${symbols[@]}" $how $(cat asked) | diff theirs - || fail "$how: arguments and lines of input answer differently"
done
sed 's/$/ and a remark/' asked | "${symbols[@]}" a | diff <("${symbols[@]}" a <asked) - || fail "what follows an address changes the answer"
expect_error 125 "write standard output: No space left on device" bash -c '"$@" >/dev/full' - "${symbols[@]}" a 0x1
expect_error 125 "no file given" "${symbols[@]}"
expect_error 125 'cicada debug symbols --help' "${symbols[@]}" --no-such-option a

# A thousand questions, each after the answer to the one before. Waiting for more input takes 10 ms: then none would be answered in less. On a busy
# machine some are.
coproc asked_one_by_one { "${symbols[@]}" a; }
address=$(head -1 asked) quick=0
for ((i = 0; i < 1000; i++)); do
  begin=${EPOCHREALTIME/./}
  echo "$address" >&"${asked_one_by_one[1]}"
  read -r -u "${asked_one_by_one[0]}" -t 180 _ && read -r -u "${asked_one_by_one[0]}" -t 180 _ || fail "no answer to question $i"
  ((${EPOCHREALTIME/./} - begin >= 5000)) || ((++quick))
done
((quick >= 50)) || fail "$quick of 1,000 answers came within 5 ms"
