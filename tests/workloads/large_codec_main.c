// SPDX-License-Identifier: Apache-2.0
// Runs through all of a large library's assembly, from end to end and again.
#include "workload.h"
extern void (*const large_table[])(long), (*const large_table_end[])(long);
void large_first(long), large_middle(long), large_last(long);
NOINLINE void encode(long turn) {
  for (int i = 0; i < 60; i++) {
    large_first(turn);
    large_middle(turn);
    large_last(turn);
  }
  for (void (*const *at)(long) = large_table; at != large_table_end; at++) (*at)(turn);
  NO_TAIL_CALL();
}
int main(int argc, char **argv) {
  begin(argc, argv);
  puts("chain main;encode;large_first");
  puts("chain main;encode;large_middle");
  puts("chain main;encode;large_last");
  puts("complete");
  for (long turn = 0; running(); turn++) encode(turn);
  return 0;
}
