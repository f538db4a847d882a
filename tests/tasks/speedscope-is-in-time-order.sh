#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program that does one thing, then another, then the first again: speedscope shows three phases in that order, of each thread, also after convert.
source "$(dirname "$0")/lib.sh"
compiled phases <<'C'
#include <pthread.h>
#include <time.h>
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}
static volatile unsigned sink;
__attribute__((noinline)) static void first(double end) { while (now() < end) for (int i = 0; i < 100000; i++) sink++; }
__attribute__((noinline)) static void second(double end) { while (now() < end) for (int i = 0; i < 100000; i++) sink--; }
static void* work(void* unused) {
  const double begin = now();
  first(begin + 0.6);
  second(begin + 1.2);
  first(begin + 1.8);
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  work(0);
  return pthread_join(thread, 0);
}
C
code 0 "$CICADA" record -F 499 -o x.cicada -o direct.speedscope.json ./phases
code 0 "$CICADA" convert -q x.cicada converted.speedscope.json
for file in direct converted; do
  python3 - $file.speedscope.json <<'PY' || fail "$file: not in time order"
import itertools, json, sys
data = json.load(open(sys.argv[1]))
names = [frame["name"] for frame in data["shared"]["frames"]]
threads = 0
for profile in data["profiles"]:
    phases = [next((names[i] for i in stack if names[i] in ("first", "second")), None) for stack in profile["samples"]]
    order = [name for name, _ in itertools.groupby(p for p in phases if p)]
    print(profile["name"], order)
    threads += order == ["first", "second", "first"]
exit(threads != 2)
PY
done
