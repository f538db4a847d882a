#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A stack that is deeper than the walk goes hangs below [truncated], with the reason in the header, in every format; and a softirq stands where it
# was entered, below the system call that it interrupted.
source "$(dirname "$0")/lib.sh"
code 0 "$CICADA" record -F 997 -o x.cicada -- "$WORKLOADS/recursion" 1
compiled deep <<'C'
#include <time.h>
static volatile unsigned sink;
__attribute__((noinline)) static void down(int n) {
  char keep[16];
  __asm__ volatile("" : : "r"(keep) : "memory");
  if (n) down(n - 1);
  else while (clock() < 2 * CLOCKS_PER_SEC) for (int i = 0; i < 100000; i++) sink++;
  __asm__ volatile("" ::: "memory");
}
int main(void) {
  down(3000);
  return 0;
}
C
code 0 "$CICADA" record -F 499 -o deep.cicada -o deep.folded -o deep.pb.gz -o deep.svg -- ./deep
awk '/^\[truncated\];down;down;/ { cut += $NF } { all += $NF } END { exit !(all > 100 && cut > 0.9 * all) }' deep.folded || fail "cut stacks are not below [truncated]: $(cut -c1-80 deep.folded | head)"
code 0 "$CICADA" report deep.cicada
has out.txt '^incomplete +[0-9]+ depth limit'
has out.txt '% +\[truncated\]$'
code 0 "$CICADA" convert -q deep.pb.gz again.folded
has again.folded '^\[truncated\];down;'
has deep.svg 'user stacks complete \([0-9]+ depth limit'
# Work for softirqs: packets of our own.
python3 -c '
import socket
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
to.bind(("127.0.0.1", 0))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True: s.sendto(bytes(8000), to.getsockname())' &
started+=("$!")
code 0 "$CICADA" record -a -F 1999 -d 2 -o all.folded
grep -F '[softirq' all.folded >softirq || skip "nothing ran in softirq context"
lacks softirq '\[softirq[^;]*\];([^;]*;)*entry_SYSCALL_64'
