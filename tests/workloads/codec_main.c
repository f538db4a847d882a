// SPDX-License-Identifier: Apache-2.0
// Calls assembly without call-frame information through a table, as codecs do.
#include "workload.h"
extern void (*const codec_table[6])(long);
NOINLINE void encode(long turn) {
  for (unsigned i = 0; i < 6; i++) codec_table[i](turn);
  NO_TAIL_CALL();
}
int main(int argc, char **argv) {
  begin(argc, argv);
  puts("chain main;encode;codec_pushes");
  puts("chain main;encode;codec_register");
  puts("chain main;encode;codec_memory");
  puts("chain main;encode;codec_shared_end");
  puts("chain main;encode;codec_popped_for;codec_pops");
  puts("through main;encode;codec_inner");
  puts("through main;encode;codec_helper");
  puts("complete");
  for (long turn = 0; running(); turn++) encode(turn);
  return 0;
}
