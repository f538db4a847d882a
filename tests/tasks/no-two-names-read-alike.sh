#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names are demangled when they are shown: short where the width is limited, as asked in report and convert, whatever was asked when recording. Rows of
# different functions never read the same; a function is found by its short name.
source "$(dirname "$0")/lib.sh"
cat >shop.cc <<'C'
#include <ctime>
#include <tuple>
#include <vector>
namespace shop {
template <typename Key, typename Value, int Number> struct Basket {
  __attribute__((noinline)) static long total(long rounds) { volatile long sum = Number; for (long i = 0; i < rounds; i++) sum = sum + i; return sum; }
};
}
template <int... Is> long all() { return (shop::Basket<std::vector<std::tuple<int, long, char>>, std::vector<std::vector<unsigned>>, Is>::total(100000) + ...); }
int main() {
  long sum = 0;
  while (std::clock() < 2 * CLOCKS_PER_SEC) sum += all<1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11>();
  return sum == 42;
}
C
g++ -O1 -o shop shop.cc
code 0 "$CICADA" record -F 997 --demangle short -o x.cicada -o short.folded ./shop
# different FILE COUNT: so many lines name a Basket, no two alike.
different() { [[ $(grep -oE '( [^ ]*…[0-9]+>.*| shop::Basket<.*)' "$1" | sed 's/  .*//' | sort | uniq -c | awk '{ n++; m += $1 > 1 } END { print n, m + 0 }') == "$2 0" ]] || fail "$1: rows read alike: $(grep total "$1")"; }
has short.folded '^(.*;)?all;shop::Basket::total [0-9]+$'
"$CICADA" convert -q x.cicada full.folded --demangle full
grep -qF 'shop::Basket<std::vector<std::tuple<int, long, char>' full.folded || fail "convert --demangle full: $(tail -3 full.folded)"
code 0 "$CICADA" convert -q x.cicada none.folded --demangle none
has none.folded ';_ZN4shop6Basket'
code 0 "$CICADA" convert -q x.cicada again.cicada --demangle none
"$CICADA" convert -q again.cicada again.folded --demangle full
cmp again.folded full.folded || fail "a converted recording lost its names"
code 0 "$CICADA" record -q -F 997 -o y.cicada ./shop
for columns in 60 80 100 200; do
  python3 "$LIVE/../tasks/on_terminal.py" $columns "$CICADA" report y.cicada | tr -d '\r' >out.txt
  sed -nE '/ function( |$)/,/^$/p' out.txt >table
  different table 11
  sed -n '/total     self$/,$p' out.txt >tree
  different tree 11
  (($(awk '{ gsub(/…|└|µ/, "-"); if (length > m) m = length } END { print m }' table) <= columns)) || fail "$columns columns: wider"
done
code 0 "$CICADA" report y.cicada
has out.txt ' shop::Basket::total…'
code 0 "$CICADA" report y.cicada --demangle short
has out.txt ' shop::Basket::total +shop$'
code 0 "$CICADA" report y.cicada --callers shop::Basket::total
has out.txt '100\.0 %|[0-9.]+ % .* └ main$'
code 0 "$CICADA" diff y.cicada y.cicada --fail-if 'shop::Basket::total>5%'
code 125 "$CICADA" report y.cicada --demangle shrt
has err.txt 'use one of full, short, none'
# Folded stacks have no linkage names: their names are shortened only where they do not fit.
for i in 1 2 3 4 5 6 7 8 9 10 11; do echo "main;company::department::product::component::function<with, many, arguments, $i> 10"; done >many.folded
code 0 "$CICADA" report many.folded
sed -n '/function  /,/^$/p' out.txt | grep -oE 'company.*' | sort | uniq -d >alike
[[ ! -s alike ]] || fail "rows read alike: $(<alike)"
