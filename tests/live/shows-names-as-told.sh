#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --inline, --no-inline, --lines, --no-lines, --demangle, --clones: a program with one inlined call, one cold clone, one C++ name, each option on and off.
source "$(dirname "$0")/lib.sh"
cat >shown.cc <<'C'
#include <ctime>
namespace shop { struct Basket { int n; }; }
static inline __attribute__((always_inline)) void spin(long rounds) { for (long i = 0; i < rounds; i++) asm volatile("" : "+r"(i)); }
namespace shop {
__attribute__((noinline)) void total(Basket*, long rounds) { spin(rounds); asm volatile("" ::: "memory"); }
}
extern "C" __attribute__((noinline)) void work_clone(void) asm("work.constprop.0");
void work_clone(void) { for (long i = 0; i < 200000; i++) asm volatile("" : "+r"(i)); }
int main() {
  shop::Basket basket{};
  timespec t;
  do {
    shop::total(&basket, 200000);
    work_clone();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  } while (t.tv_sec == 0 && t.tv_nsec < 300000000);
}
C
g++ -O2 -g -o shown shown.cc
# shown REGEX OPTION…: there is a line with it. hidden REGEX OPTION…: there is none.
recorded() { "$CICADA" record -q --force -F 997 "$@" -o x.txt -o x.cicada -- ./shown 2>err || fail "record $* ended with $?"; }
tree() { "$CICADA" report --json x.cicada; }
has() { grep -qE -- "$1" x.txt || { sort x.txt | uniq -c | sort -n | tail -8; fail "$last: nothing matches $1"; }; }
lacks() { ! grep -E -m 3 -- "$1" x.txt || fail "$last: something matches $1"; }
with() { last="$*" && recorded "$@"; }
with_lines() { tree | python3 -c 'import json, sys; print(sum("line" in node for node in json.load(sys.stdin)["tree"]))'; }

with --inline --lines
has '[	 ]spin'
(($(with_lines) > 0)) || fail "--lines: no lines"
with --no-inline --no-lines
lacks '[	 ]spin'
(($(with_lines) == 0)) || fail "--no-lines: $(with_lines) lines"
has ' shop::total\(shop::Basket\*, long\) \('
has ' work \('
lacks 'constprop'
with --no-inline --demangle short
has ' shop::total \('
with --no-inline --demangle none
has ' _ZN4shop5totalEPNS_6BasketEl \('
with --no-inline --clones show
has 'work.*constprop'
